"""Where connections arrive: a listening TCP socket, or anything that hands over connections like one."""

from __future__ import annotations

import socket
from types import TracebackType
from typing import Protocol

_BACKLOG = 1024


class Acceptor(Protocol):
    """Hands over connections, one at a time, without blocking.

    A connection may be a TLS socket whose handshake is complete: the certificate is then compared with the pinned
    ones, and the greeting follows at once.
    """

    def accept(self) -> socket.socket | None:
        """Return the next waiting connection, non-blocking, or None."""

    def fileno(self) -> int:
        """The descriptor that is readable while a connection waits."""


class Listener:
    """A bound, listening TCP socket. Bind to port 0 to let the system choose; ``port`` tells which."""

    def __init__(self, bound: socket.socket) -> None:
        bound.setblocking(False)
        self._socket = bound
        self.host, self.port = bound.getsockname()[:2]

    def __enter__(self) -> Listener:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Listener({self.host!r}, {self.port})"

    def accept(self) -> socket.socket | None:
        """Return the next waiting connection, or None."""
        try:
            connection, _ = self._socket.accept()
        except OSError:
            return None
        connection.setblocking(False)
        return connection

    def fileno(self) -> int:
        """The descriptor, to poll or to hand to a child process."""
        return self._socket.fileno()

    def close(self) -> None:
        """Stop listening. Closing twice is fine."""
        self._socket.close()


def listen(host: str, port: int = 0) -> Listener:
    """Bind ``host`` and ``port`` (0: any free port) and listen."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return Listener(socket.create_server((host, port), family=family, backlog=_BACKLOG))
