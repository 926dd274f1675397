"""A link over a non-blocking TLS socket, and the poll that waits for several of them."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from cofit.transport.link import Link, LinkClosedError, LinkRefusedError, LinkTamperedError

if TYPE_CHECKING:
    from typing_extensions import Buffer

_Events: TypeAlias = list[tuple[int, int]]

DEFAULT_SPIN = 200e-6
"""Seconds of busy waiting before a sleep; see PollWaiter."""
_LONG_YIELD = 150e-6
"""Seconds that others kept the core: longer than a party takes for its part in an exchange of small messages."""
_FEWEST_SLEEPS, _MOST_SLEEPS = 16, 4096
_MOST_QUESTIONS = 256
_now, _yield = time.monotonic, os.sched_yield
_JOINED_BYTES = 1 << 17
"""Up to here the pieces of a frame are copied together, which costs less than a record for every piece."""
_SEND_TURN_BYTES = 1 << 20
"""After this much a sender looks at what came in, so that both directions of a link stay busy."""


class TlsLink:
    """A stream over a connected, non-blocking TLS socket whose handshake is complete."""

    def __init__(self, tls: ssl.SSLSocket) -> None:
        self._tls = tls
        self._send = tls.send
        self._read = cast("Callable[[int, memoryview], int]", tls.read)  # thinner than recv_into
        self._pending_bytes = tls.pending
        self._descriptor = tls.fileno()
        self._pending: deque[memoryview] = deque()
        self._ended = False
        self._filled = True
        self.sent_bytes = 0

    def queue(self, pieces: Sequence[Buffer]) -> None:
        """Add one frame."""
        for piece in pieces:
            view = memoryview(piece)
            if view.nbytes:
                self._pending.append(view)

    def send_frame(self, pieces: Sequence[bytes | memoryview], size: int) -> bool:
        """Encrypt and send one frame; what the socket does not take at once waits."""
        if self._pending or (size > _JOINED_BYTES and len(pieces) > 1):
            self.queue(pieces)
            return self.pump_send()
        frame = b"".join(pieces)
        try:
            sent = self._send(frame)
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
            sent = 0
        except OSError as error:
            raise _link_error(error) from None
        self.sent_bytes += sent
        if sent == size:
            return True
        self._pending.append(memoryview(frame)[sent:])
        return self.pump_send()

    def pump_send(self) -> bool:
        """Encrypt and send what the socket accepts."""
        pending = self._pending
        turn = 0
        while pending and turn < _SEND_TURN_BYTES:
            piece = pending[0]
            try:
                # After "want write" OpenSSL demands the same bytes again: the piece stays at the head.
                size = self._send(piece)
            except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
                return False
            except OSError as error:
                raise _link_error(error) from None
            turn += size
            self.sent_bytes += size
            if size == len(piece):
                pending.popleft()
            else:
                pending[0] = piece[size:]
        return not pending

    def pump_receive(self, into: memoryview, enough: int = 0) -> int:
        """Receive and decrypt until the socket is empty, or ``into`` is full or holds ``enough``."""
        done = 0
        room = len(into)
        wanted = enough or room
        while done < wanted:
            try:
                size = self._read(room - done, into[done:] if done else into)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                break
            except OSError as error:
                raise _link_error(error) from None
            if not size:
                if done:
                    break
                raise LinkClosedError
            done += size
        self._filled = done == room
        return done

    def has_unread(self) -> bool:
        """Whether a record was decrypted but not read to its end: a read that was not filled has come to the end."""
        return self._filled and self._pending_bytes() > 0

    def end_sending(self) -> None:
        """Half-close. Python drops the TLS state here: what still comes in is ciphertext, fit to be dropped."""
        if not self._ended:
            self._ended = True
            self._pending.clear()
            self._read = self._drop
            with contextlib.suppress(OSError):
                self._tls.shutdown(socket.SHUT_WR)

    def _drop(self, size: int, into: memoryview) -> int:
        """Read what comes after the TLS state is gone."""
        return self._tls.recv_into(into, size)

    def close(self) -> None:
        """Close the socket."""
        self.end_sending()
        self._descriptor = -1
        with contextlib.suppress(OSError):
            self._tls.close()

    def fileno(self) -> int:
        """The socket's descriptor."""
        return self._descriptor


