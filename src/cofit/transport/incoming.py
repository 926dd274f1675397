"""The stream of the far end, as it comes in over one connection after the other, and what is read ahead of the program.

Bytes below our own position are read without effect, so the stream is delivered once, whatever a connection repeats.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from cofit.transport.frames import HEADER_BYTES
from cofit.transport.outgoing import Outgoing
from cofit.transport.passage import Passage
from cofit.transport.records import (
    BYTES,
    KEY,
    KEY_BYTES,
    MOST_RECORD_BYTES,
    RECORD,
    RECORD_BYTES,
    FaultyRecordError,
    check_record,
)

MOST_AHEAD_BYTES = 32 << 20
"""How much is read ahead of the program, while it waits to send."""
SCRATCH_BYTES = 1 << 14
_CHUNK_BYTES = 1 << 16
"""Small records that were read ahead are joined up to here: each piece takes memory beyond its bytes."""
_MOST_WORDS = 64
"""So many records that are no part of the stream are read in a row: a peer that never stops holds nobody up."""
_unpack = RECORD.unpack_from


class Incoming:
    """The stream that comes in through ``passage``.

    ``heard`` is called with kind, value and content of every record that is no part of the stream; acknowledgements go
    to ``out``. ``received`` is our position; ``ahead_bytes`` of it the program has not asked for yet. ``fresh``:
    whether any byte came since it was last set to False. ``interrupted``: whether reading stopped after many records
    in a row, so that more may be there that no poll would report. ``settled``: that nothing is there that no poll would
    report, neither here nor in the connection, as is known without asking it.
    """

    def __init__(self, passage: Passage, out: Outgoing, heard: Callable[[int, int, bytes], None]) -> None:
        self.received = 0
        self.ahead_bytes = 0
        self.fresh = False
        self.interrupted = False
        self.settled = False
        self._passage = passage
        self._out = out
        self._heard = heard
        self._left = self._skip = 0
        self._scratch = memoryview(bytearray(RECORD_BYTES + SCRATCH_BYTES))
        self._low = self._high = 0
        self._ahead: deque[bytearray] = deque()
        self._taken = 0

    def forget(self) -> None:
        """The connection has gone: what it brought of a record's rest comes again."""
        self._left = self._skip = self._low = self._high = 0
        self.settled = False

    @property
    def unfinished(self) -> bool:
        """Whether a part of the stream has come in whose rest has not."""
        return self._left > 0

    @property
    def buffered(self) -> bool:
        """Whether something was read that the program has not got."""
        return bool(self._ahead) or self._high > self._low

    # --- for the program -----------------------------------------------------------------------------------

    def read_at_once(self, into: memoryview) -> int:
        """Read as most messages come: from the rest of a record, or a record that begins where we are.

        -1: go on as with any other. Of what is no header alone it asks for a byte more than is wanted: who gets no such
        byte knows that the connection has nothing left over.
        """
        link, wanted, scratch = self._passage.link, len(into), self._scratch
        if self._high or self._skip or self._ahead or link is None:
            return -1
        self.settled = self.interrupted = False
        if self._left:
            if self._left < wanted:
                return -1
            got = link.pump_receive(into)
            self.fresh = self.fresh or got > 0
            self._left -= got
            self.received += got
            return got
        size = RECORD_BYTES + wanted
        if size >= len(scratch):
            return -1
        got = link.pump_receive(scratch[: size + (wanted > HEADER_BYTES)], size)
        if not got:
            self.settled = True
            return 0
        self.fresh = True
        if got == size:
            kind, length, position, acknowledged = _unpack(scratch)
            if kind == BYTES and 0 < wanted <= length <= MOST_RECORD_BYTES and position == self.received:
                if acknowledged > self._out.acknowledged:
                    self._out.acknowledge(acknowledged)
                into[:] = scratch[RECORD_BYTES:size]
                self.received = position + wanted
                self._left = left = length - wanted
                self.settled = not left and wanted > HEADER_BYTES
                return wanted
        self._high = got
        return -1

    def take_ahead(self, into: memoryview) -> int:
        """Give the program what was read ahead."""
        done = 0
        while self._ahead and done < len(into):
            piece = self._ahead[0]
            size = min(len(piece) - self._taken, len(into) - done)
            into[done : done + size] = memoryview(piece)[self._taken : self._taken + size]
            self._taken += size
            if self._taken == len(piece):
                self._ahead.popleft()
                self._taken = 0
            done += size
        self.ahead_bytes -= done
        return done

    def receive(self, into: memoryview) -> int:
        """Read as far as the current part of the stream goes, or the next one."""
        if (self._skip or not self._left) and not self.next_record(len(into)):
            return 0
        link, size = self._passage.link, min(self._left, len(into))
        there = self._high - self._low
        if there:
            size = min(size, there)
            into[:size] = self._scratch[self._low : self._low + size]
            self._advance(size)
        elif link is not None:
            self.settled = False
            size = link.pump_receive(into[:size])
            self.fresh = self.fresh or size > 0
        else:
            size = 0
        self._left -= size
        self.received += size
        return size

    # --- without it ----------------------------------------------------------------------------------------

    def read_ahead(self) -> None:
        """Read what is there, up to the limit, for when the program asks for it."""
        while self.ahead_bytes < MOST_AHEAD_BYTES and self.next_record(SCRATCH_BYTES):
            piece = bytearray(self._left)
            got = self.receive(memoryview(piece))
            if not got:
                break
            del piece[got:]
            if self._ahead and len(self._ahead[-1]) + got <= _CHUNK_BYTES:
                self._ahead[-1] += piece
            else:
                self._ahead.append(piece)
            self.ahead_bytes += got

    def drop_ahead(self) -> None:
        """Forget what was read ahead: nobody will ask for it."""
        self._ahead.clear()
        self.ahead_bytes = self._taken = 0

    def peek(self) -> bool:
        """Take notice of what comes before the next byte of the stream; whether that byte is there."""
        return bool(self._ahead) or (self.next_record(0) and self._gather(1, 0))

    # --- records -------------------------------------------------------------------------------------------

    def next_record(self, hint: int) -> bool:
        """Read headers until one begins a part of the stream that is new to us; what else they say takes effect.

        hint: how many bytes after a header are welcome.
        """
        self.interrupted = False
        for _ in range(_MOST_WORDS):
            if self._skip and not self._skip_known():
                return False
            if self._left:
                return True
            if not self._gather(RECORD_BYTES, hint):
                return False
            kind, length, value, acknowledged = _unpack(self._scratch, self._low)
            if kind != BYTES or not 0 < length <= MOST_RECORD_BYTES:
                check_record(kind, length)
            if kind == KEY and not self._gather(RECORD_BYTES + KEY_BYTES, 0):
                return False
            self._advance(RECORD_BYTES)
            self._out.acknowledge(acknowledged)
            if kind == BYTES:
                if value > self.received:
                    raise FaultyRecordError(f"bytes from {value} on where {self.received} were due")
                self._left = length
                self._skip = min(length, self.received - value)
            else:
                content = bytes(self._scratch[self._low : self._low + length])
                if length:
                    self._advance(length)
                self._heard(kind, value, content)
        self.interrupted = True
        return False

    def _gather(self, need: int, hint: int) -> bool:
        """Have so many bytes in the scratch; False if they have not come yet."""
        scratch = self._scratch
        while (have := self._high - self._low) < need:
            if self._low:
                scratch[:have] = bytes(scratch[self._low : self._high])
                self._low, self._high = 0, have
            link = self._passage.link
            self.settled = False
            got = 0 if link is None else link.pump_receive(scratch[have : min(len(scratch), need + hint)])
            if not got:
                return False
            self.fresh = True
            self._high += got
        return True

    def _skip_known(self) -> bool:
        """Read without effect what lies below our position."""
        while self._skip:
            if not self._gather(1, min(self._skip, SCRATCH_BYTES) - 1):
                return False
            size = min(self._skip, self._high - self._low)
            self._advance(size)
            self._skip -= size
            self._left -= size
        return True

    def _advance(self, size: int) -> None:
        self._low += size
        if self._low == self._high:
            self._low = self._high = 0
