"""What was sent and not acknowledged, and what is still to be sent: the near end of a stream that outlives connections.

Positions count the bytes of the stream from its beginning. What is sent again after a break is the same bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from cofit.transport.records import MOST_RECORD_BYTES, FaultyRecordError

if TYPE_CHECKING:
    from typing_extensions import Buffer


MOST_HELD_BYTES = 32 << 20
"""How much may be unacknowledged when a message counts as sent."""
_MOST_PIECES = 1 << 16
"""How many messages: small ones take more memory than their bytes."""


class Outgoing:
    """The bytes of a stream from ``acknowledged`` to ``end``; those below ``handed`` were given to a connection.

    ``add`` keeps no copy: bytes that belong to somebody else (``borrowed``) must not change before ``own`` is called.
    ``moved`` grows whenever bytes are handed over or acknowledged: who waits sees by it that the stream goes on.
    A piece is kept with the position of its end. Its last bytes are those of the stream, from the end of the piece
    before it on; there may be others in front of them.
    """

    def __init__(self) -> None:
        self.acknowledged = 0
        self.handed = 0
        self.end = 0
        self.moved = 0
        self._kept: deque[tuple[int, bytes | memoryview]] = deque()
        self._queue: deque[tuple[int, bytes | memoryview]] = deque()
        self._borrowed = False

    @property
    def held(self) -> int:
        """How many bytes are not acknowledged."""
        return self.end - self.acknowledged

    @property
    def full(self) -> bool:
        """Whether more is held than may be when a message counts as sent."""
        return self.end - self.acknowledged > MOST_HELD_BYTES or len(self._kept) > _MOST_PIECES

    def add(self, piece: Buffer, *, borrowed: bool = True) -> None:
        """Append to the stream."""
        view = memoryview(piece).cast("B")
        for begin in range(0, len(view), MOST_RECORD_BYTES):
            part = view[begin : begin + MOST_RECORD_BYTES]
            self.end += len(part)
            self._queue.append((self.end, part))
        self._borrowed = self._borrowed or borrowed

    def add_handed(self, record: bytes, size: int) -> bool:
        """Append the last ``size`` bytes of a record that the caller gives to a connection, where nothing else waits.

        Return whether no more is held than may be.
        """
        self.handed = self.end = end = self.end + size
        self.moved += size
        kept = self._kept
        kept.append((end, record))
        return end - self.acknowledged <= MOST_HELD_BYTES and len(kept) <= _MOST_PIECES

    def hand_over(self) -> tuple[int, list[bytes | memoryview]]:
        """Return the next parts to give to a connection, of at most one record together, with their position."""
        position = self.handed
        parts: list[bytes | memoryview] = []
        while self._queue and self._queue[0][0] - position <= MOST_RECORD_BYTES:
            entry = self._queue.popleft()
            self._kept.append(entry)
            parts.append(entry[1])
            self.handed = entry[0]
        self.moved += self.handed - position
        return position, parts

    def acknowledge(self, position: int) -> None:
        """Free what lies below ``position``; FaultyRecordError where that was never sent."""
        if position <= self.acknowledged:
            return  # a record says again what an earlier one said
        if position > self.handed:
            raise FaultyRecordError(f"an acknowledgement of {position} bytes where {self.handed} were sent")
        self.acknowledged = position
        self.moved += 1
        kept = self._kept
        while kept and kept[0][0] <= position:
            kept.popleft()

    def rewind(self, position: int) -> None:
        """Begin again at ``position``, which the peer says it has received; FaultyRecordError where it cannot have."""
        if not self.acknowledged <= position <= self.handed:
            raise FaultyRecordError(
                f"a position of {position} bytes where {self.acknowledged} to {self.handed} are possible"
            )
        self.acknowledge(position)
        self._queue.extendleft(reversed(list(self._pieces(self._kept, position))))
        self._kept.clear()
        self.handed = position

    def own(self) -> None:
        """Copy what belongs to others, which is what was added last: from here on they may change it."""
        if self._borrowed:
            self._borrowed = False
            for pieces in (self._queue, self._kept):
                _own_tail(pieces)

    def __iter__(self) -> Iterator[bytes]:
        """The bytes that are held, piece by piece."""
        for _, part in self._pieces((*self._kept, *self._queue), self.acknowledged):
            yield bytes(part)

    @staticmethod
    def _pieces(entries: Iterable[tuple[int, bytes | memoryview]], begin: int) -> Iterator[tuple[int, memoryview]]:
        """The bytes of the stream in each piece, from ``begin`` on, which lies in the first one."""
        for end, part in entries:
            yield end, memoryview(part)[len(part) - (end - begin) :]
            begin = end


def _own_tail(pieces: deque[tuple[int, bytes | memoryview]]) -> None:
    for number in range(len(pieces) - 1, -1, -1):
        end, part = pieces[number]
        if isinstance(part, bytes):
            break
        pieces[number] = end, bytes(part)
