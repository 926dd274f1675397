"""A stream to one peer that outlives its connections: what is missing after a break is sent again, byte for byte.

``resume_proof.md`` says what is claimed of it, and why it holds. A line is a Link: the channel above knows nothing of
connections. Two threads use it: the one that runs the program, and the keeper's (``keeper.py``), which sends beats and
brings new connections; a third, of the reception, may hand one over. What comes in is read by ``incoming.py``, what
goes out is kept by ``outgoing.py``; here both meet one connection after the other.
"""

from __future__ import annotations

import contextlib
import secrets
import select
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cofit.transport.incoming import MOST_AHEAD_BYTES, Incoming
from cofit.transport.link import Link, LinkClosedError, LinkFaultyError
from cofit.transport.outgoing import Outgoing
from cofit.transport.passage import BROKEN, Passage
from cofit.transport.records import (
    ACK,
    BEAT,
    BYTES,
    END,
    KEY,
    KEY_BYTES,
    MOST_RECORD_BYTES,
    RECORD,
    FaultyRecordError,
)
from cofit.transport.resume import NotResumedError, Request, Ticket, session_key
from cofit.transport.terms import Terms

if TYPE_CHECKING:
    from typing_extensions import Buffer

_ACK_BYTES = MOST_RECORD_BYTES
"""After so many received bytes an acknowledgement is sent, unless the stream carries one."""
_LONG_AGO = float("-inf")
_pack = RECORD.pack


