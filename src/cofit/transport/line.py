"""A stream to one peer that outlives its connections: what is missing after a break is sent again, byte for byte.

``resume_proof.md`` says what is claimed of it, and why it holds. A line is a Link: the channel above knows nothing of
connections. Two threads use it: the one that runs the program, and the keeper's (``keeper.py``), which sends beats and
brings new connections; a third, of the reception, may hand one over. ``stream.py`` sends and receives on the connection
of the moment; here one takes the place of another.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable

from cofit.transport.incoming import MOST_AHEAD_BYTES
from cofit.transport.link import Link, LinkClosedError
from cofit.transport.records import ACK, BEAT, END, KEY, KEY_BYTES, RECORD, FaultyRecordError
from cofit.transport.resume import NotResumedError, Request, Ticket, session_key
from cofit.transport.stream import Stream
from cofit.transport.terms import Terms

_LONG_AGO = float("-inf")


class Line(Stream):
    """The streams between ``name`` (us) and ``peer``, on ``link`` and on the connections that replace it.

    ``dials``: whether we dialled, and so dial again. ``news`` is when the peer was last known to do anything (as
    ``time.monotonic`` tells): see BEAT in the proof. ``heard`` and ``said``: when anything last came over the
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
        super().__init__(link, changed)
        self.name = name
        self.peer = peer
        self.dials = dials
        self.terms = terms
        self.news = self.heard = self.said = time.monotonic()
        self.lost_at: float | None = None
        self.breaks = 0
        self.generation = 0
        self.ticket: Ticket | None = None
        self.peer_ended = False
        self._closed = False
        self._end_said = False
        self._half = secrets.token_bytes(KEY_BYTES)
        with self.lock:
            self._passage.say(RECORD.pack(KEY, KEY_BYTES, 0, 0) + self._half)

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

    # --- the end -------------------------------------------------------------------------------------------

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
