"""A link over a non-blocking TLS socket, and the poll that waits for several of them."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from cofit.transport.link import Link, LinkClosedError, LinkRefusedError, LinkTamperedError

if TYPE_CHECKING:
    from typing_extensions import Buffer

DEFAULT_SPIN = 200e-6
"""Seconds of busy waiting before a sleep; see PollWaiter."""
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
        self.sent_bytes = 0

    def queue(self, pieces: Sequence[Buffer]) -> None:
        """Add one frame."""
        for piece in pieces:
            view = memoryview(piece)
            if view.nbytes:
                self._pending.append(view)

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

    def pump_receive(self, into: memoryview) -> int:
        """Receive and decrypt until the socket is empty or ``into`` is full."""
        done = 0
        wanted = len(into)
        while done < wanted:
            try:
                size = self._read(wanted - done, into[done:] if done else into)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                break
            except OSError as error:
                raise _link_error(error) from None
            if not size:
                if done:
                    break
                raise LinkClosedError
            done += size
        return done

    def has_unread(self) -> bool:
        """Whether a record was decrypted but not read to its end."""
        return self._pending_bytes() > 0

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

    Asking keeps a short message from paying for a wake-up; between two questions others may have the core.
    """

    def __init__(self, spin: float = 0.0) -> None:
        self._spin = spin
        self._poll = select.poll()
        self._ask = self._poll.poll
        self._registered: dict[int, int] = {}
        self._receiving: Sequence[Link] = []
        self._sending: Sequence[Link] = []

    def wait(self, receiving: Sequence[Link], sending: Sequence[Link], seconds: float) -> None:
        """Sleep until a link is readable or writable as asked, or broken."""
        if receiving != self._receiving or sending != self._sending:
            self._register(receiving, sending)
        if -1 in self._registered:
            return
        ask = self._ask
        if ask(0):
            return
        spin_until = time.monotonic() + min(self._spin, seconds)
        while time.monotonic() < spin_until:
            os.sched_yield()
            if ask(0):
                return
        ask(max(0.0, seconds) * 1000)

    def _register(self, receiving: Sequence[Link], sending: Sequence[Link]) -> None:
        wanted: dict[int, int] = {}
        for links, event in (receiving, select.POLLIN), (sending, select.POLLOUT):
            for link in links:
                descriptor = link.fileno()
                wanted[descriptor] = wanted.get(descriptor, 0) | event
        for descriptor in self._registered.keys() - wanted.keys() - {-1}:
            self._poll.unregister(descriptor)
        for descriptor, events in wanted.items():
            if descriptor >= 0:
                self._poll.register(descriptor, events)
        self._registered = wanted
        self._receiving, self._sending = receiving, sending
