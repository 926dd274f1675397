"""A link between two threads of one process: two bounded pipes. For tests and for trying things out."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cofit.transport.link import Link, LinkClosedError

if TYPE_CHECKING:
    from typing_extensions import Buffer

PIPE_BYTES = 1 << 20
"""How much a pipe holds before its writer has to wait, like a socket buffer."""


class Bell:
    """Wakes the one thread of a party when any of its links has news."""

    def __init__(self) -> None:
        self._silent = threading.Lock()  # held until the bell rings: one wait takes it back
        self._silent.acquire()

    def ring(self) -> None:
        """Wake the thread, now or when it next waits."""
        with contextlib.suppress(RuntimeError):  # it has rung already
            self._silent.release()

    def wait(self, receiving: Sequence[Link], sending: Sequence[Link], seconds: float) -> None:
        """Sleep until the bell rings, whoever rang it. A ring between two waits is not lost."""
        del receiving, sending
        self._silent.acquire(timeout=min(max(seconds, 0.0), threading.TIMEOUT_MAX))


class Pipe:
    """Bytes on their way in one direction."""

    def __init__(self, writer: Bell, reader: Bell) -> None:
        self._lock = threading.Lock()
        self._chunks: deque[memoryview] = deque()
        self._held = 0
        self._ended = False
        self._abandoned = False
        self._writer = writer
        self._reader = reader

    def write(self, data: memoryview) -> int:
        """Copy in what fits and return how much that was."""
        with self._lock:
            if self._ended or self._abandoned:
                raise LinkClosedError
            size = min(len(data), PIPE_BYTES - self._held)
            if size:
                self._chunks.append(memoryview(bytes(data[:size])))
                self._held += size
        if size:
            self._reader.ring()
        return size

    def read(self, into: memoryview) -> int:
        """Copy out what is there; 0 when that is nothing yet."""
        done = 0
        with self._lock:
            was_full = self._held == PIPE_BYTES
            while self._chunks and done < len(into):
                chunk = self._chunks.popleft()
                size = min(len(chunk), len(into) - done)
                into[done : done + size] = chunk[:size]
                done += size
                if size < len(chunk):
                    self._chunks.appendleft(chunk[size:])
            self._held -= done
            if not done and self._ended and len(into):
                raise LinkClosedError
        if done and was_full:  # else nobody waits to write
            self._writer.ring()
        return done

    def end(self) -> None:
        """Nothing more will be written; what is there can still be read."""
        with self._lock:
            self._ended = True
        self._reader.ring()

    def abandon(self) -> None:
        """Nothing more will be read."""
        with self._lock:
            self._abandoned = True
            self._chunks.clear()
        self._writer.ring()


class MemoryLink:
    """One end of a pair of pipes."""

    def __init__(self, outgoing: Pipe, incoming: Pipe) -> None:
        self._outgoing = outgoing
        self._incoming = incoming
        self._pending: deque[memoryview] = deque()
        self.sent_bytes = 0

    def queue(self, pieces: Sequence[Buffer]) -> None:
        """Add one frame."""
        self._pending.extend(view for piece in pieces if (view := memoryview(piece)).nbytes)

    def send_frame(self, pieces: Sequence[bytes | memoryview], size: int) -> bool:
        """Add one frame and move what fits into the pipe."""
        del size
        self.queue(pieces)
        return self.pump_send()

    def pump_send(self) -> bool:
        """Move what fits into the pipe."""
        pending = self._pending
        while pending:
            size = self._outgoing.write(pending[0])
            self.sent_bytes += size
            if size < len(pending[0]):
                pending[0] = pending[0][size:]
                if not size:
                    return False
            else:
                pending.popleft()
        return True

    def pump_receive(self, into: memoryview, enough: int = 0) -> int:
        """Take what is in the pipe."""
        del enough
        return self._incoming.read(into)

    def has_unread(self) -> bool:
        """A bell rings once for what it announces, so it is always worth a look."""
        return True

    def end_sending(self) -> None:
        """Half-close."""
        self._pending.clear()
        self._outgoing.end()

    def close(self) -> None:
        """Close both directions."""
        self.end_sending()
        self._incoming.abandon()

    def fileno(self) -> int:
        """Memory has no descriptor."""
        return -1


def memory_link_pair(first: Bell, second: Bell) -> tuple[MemoryLink, MemoryLink]:
    """Return the two ends of one connection between the parties that own the two bells."""
    there, back = Pipe(first, second), Pipe(second, first)
    return MemoryLink(there, back), MemoryLink(back, there)
