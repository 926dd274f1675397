"""Closing several links so that what was sent last, such as an ABORT, still arrives."""

from __future__ import annotations

import select
import time
from collections.abc import Iterable

from cofit.transport.link import Link, LinkClosedError, LinkRefusedError, LinkTamperedError, Waiter

_BROKEN = (LinkClosedError, LinkRefusedError, LinkTamperedError)
_SCRATCH_BYTES = 1 << 16
_READS_IN_A_ROW = 64
"""After so many reads from one link the clock is looked at, so that a peer that never stops holds nobody up."""


def part(links: Iterable[Link], waiter: Waiter, seconds: float) -> None:
    """Send what is queued, half-close, drop what still comes in until the peers close too, and close.

    A socket that is closed with unread bytes resets the connection, and the reset can overtake our last
    frame: hence the dropping. It all takes at most ``seconds``; with 0 it takes only what is there.
    """
    everything = list(links)
    deadline = time.monotonic() + seconds
    scratch = memoryview(bytearray(_SCRATCH_BYTES))
    try:
        sending = everything
        while sending := [link for link in sending if not _sent(link)]:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            waiter.wait([], sending, left)
        for link in everything:
            link.end_sending()
        receiving = everything
        while receiving := [link for link in receiving if not _ended(link, scratch)]:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            waiter.wait(receiving, [], left)
    finally:
        for link in everything:
            link.close()


class Departure:
    """The same for one link, in steps that do not block: ``step`` is True when the link is closed."""

    def __init__(self, link: Link, deadline: float) -> None:
        self.link = link
        self._deadline = deadline
        self._ended = False

    @property
    def events(self) -> int:
        """What to poll for."""
        return select.POLLIN if self._ended else select.POLLOUT

    def step(self, now: float) -> bool:
        """Go on as far as possible."""
        if not self._ended and _sent(self.link):
            self._ended = True
            self.link.end_sending()
        done = now >= self._deadline or (self._ended and _ended(self.link, memoryview(bytearray(_SCRATCH_BYTES))))
        if done:
            self.link.close()
        return done


def _sent(link: Link) -> bool:
    try:
        return link.pump_send()
    except _BROKEN:
        return True


def _ended(link: Link, scratch: memoryview) -> bool:
    try:
        for _ in range(_READS_IN_A_ROW):
            if not link.pump_receive(scratch):
                break
    except _BROKEN:
        return True
    return False