def _link_error(error: OSError) -> Exception:
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        reason = error.reason or ""
        if ("ALERT" in reason and "CERT" in reason) or "UNKNOWN_CA" in reason:
            return LinkRefusedError()
        if "ALERT" in reason or "PROTOCOL_IS_SHUTDOWN" in reason:
            return LinkClosedError()
        return LinkTamperedError()
    return LinkClosedError()


class PollWaiter:
    """Waits for sockets with ``poll``: for up to ``spin`` seconds by asking again and again, then asleep.

    Asking keeps a short message from paying for a wake-up; between two questions others may have the core. Where others
    keep it, a party that sleeps is served sooner than one that asks for its turn: then the next waits are asleep at
    once, twice as many each time that others still keep the core.
    The links of a mesh are waited for in few combinations, again and again, so each has a ``poll`` object of its own.
    ``bell``: a descriptor that wakes it out of a sleep, whatever it waits for, and makes it forget all questions.
    """

    def __init__(self, spin: float = 0.0, bell: int = -1) -> None:
        self._spin = spin
        self._bell = bell
        self._questions: dict[Any, Question] = {}
        self._sleeps = 0
        self._longest_sleeps = _FEWEST_SLEEPS

    def wait(self, receiving: Sequence[Link], sending: Sequence[Link], seconds: float) -> Container[int] | None:
        """Sleep until a link is readable or writable as asked, or broken."""
        key = receiving[0] if len(receiving) == 1 and not sending else (*receiving, None, *sending)
        question = self._questions.get(key)
        if question is None:
            question = self._ask_first(key, receiving, sending, seconds)
            if question is None:
                return None
        for fileno in question.filenos:
            if fileno() < 0:
                return None
        ask = question.ask
        if self._sleeps:
            self._sleeps -= 1
            found = []
        else:
            found = ask(0) or self._ask_again(ask, seconds)
        if not found:
            found = question.sleep(max(0.0, seconds) * 1000)
            if found and found[0][0] == self._bell:
                self._questions.clear()
        return [descriptor for descriptor, _ in found] if len(question.filenos) > 1 else None

    def _ask_first(
        self, key: object, receiving: Sequence[Link], sending: Sequence[Link], seconds: float
    ) -> Question | None:
        """Return what to ask for these links, and note it for the next time; None: the wait is over."""
        del seconds
        if len(self._questions) >= _MOST_QUESTIONS:  # many peers, each slow in its own way
            self._questions.clear()
        question = self._questions[key] = Question(receiving, sending, self._bell)
        return question

    def _ask_again(self, ask: Callable[[float], _Events], seconds: float) -> _Events:
        """Ask until there is an answer or ``spin`` is over, if nobody else wants the core for long."""
        now = _now()
        until = now + min(self._spin, seconds)
        while now < until:
            _yield()
            before, now = now, _now()
            found = ask(0)
            if now - before > _LONG_YIELD:
                self._sleeps = self._longest_sleeps = min(2 * self._longest_sleeps, _MOST_SLEEPS)
                return found
            if found:
                self._longest_sleeps = _FEWEST_SLEEPS
                return found
        return []


class Question:
    """Which of some links can go on. ``sleep`` takes the milliseconds to wait for an answer, or for the ``bell``."""

    def __init__(self, receiving: Sequence[Link], sending: Sequence[Link], bell: int) -> None:
        wanted: dict[int, int] = {}
        for links, event in (receiving, select.POLLIN), (sending, select.POLLOUT):
            for link in links:
                descriptor = link.fileno()
                wanted[descriptor] = wanted.get(descriptor, 0) | event
        self.ask = _poll(wanted)
        self.sleep = self.ask if bell < 0 else _poll({bell: select.POLLIN, **wanted})
        self.filenos = [link.fileno for link in (*receiving, *sending)]


def _poll(wanted: Mapping[int, int]) -> Callable[[float], _Events]:
    poll = select.poll()
    for descriptor, events in wanted.items():
        if descriptor >= 0:
            poll.register(descriptor, events)
    return poll.poll
