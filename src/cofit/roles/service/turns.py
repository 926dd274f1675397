"""One request after the other, and whose is next: nobody keeps the others waiting by asking more.

Of those who wait:

1. Every second turn, at least, goes to a *favoured* request, if one waits: so an upload waits for one other request
   beside the one that is being answered, however many others ask, and however often.
2. Within the same kind it is the turn of the peer that was served longest ago, and of its requests the oldest.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(eq=False)
class _Ticket:
    peer: str
    favoured: bool


class Turns:
    """Lets one thread at a time have its turn. It remembers one number for each peer that ever had one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[_Ticket] = []
        self._taken = False
        self._last_was_favoured = False
        self._count = 0
        self._served: dict[str, int] = {}

    @contextmanager
    def turn(self, peer: str, *, favoured: bool) -> Iterator[None]:
        """Wait for a turn of ``peer``, and have it until the block ends."""
        ticket = _Ticket(peer, favoured)
        with self._changed:
            self._waiting.append(ticket)
            try:
                self._changed.wait_for(lambda: not self._taken and self._next() is ticket)
            finally:
                self._waiting.remove(ticket)
            self._taken = True
            self._last_was_favoured = favoured
            self._count += 1
            self._served[peer] = self._count
        try:
            yield
        finally:
            with self._changed:
                self._taken = False
                self._changed.notify_all()

    def _next(self) -> _Ticket:
        favoured = [] if self._last_was_favoured else [ticket for ticket in self._waiting if ticket.favoured]
        others = [ticket for ticket in self._waiting if not ticket.favoured]
        return min(favoured or others or self._waiting, key=lambda ticket: self._served.get(ticket.peer, 0))