class Line:
    """The stream between ``name`` (us) and ``peer``, on ``link`` and on the connections that replace it.

    ``dials``: whether we dialled, and so dial again. ``changed`` is called, under the line's lock, when the connection
    is lost or there is a new one, and when the line has failed. ``news`` is when the peer was last known to do anything
    (as ``time.monotonic`` tells): see BEAT in the proof. ``heard`` and ``said``: when anything last came over the
    connection, and when we last sent a beat.
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
        self.news = self.heard = self.said = time.monotonic()
        self.lost_at: float | None = None
        self.breaks = 0
        self.generation = 0
        self.ticket: Ticket | None = None
        self.failed = False
        self.peer_ended = False
        self.reading = False
        """Whether the program itself receives on this line while it sends, so that nothing need be read ahead."""
        self._fault = ""
        self._passage = passage = Passage(link, self._lose)
        self._out = Outgoing()
        self._in = Incoming(passage, self._out, self._take)
        self._told = 0
        self._look_at = _ACK_BYTES
        self._ending = False
        self._closed = False
        self._end_said = False
        self._half = secrets.token_bytes(KEY_BYTES)
        with self.lock:
            passage.say(_pack(KEY, KEY_BYTES, 0, 0) + self._half)

    # --- sending -------------------------------------------------------------------------------------------

    @property
    def sent_bytes(self) -> int:
        """Grows as the stream goes on; see Outgoing.moved."""
        return self._out.moved

    def queue(self, pieces: Sequence[Buffer]) -> None:
        """Add one frame."""
        with self.lock:
            for piece in pieces:
                self._out.add(piece)

    def send_frame(self, frame: bytes) -> bool:
        """Add one frame and send what goes at once."""
        out, passage, size = self._out, self._passage, len(frame)
        with self.lock:
            link, end = passage.link, out.end
            if link is None or passage.pending or out.handed != end or size > MOST_RECORD_BYTES:
                out.add(frame, borrowed=False)
                return self.pump_send()
            self._told = received = self._in.received
            out.add_handed(frame)
            try:
                sent = link.send_frame(_pack(BYTES, size, end, received) + frame)
            except BROKEN:
                self._lose()
                return False
            passage.pending = not sent
            if out.end >= self._look_at:
                self._look()
                sent = sent and passage.link is not None
            return sent and not out.full

    def pump_send(self) -> bool:
        """Send what the connection accepts; True when everything is handed over and little enough unacknowledged."""
        with self.lock:
            out, passage = self._out, self._passage
            passage.pump()
            turn = 0
            while passage.free and out.handed != out.end and turn < _ACK_BYTES:
                position, parts = out.hand_over()
                size = out.handed - position
                turn += size
                self._told = self._in.received
                passage.say(_pack(BYTES, size, position, self._told), parts)
            done = passage.free and out.handed == out.end
            if out.end >= self._look_at:
                self._look()
            if (not done or out.full) and not self.reading:
                self._read_ahead()
            done = done and passage.link is not None and not out.full
            if self.failed and not done:
                raise LinkClosedError
            if done:
                out.own()
            return done

    def _look(self) -> None:
        """Look for acknowledgements, where the program only sends: what they free need not be kept."""
        self._look_at = self._out.end + _ACK_BYTES
        if not self._in.ahead_bytes:
            self._guarded(lambda: self._in.next_record(0))

    def _tell(self, kind: int, value: int = 0) -> bool:
        """Send a record without content, if nothing is in the way."""
        self._passage.pump()
        if not self._passage.free:
            return False
        self._told = self._in.received
        self._passage.say(_pack(kind, 0, value, self._told))
        return True

    # --- receiving -----------------------------------------------------------------------------------------

    def pump_receive(self, into: memoryview) -> int:
        """Receive what is there, at most to the end of ``into``."""
        with self.lock:
            if self._ending:
                return self._drop(into)
            incoming, done, wanted = self._in, 0, len(into)
            try:
                done = incoming.read_whole(into)
                if done < 0:
                    done = incoming.take_ahead(into)
                    while done < wanted and (got := incoming.receive(into[done:])):
                        done += got
            except BROKEN:
                self._lose()
            except FaultyRecordError as error:
                self._fail(str(error))
            if incoming.received - self._told >= _ACK_BYTES:
                self._tell(ACK)
            if not done:
                if incoming.interrupted:
                    self.changed()  # more may be there than a poll would tell
                if wanted and self.failed and not incoming.buffered:
                    if self._fault:
                        raise LinkFaultyError(self._fault)
                    raise LinkClosedError
            return done

    def _guarded(self, work: Callable[[], object]) -> bool:
        """Read something, and let a connection go that fails, or give the line up; whether there was something."""
        try:
            return bool(work())
        except BROKEN:
            self._lose()
        except FaultyRecordError as error:
            self._fail(str(error))
        return False

    def _read_ahead(self) -> None:
        """Read what is there for when the program asks for it; acknowledgements take effect."""
        if not self._ending:
            self._guarded(self._in.read_ahead)
            if self._in.received - self._told >= _ACK_BYTES:
                self._tell(ACK)

    def _take(self, kind: int, value: int, content: bytes) -> None:
        """What a record says that is no part of the stream."""
        if kind == BEAT:
            self.news = max(self.news, time.monotonic() - value / 1000)
        elif kind == END:
            if value != self._in.received:
                raise FaultyRecordError(f"the end of a stream at {value} where {self._in.received} were due")
            self.peer_ended = True
            self._tell(ACK)
            self.changed()
        elif kind == KEY:
            if self.ticket is not None:
                raise FaultyRecordError("a second key")
            halves = (self._half, content) if self.dials else (content, self._half)
            roles = (self.name, self.peer) if self.dials else (self.peer, self.name)
            self.ticket = Ticket(session_key(self.terms, *roles, *halves), self.terms, *roles)

    def _drop(self, into: memoryview) -> int:
        """After the half-close: what still comes in is of no use."""
        link = self._passage.link
        if link is None:
            raise LinkClosedError
        return link.pump_receive(into)

    # --- connections ---------------------------------------------------------------------------------------

    def _lose(self) -> None:
        """The connection is gone: what it brought is kept, what it did not deliver is sent again on the next one."""
        if self._passage.drop():
            self._in.forget()
            if not self._ending:
                self.lost_at = time.monotonic()
                self.breaks += 1
                self.failed = self.failed or self.ticket is None
            self.changed()

    def _fail(self, fault: str) -> None:
        """Give the line up."""
        self._fault = fault
        self.give_up()

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
            return self.generation, self._in.received

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
            return self._in.received

    def resume(self, link: Link, generation: int, position: int) -> bool:
        """Go on with a new connection, on which the peer has stated its position; False if that came too late."""
        with self.lock:
            if generation != self.generation or self.connected or self.over or self._closed:
                return False
            try:
                self._out.rewind(position)
            except FaultyRecordError as error:
                self._fail(str(error))
                return False
            self._passage.take(link)
            self.lost_at = None
            self.heard = time.monotonic()
            self.said = _LONG_AGO  # the peer may have waited for a sign of life for almost as long as it does
            self._end_said = False
            self.changed()
            return True

    # --- the keeper ----------------------------------------------------------------------------------------

    @property
    def connected(self) -> bool:
        """Whether there is a connection."""
        return self._passage.link is not None

    @property
    def over(self) -> bool:
        """Whether the line needs no keeper any more."""
        return self.failed or self._ending

    def listen(self, now: float) -> bool:
        """Take notice of beats and acknowledgements; return whether bytes wait for the program.

        Bytes that wait are read ahead, for the beats behind them: else parties whose programs wait for one another over
        dead connections, with bytes of the others unread, would never notice. A record of which the rest does not come
        is silence like any other. Only beyond what may be read ahead nothing can be said.
        """
        with self.lock:
            if self._ending or not self.connected:
                return False
            waiting = self._guarded(self._in.peek)
            if waiting:
                self._read_ahead()
            if self._in.fresh or self._in.ahead_bytes >= MOST_AHEAD_BYTES:
                self.heard = now
            self._in.fresh = False
            self._passage.pump()
            return waiting or self.has_unread()

    def beat(self, age: float, now: float) -> None:
        """Tell the peer that we live, and for how long nothing has happened along the chain of who waits for whom."""
        with self.lock:
            if self._out.handed == self._out.end and self._tell(BEAT, round(1000 * age)):
                self.said = now

    def push(self) -> None:
        """Go on sending what the program left."""
        with self.lock:
            if self._passage.pending or (self.connected and self._out.handed != self._out.end):
                with contextlib.suppress(LinkClosedError):
                    self.pump_send()

    def settle(self) -> bool:
        """The program has ended: send what is left, and END; True when both ends have got everything, or cannot."""
        with self.lock:
            while self._passage.free and self._out.handed != self._out.end:
                self.push()
            self._passage.pump()
            if not self._passage.pending and self._out.handed == self._out.end and not self._end_said:
                self._end_said = self._tell(END, self._out.end)
            self._read_ahead()
            self._in.drop_ahead()  # the program asks for nothing more
            return self.failed or (self.peer_ended and (not self._out.held or not self.connected))

    # --- the rest of a link --------------------------------------------------------------------------------

    def has_unread(self) -> bool:
        """Whether something may be receivable that no poll would report."""
        with self.lock:  # another thread may be reading, or closing, the connection
            link = self._passage.link
            return self.failed or self._in.buffered or (link is not None and link.has_unread())

    def events(self, *, receiving: bool, sending: bool) -> int:
        """What to poll the connection for."""
        with self.lock:
            blocked = self._passage.pending or self._out.handed != self._out.end
            events = select.POLLOUT if sending and blocked else 0
            hungry = self._in.ahead_bytes < MOST_AHEAD_BYTES
            return events | (select.POLLIN if receiving or (sending and hungry) else 0)

    def end_sending(self) -> None:
        """Half-close."""
        with self.lock:
            self._ending = True
            if self._passage.link is not None:
                self._passage.link.end_sending()

    def close(self) -> None:
        """Close for good."""
        with self.lock:
            self._closed = self._ending = True
            self._in.drop_ahead()
            self._passage.drop()
            self._in.forget()
            self.changed()

    def fileno(self) -> int:
        """The descriptor of the connection."""
        link = self._passage.link
        return -1 if link is None else link.fileno()
