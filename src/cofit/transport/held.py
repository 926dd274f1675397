"""Authenticated connections of other parties, kept until somebody connects a mesh."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from collections.abc import Collection

HANG_UP = getattr(select, "POLLRDHUP", 0)
"""The event that tells that the other end closed, while what it said is still unread. Only Linux has it."""


class HeldConnections:
    """What ``connect_mesh`` takes as its listener: connections that wait here with their TLS handshake complete.

    Of every party the newest connection is held; an older one is closed, and so is one whose other end has gone.
    So a connection that came too early is not lost, what is left of an earlier session takes no place, and there are
    never more than parties. One thread puts connections in, another may take them out.
    """

    def __init__(self) -> None:
        self._held: dict[str, ssl.SSLSocket] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._bell, self._clapper = socket.socketpair()  # one byte is in it while a connection waits
        for end in (self._bell, self._clapper):
            end.setblocking(False)

    def accept(self) -> socket.socket | None:
        """Return the connection that waits for longest, or None."""
        with self._lock:
            name = next(iter(self._held), None)
            return None if name is None else self._take(name)

    def fileno(self) -> int:
        """The descriptor that is readable while a connection waits."""
        return self._bell.fileno()

    def put(self, name: str, connection: ssl.SSLSocket) -> None:
        """Hold the connection of party ``name`` in place of any older one."""
        with self._lock:
            if self._closed:
                connection.close()
                return
            if name in self._held:
                self._take(name).close()
            if not self._held:
                self._clapper.send(b"!")
            self._held[name] = connection

    def waiting(self) -> list[int]:
        """The descriptors to watch for HANG_UP."""
        with self._lock:
            return [connection.fileno() for connection in self._held.values()]

    def drop(self, descriptors: Collection[int]) -> None:
        """Close the connections with these descriptors."""
        with self._lock:
            for name, connection in list(self._held.items()):
                if connection.fileno() in descriptors:
                    self._take(name).close()

    def close(self) -> None:
        """Close all that are held, and hold no more."""
        with self._lock:
            self._closed = True
            for name in list(self._held):
                self._take(name).close()
            self._bell.close()
            self._clapper.close()

    def _take(self, name: str) -> ssl.SSLSocket:
        connection = self._held.pop(name)
        if not self._held:
            with contextlib.suppress(BlockingIOError):
                self._bell.recv(16)
        return connection
