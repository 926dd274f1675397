"""A stream to one peer that outlives its connections: what is missing after a break is sent again, byte for byte.

``resume_proof.md`` says what is claimed of it, and why it holds. A line is a Link: the channel above knows nothing of
connections. Two threads use it: the one that runs the program, and the keeper's (``keeper.py``), which sends beats and
brings new connections; a third, of the reception, may hand one over.
"""

from __future__ import annotations

import contextlib
import secrets
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cofit.transport.link import Link, LinkClosedError, LinkFaultyError, LinkRefusedError, LinkTamperedError
from cofit.transport.outgoing import Outgoing
from cofit.transport.records import (
    ACK,
    BEAT,
    BYTES,
    END,
    KEY,
    KEY_BYTES,
    RECORD,
    RECORD_BYTES,
    FaultyRecordError,
    check_record,
)
from cofit.transport.resume import NotResumedError, Request, Ticket, session_key
from cofit.transport.terms import Terms

if TYPE_CHECKING:
    from typing_extensions import Buffer

MOST_AHEAD_BYTES = 32 << 20
"""How much is read ahead of the program, while it waits to send."""
_ACK_BYTES = 1 << 20
"""After so many received bytes an acknowledgement is sent, unless the stream carries one."""
_SCRATCH_BYTES = 1 << 14
_BROKEN = (LinkClosedError, LinkRefusedError, LinkTamperedError)
_pack, _unpack = RECORD.pack, RECORD.unpack_from


