"""The messages of a resumption on their way: the end that dials, and the end that answers at a reception."""

from __future__ import annotations

import contextlib
import select
import ssl
import threading
from collections.abc import Callable

from cofit.transport.authentication import DroppedError, Peer
from cofit.transport.frames import HEADER_BYTES, NO_TAG, Kind, control_frame
from cofit.transport.line import Line
from cofit.transport.link import Link, LinkClosedError, LinkRefusedError, LinkTamperedError
from cofit.transport.refusals import Refused
from cofit.transport.resume import (
    ANSWER_BYTES,
    CONFIRM_BYTES,
    REQUEST_BYTES,
    NotResumedError,
    Ticket,
    is_refusal,
    read_request,
)
from cofit.transport.terms import REFUSE_BYTES, Refusal
from cofit.transport.tls import TlsLink

_BROKEN = (LinkClosedError, LinkRefusedError, LinkTamperedError)


class LineRegistry:
    """The lines of this process that can be resumed, by session and peer. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lines: dict[tuple[bytes, str], Line] = {}
        self._lock = threading.Lock()

    def add(self, line: Line) -> None:
        """Let the peer resume this line."""
        with self._lock:
            self._lines[line.terms.session, line.peer] = line

    def remove(self, line: Line) -> None:
        """Let nobody resume it any more."""
        with self._lock:
            if self._lines.get((line.terms.session, line.peer)) is line:
                del self._lines[line.terms.session, line.peer]

    def find(self, session: bytes, peer: str) -> Line | None:
        """Return the line, if it is there."""
        with self._lock:
            return self._lines.get((session, peer))


class _Reader:
    """One message of known length, in steps that do not block."""

    def __init__(self, link: Link, size: int) -> None:
        self._link = link
        self._buffer = memoryview(bytearray(size))
        self._have = 0

    def step(self) -> bytes | None:
        """Return the message when it is complete, or the beginning of a refusal, which is shorter."""
        while self._have < len(self._buffer):
            got = self._link.pump_receive(self._buffer[self._have :])
            self._have += got
            short = HEADER_BYTES <= self._have == HEADER_BYTES + REFUSE_BYTES
            if short and is_refusal(bytes(self._buffer[:HEADER_BYTES])):
                break
            if not got:
                return None
        return bytes(self._buffer[: self._have])


class Return:
    """The end that dials: stands in the place of the greeting. ``asks``: whether it only asks if the line is known."""

    def __init__(self, link: Link, line: Line, ticket: Ticket, *, asks: bool) -> None:
        self._link = link
        self._line = line
        self._ticket = ticket
        self._asks = asks
        self._generation, position = (0, 0) if asks else line.leave()
        self._request, frame = ticket.request(self._generation, position)
        self._reader = _Reader(link, ANSWER_BYTES)
        self._sent = False
        link.queue([frame])

    @property
    def sending(self) -> bool:
        """Whether our request is not yet fully handed over."""
        return not self._sent

    def step(self) -> bool:
        """Go on as far as possible; True when the line is resumed, or known. DroppedError: it is to be tried again."""
        try:
            self._sent = self._sent or self._link.pump_send()
            frame = self._reader.step()
            if frame is None:
                return False
            if is_refusal(frame):
                self._line.give_up()
                raise DroppedError("the session has ended there")
            position, proof = self._ticket.read_answer(self._request, frame)
            if not self._asks:
                self._link.send_frame((proof,), len(proof))
        except _BROKEN:
            raise DroppedError("it closed the connection during the resumption") from None
        except NotResumedError as error:
            raise DroppedError(str(error)) from None
        if not self._asks and not self._line.resume(self._link, self._generation, position):
            raise DroppedError("the resumption came too late")
        return True


class Welcome:
    """The end that answers, at a reception: an authenticated connection that asks for a line.

    Looks like an Authentication to the loop that moves it. ``resumed``: whether the connection belongs to the line now.
    ``last_word`` is what to say if it is refused.
    """

    def __init__(
        self, tls: ssl.SSLSocket, peer: Peer, address: str, lines: LineRegistry, version: int, deadline: float
    ) -> None:
        self.tls = tls
        self.peer = peer
        self.address = address
        self.deadline = deadline
        self.events = select.POLLIN
        self.link: Link = TlsLink(tls)
        self.last_word = b""
        self.resumed = False
        self._lines = lines
        self._version = version
        self._reader = _Reader(self.link, REQUEST_BYTES)
        self._next: Callable[[bytes], bool] = self._judge
        self._line: Line | None = None
        self._due = b""
        self._generation = self._position = 0

    def fileno(self) -> int:
        """The descriptor to poll."""
        return self.link.fileno()

    def close(self) -> None:
        """Give the connection up."""
        self.link.close()

    def step(self) -> bool:
        """Go on as far as possible; True when there is nothing left to do here. Raises DroppedError."""
        try:
            with contextlib.suppress(BlockingIOError):
                self.link.pump_send()
            frame = self._reader.step()
            return frame is not None and self._next(frame)
        except _BROKEN:
            raise DroppedError("it closed the connection during the resumption") from None
        except NotResumedError as error:
            raise DroppedError(str(error), Refused.RESUMPTION) from None

    def _judge(self, frame: bytes) -> bool:
        request = read_request(frame, self._version)
        line = self._lines.find(request.session, self.peer.name)
        if line is None or line.ticket is None:
            self.last_word = control_frame(Kind.REFUSE, self._version, NO_TAG, 1, bytes([Refusal.SESSION]))
            raise DroppedError("a resumption of a session that has ended here", Refused.SESSION)
        position = line.let_in(request)
        answer, self._due = line.ticket.answer(request, position or 0)
        self.link.send_frame((answer,), len(answer))
        if position is None:
            return True
        self._line, self._generation, self._position = line, request.generation, request.position
        self._reader = _Reader(self.link, CONFIRM_BYTES)
        self._next = self._confirm
        return False

    def _confirm(self, frame: bytes) -> bool:
        if frame != self._due or self._line is None:
            raise NotResumedError("a resumption that was not confirmed")
        if not self._line.resume(self.link, self._generation, self._position):
            raise DroppedError("a resumption that came too late")
        self.resumed = True
        return True