class Line:
    """The stream between ``name`` (us) and ``peer``, on ``link`` and on the connections that replace it.

    ``dials``: whether we dialled, and so dial again. ``changed`` is called, under the line's lock, when the connection
    is lost or there is a new one, and when the line has failed. ``news`` is when the peer was last known to do anything
    (as ``time.monotonic`` tells): see BEAT in the proof.
    """

    def __init__(
        self,
        link: Link,
        name: str,
        peer: str,
        terms: Terms,
        *,
        dials: bool,
        changed: Callable[[], object] = lambda: None,
    ) -> None:
        self.name = name
        self.peer = peer
        self.dials = dials
        self.terms = terms
        self.changed = changed
        self.lock = threading.RLock()
        now = time.monotonic()
        self.news = self.heard = self.said = now
        self.lost_at: float | None = None
        self.breaks = 0
        self.generation = 0
        self.ticket: Ticket | None = None
        self.failed = False
        self.peer_ended = False
        self.reading = False
        """Whether the program itself receives on this line while it sends, so that nothing need be read ahead."""
        self.sent_bytes = 0
        self._fault = ""
        self._link: Link | None = link
        self._out = Outgoing()
        self._received = self._told = 0
        self._left = self._skip = 0
        self._scratch = memoryview(bytearray(RECORD_BYTES + _SCRATCH_BYTES))
        self._low = self._high = 0
        self._ahead: deque[memoryview] = deque()
        self._ahead_bytes = 0
        self._look_at = _ACK_BYTES
        self._pending = False
        self._fresh = False
        self._ending = False
        self._closed = False
        self._end_said = False
        self._half = secrets.token_bytes(KEY_BYTES)
        with self.lock:
            self._say(_pack(KEY, KEY_BYTES, 0, 0) + self._half)

    # --- sending -------------------------------------------------------------------------------------------

    def queue(self, pieces: Sequence[Buffer]) -> None:
        """Add one frame."""
        with self.lock:
            for piece in pieces:
                self._out.add(piece)

    def send_frame(self, frame: bytes) -> bool:
        """Add one frame and send what goes at once."""
        out, size = self._out, len(frame)
        with self.lock:
            link, end = self._link, out.end
            if link is None or self._pending or out.handed != end or size > _ACK_BYTES:
                out.add(frame, borrowed=False)
                return self.pump_send()
            self._told = received = self._received
            out.add_handed(frame)
            self.sent_bytes += size
            try:
                sent = link.send_frame(_pack(BYTES, size, end, received) + frame)
            except _BROKEN:
                self._lose()
                return False
            self._pending = not sent
            if out.end >= self._look_at:
                self._look()
                sent = sent and self._link is not None
            return sent and not out.full

    def pump_send(self) -> bool:
        """Send what the connection accepts; True when everything is handed over and little enough unacknowledged."""
        with self.lock:
            out = self._out
            if self._pending:
                self._pump_link()
            turn = 0
            while not self._pending and out.handed != out.end and self._link is not None and turn < _ACK_BYTES:
                position, parts = out.hand_over()
                size = out.handed - position
                turn += size
                self._told = self._received
                self.sent_bytes += size
                self._say(_pack(BYTES, size, position, self._received), parts)
            done = not self._pending and out.handed == out.end and self._link is not None
            if out.end >= self._look_at:
                self._look()
            if (not done or out.full) and not self.reading:
                self._read_ahead()
            done = done and self._link is not None and not out.full
            if self.failed and not done:
                raise LinkClosedError
            if done:
                out.own()
            return done

    def _look(self) -> None:
        """Look for acknowledgements, where the program only sends: what they free need not be kept."""
        self._look_at = self._out.end + _ACK_BYTES
        if not self._left and not self._ahead:
            try:
                self._next_record(0)
            except _BROKEN:
                self._lose()
            except FaultyRecordError as error:
                self._fail(str(error))

    def _say(self, record: bytes, parts: Sequence[bytes | memoryview] = ()) -> None:
        """Give one record to the connection, which has nothing left to send; a failure is the end of it."""
        link = self._link
        if link is None:
            return
        try:
            if not parts:
                self._pending = not link.send_frame(record)
            else:
                small = 0  # what travels with the header, in one record of TLS
                while small < len(parts) and len(record) + len(parts[small]) <= _SCRATCH_BYTES:
                    record += parts[small]
                    small += 1
                link.queue((record, *parts[small:]))
                self._pending = not link.pump_send()
        except _BROKEN:
            self._lose()

    def _pump_link(self) -> None:
        if self._link is not None:
            try:
                self._pending = not self._link.pump_send()
            except _BROKEN:
                self._lose()

    def _tell(self, kind: int, value: int = 0) -> bool:
        """Send a record without content, if nothing is in the way."""
        if self._pending:
            self._pump_link()
        if self._link is None or self._pending:
            return False
        self._told = self._received
        self._say(_pack(kind, 0, value, self._received))
        return True

    # --- receiving -----------------------------------------------------------------------------------------

    def pump_receive(self, into: memoryview) -> int:
        """Receive what is there, at most to the end of ``into``."""
        with self.lock:
            if self._whole:
                got = self._receive_whole(into)
                if got >= 0:
                    return got
            if self._ending:
                return self._drop(into)
            done = self._take_ahead(into) if self._ahead else 0
            wanted = len(into)
            try:
                while done < wanted and self._link is not None:
                    got = self._receive(into[done:] if done else into)
                    if not got:
                        break
                    done += got
            except _BROKEN:
                self._lose()
            except FaultyRecordError as error:
                self._fail(f"{error}")
            if self._received - self._told >= _ACK_BYTES:
                self._tell(ACK)
            if not done and wanted and self.failed:
                if self._fault:
                    raise LinkFaultyError(self._fault)
                raise LinkClosedError
            return done

    @property
    def _whole(self) -> bool:
        """Whether the next thing to read is the header of a record, and all is well."""
        return not (self._left or self._high or self._ahead or self._ending) and self._link is not None

    def _receive_whole(self, into: memoryview) -> int:
        """Receive one record of the stream that is just what is wanted, as most are; -1: go on with what came."""
        link, size = self._link, RECORD_BYTES + len(into)
        if link is None or size > len(self._scratch):
            return -1
        try:
            got = link.pump_receive(self._scratch[:size])
        except _BROKEN:
            self._lose()
            return -1
        if not got:
            return 0
        if got == size:
            kind, length, position, acknowledged = _unpack(self._scratch)
            if kind == BYTES and length == len(into) and position == self._received:
                out = self._out
                if out.acknowledged < acknowledged <= out.handed:
                    out.acknowledge(acknowledged)
                    self.sent_bytes += 1
                if acknowledged <= out.handed:
                    into[:] = self._scratch[RECORD_BYTES:size]
                    self._received += length
                    self._fresh = True
                    if self._received - self._told >= _ACK_BYTES:
                        self._tell(ACK)
                    return len(into)
        self._low, self._high = 0, got
        return -1

    def _receive(self, into: memoryview) -> int:
        """Receive from the connection as far as the current record of the stream goes, or the next one."""
        link = self._link
        if link is None or (not self._left and not self._next_record(len(into))):
            return 0
        size = min(self._left, len(into))
        there = self._high - self._low
        if there:
            size = min(size, there)
            into[:size] = self._scratch[self._low : self._low + size]
            self._advance(size)
        else:
            size = link.pump_receive(into[:size])
        self._left -= size
        self._received += size
        self._fresh = True
        return size

    def _next_record(self, hint: int) -> bool:
        """Read headers until one begins a part of the stream that is new to us; what else they say takes effect."""
        while True:
            if self._skip and not self._skip_known():
                return False
            if self._left:
                return True
            if not self._gather(RECORD_BYTES, hint):
                return False
            kind, length, value, acknowledged = _unpack(self._scratch, self._low)
            if kind != BYTES or not 0 < length <= _ACK_BYTES:
                check_record(kind, length)
            if kind == KEY and not self._gather(RECORD_BYTES + KEY_BYTES, 0):
                return False
            self._advance(RECORD_BYTES)
            if acknowledged > self._out.acknowledged:
                self._out.acknowledge(acknowledged)
                self.sent_bytes += 1  # progress, though nothing was sent
            self._fresh = True
            if kind == BYTES:
                if value > self._received:
                    raise FaultyRecordError(f"bytes from {value} on where {self._received} were due")
                self._left = length
                self._skip = min(length, self._received - value)
            else:
                self._take(kind, value)

    def _gather(self, need: int, hint: int) -> bool:
        """Have so many bytes in the scratch; False if they have not come yet."""
        while (have := self._high - self._low) < need:
            if self._low:
                self._scratch[:have] = bytes(self._scratch[self._low : self._high])
                self._low, self._high = 0, have
            link = self._link
            got = 0 if link is None else link.pump_receive(self._scratch[have : min(len(self._scratch), need + hint)])
            if not got:
                return False
            self._high += got
        return True

    def _skip_known(self) -> bool:
        """Read without effect what lies below our position."""
        while self._skip:
            if not self._gather(1, min(self._skip, _SCRATCH_BYTES) - 1):
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

    def _take(self, kind: int, value: int) -> None:
        if kind == BEAT:
            self.news = max(self.news, time.monotonic() - value / 1000)
        elif kind == END:
            if value != self._received:
                raise FaultyRecordError(f"the end of a stream at {value} where {self._received} were due")
            self.peer_ended = True
            self._tell(ACK)
            self.changed()
        elif kind == KEY:
            if self.ticket is not None:
                raise FaultyRecordError("a second key")
            other = bytes(self._scratch[self._low : self._low + KEY_BYTES])
            self._advance(KEY_BYTES)
            halves = (self._half, other) if self.dials else (other, self._half)
            self.ticket = Ticket(session_key(self.terms, *self._roles, *halves), self.terms, *self._roles)

    @property
    def _roles(self) -> tuple[str, str]:
        return (self.name, self.peer) if self.dials else (self.peer, self.name)

    def _take_ahead(self, into: memoryview) -> int:
        done = 0
        while self._ahead and done < len(into):
            piece = self._ahead.popleft()
            size = min(len(piece), len(into) - done)
            into[done : done + size] = piece[:size]
            if size < len(piece):
                self._ahead.appendleft(piece[size:])
            done += size
        self._ahead_bytes -= done
        return done

    def _read_ahead(self) -> None:
        """Read what is there, up to the limit, for when the program asks for it; acknowledgements take effect."""
        try:
            while self._link is not None and not self._ending and self._ahead_bytes < MOST_AHEAD_BYTES:
                if not self._left and not self._next_record(_SCRATCH_BYTES):
                    break
                piece = memoryview(bytearray(self._left))
                got = self._receive(piece)
                if not got:
                    break
                self._ahead.append(piece[:got] if got == len(piece) else memoryview(bytes(piece[:got])))
                self._ahead_bytes += got
        except _BROKEN:
            self._lose()
        except FaultyRecordError as error:
            self._fail(str(error))
        if self._received - self._told >= _ACK_BYTES:
            self._tell(ACK)

    def _drop(self, into: memoryview) -> int:
        """After the half-close: what still comes in is of no use."""
        if self._link is None:
            raise LinkClosedError
        return self._link.pump_receive(into)

    # --- connections ---------------------------------------------------------------------------------------

    def _lose(self) -> None:
        """The connection is gone: what it brought is kept, what it did not deliver is sent again on the next one."""
        if self._link is not None:
            self._link.close()
            self._link = None
            self._left = self._skip = self._low = self._high = 0
            self._pending = False
            if not self._ending:
                self.lost_at = time.monotonic()
                self.breaks += 1
                self.failed = self.failed or self.ticket is None
            self.changed()

    def _fail(self, fault: str) -> None:
        """Give the line up."""
        self._fault = fault
        self.failed = True
        self._lose()
        self.changed()

    def give_up(self) -> None:
        """The peer does not know this line: its session has ended, or its process is a new one."""
        with self.lock:
            self.failed = True
            self._lose()
            self.changed()

    def hang_up(self) -> None:
        """Take the connection for dead, after reading what it has brought."""
        with self.lock:
            self._read_ahead()
            self._lose()

    def leave(self) -> tuple[int, int]:
        """Let go of the connection for good; return the next generation and the position from which we miss bytes."""
        with self.lock:
            self._lose()
            self.generation += 1
            return self.generation, self._received

    def let_in(self, request: Request) -> int | None:
        """The far end of ``leave``: check the request, let go of the connection, and return our position.

        None where nothing is resumed: the request only asks whether the line is known. NotResumedError if it is not
        from the process at the other end, or older than one that we have seen.
        """
        with self.lock:
            if self.ticket is None or self.failed or self._closed:
                raise NotResumedError("a resumption of a line that cannot be resumed")
            self.ticket.check_request(request)
            if not request.generation:
                return None
            if self.dials or request.generation <= self.generation:
                raise NotResumedError("a resumption that is out of date")
            self.generation = request.generation
            self._lose()
            return self._received

    def resume(self, link: Link, generation: int, position: int) -> bool:
        """Go on with a new connection, on which the peer has stated its position; False if that came too late."""
        with self.lock:
            if generation != self.generation or self._link is not None or self.failed or self._closed:
                return False
            try:
                self._out.rewind(position)
            except FaultyRecordError as error:
                self._fail(str(error))
                return False
            self._link = link
            self.lost_at = None
            self.heard = self.said = time.monotonic()
            self._end_said = False
            self.changed()
            return True

    # --- the keeper ----------------------------------------------------------------------------------------

    @property
    def connected(self) -> bool:
        """Whether there is a connection."""
        return self._link is not None

    @property
    def over(self) -> bool:
        """Whether the line needs no keeper any more."""
        return self.failed or self._ending

    def listen(self, now: float) -> bool:
        """Take notice of beats and acknowledgements; return whether bytes wait for the program.

        Where bytes wait nobody reads on, so nothing can be said about the silence after them.
        """
        with self.lock:
            if self._ending or self._link is None:
                return False
            waiting = bool(self._ahead or self._left)
            if not waiting:
                try:
                    waiting = self._next_record(0)
                except _BROKEN:
                    self._lose()
                except FaultyRecordError as error:
                    self._fail(str(error))
            if self._fresh or waiting:
                self.heard = now
            self._fresh = False
            if self._pending:
                self._pump_link()
            return waiting or self.has_unread()

    def beat(self, age: float, now: float) -> None:
        """Tell the peer that we live, and for how long nothing has happened along the chain of who waits for whom."""
        with self.lock:
            if self._out.handed == self._out.end and self._tell(BEAT, round(1000 * age)):
                self.said = now

    def push(self) -> None:
        """Go on sending what the program left."""
        with self.lock:
            if self._link is not None and (self._pending or self._out.handed != self._out.end):
                with contextlib.suppress(LinkClosedError):
                    self.pump_send()

    def settle(self) -> bool:
        """The program has ended: send what is left, and END; True when both ends have got everything, or cannot."""
        with self.lock:
            while self._link is not None and not self._pending and self._out.handed != self._out.end:
                self.push()
            if self._pending:
                self._pump_link()
            if not self._pending and self._out.handed == self._out.end and not self._end_said:
                self._end_said = self._tell(END, self._out.end)
            self._read_ahead()
            self._ahead.clear()  # the program asks for nothing more
            self._ahead_bytes = 0
            return self.failed or (not self._out.held and (self.peer_ended or self._link is None))

    # --- the rest of a link --------------------------------------------------------------------------------

    def has_unread(self) -> bool:
        """Whether something may be receivable that no poll would report."""
        if self._ahead or self._high > self._low or self.failed:
            return True
        link = self._link
        return link is not None and link.has_unread()

    def events(self, *, receiving: bool, sending: bool) -> int:
        """What to poll the connection for."""
        with self.lock:
            blocked = self._pending or self._out.handed != self._out.end
            events = select.POLLOUT if sending and blocked else 0
            hungry = self._ahead_bytes < MOST_AHEAD_BYTES
            return events | (select.POLLIN if receiving or (sending and hungry) else 0)

    def end_sending(self) -> None:
        """Half-close."""
        with self.lock:
            self._ending = True
            if self._link is not None:
                self._link.end_sending()

    def close(self) -> None:
        """Close for good."""
        with self.lock:
            self._closed = self._ending = True
            self._ahead.clear()
            if self._link is not None:
                self._link.close()
                self._link = None
            self.changed()

    def fileno(self) -> int:
        """The descriptor of the connection."""
        link = self._link
        return -1 if link is None else link.fileno()
