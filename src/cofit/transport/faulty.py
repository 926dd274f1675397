"""A link that misbehaves on purpose, above TLS: what a faulty or corrupt party could send. For tests.

Frames are numbered per link from 0, which is the HELLO; the first DATA frame is frame 1.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cofit.transport.frames import HEADER_BYTES
from cofit.transport.link import Link

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Fault(ABC):
    """What to do with one outgoing frame."""

    @abstractmethod
    def apply(self, link: FaultyLink, number: int, frame: bytes) -> None:
        """Act on ``frame``; whatever is to be sent goes to ``link.pass_on``."""


@dataclass(frozen=True)
class Delay(Fault):
    """Send the frame only after ``seconds``; the whole party sleeps, like one that computes."""

    seconds: float

    def apply(self, link: FaultyLink, number: int, frame: bytes) -> None:
        """Sleep, then send."""
        time.sleep(self.seconds)
        link.pass_on(frame)


@dataclass(frozen=True)
class Drop(Fault):
    """Send the first ``after`` bytes of the frame, then close the connection."""

    after: int = 0

    def apply(self, link: FaultyLink, number: int, frame: bytes) -> None:
        """Send the beginning and close."""
        link.pass_on(frame[: self.after])
        link.pump_send()
        link.close()


@dataclass(frozen=True)
class Corrupt(Fault):
    """Flip one bit of the header, or of the payload."""

    byte: int
    bit: int = 0
    in_payload: bool = False

    def apply(self, link: FaultyLink, number: int, frame: bytes) -> None:
        """Flip and send."""
        changed = bytearray(frame)
        changed[self.byte + (HEADER_BYTES if self.in_payload else 0)] ^= 1 << self.bit
        link.pass_on(bytes(changed))


@dataclass(frozen=True)
class Truncate(Fault):
    """Leave out everything after the first ``keep`` bytes of the frame; the connection stays open."""

    keep: int

    def apply(self, link: FaultyLink, number: int, frame: bytes) -> None:
        """Send the beginning."""
        link.pass_on(frame[: self.keep])


@dataclass(frozen=True)
class Reorder(Fault):
    """Send the frame after the next one (never, if there is no next one)."""

    def apply(self, link: FaultyLink, number: int, frame: bytes) -> None:
        """Keep the frame back."""
        link.hold(frame)


@dataclass(frozen=True)
class Duplicate(Fault):
    """Send the frame twice."""

    def apply(self, link: FaultyLink, number: int, frame: bytes) -> None:
        """Send twice."""
        link.pass_on(frame)
        link.pass_on(frame)


@dataclass(frozen=True)
class Rewrite(Fault):
    """Send ``change(number, frame)`` instead of the frame, which is header and payload."""

    change: Callable[[int, bytes], bytes]

    def apply(self, link: FaultyLink, number: int, frame: bytes) -> None:
        """Send the changed frame."""
        link.pass_on(self.change(number, frame))


@dataclass(frozen=True)
class FaultPlan:
    """Which frame of a link suffers which fault; ``every`` is for all frames not in ``at``."""

    at: Mapping[int, Fault] = field(default_factory=dict)
    every: Fault | None = None


class FaultyLink:
    """Any link, with a plan of faults for the frames it sends."""

    def __init__(self, link: Link, plan: FaultPlan) -> None:
        self._link = link
        self._plan = plan
        self._number = 0
        self._held: list[bytes] = []

    @property
    def sent_bytes(self) -> int:
        """What the inner link has accepted."""
        return self._link.sent_bytes

    def queue(self, pieces: Sequence[Buffer]) -> None:
        """Add one frame, as the plan will have it."""
        frame = b"".join(bytes(piece) for piece in pieces)
        number, self._number = self._number, self._number + 1
        held, self._held = self._held, []
        fault = self._plan.at.get(number, self._plan.every)
        if fault is None:
            self.pass_on(frame)
        else:
            fault.apply(self, number, frame)
        for late in held:
            self.pass_on(late)

    def send_frame(self, pieces: Sequence[bytes | memoryview], size: int) -> bool:
        """Add one frame, as the plan will have it, and send on the inner link."""
        del size
        self.queue(pieces)
        return self.pump_send()

    def pass_on(self, frame: bytes) -> None:
        """Hand bytes to the inner link."""
        self._link.queue([frame])

    def hold(self, frame: bytes) -> None:
        """Keep a frame until after the next one."""
        self._held.append(frame)

    def pump_send(self) -> bool:
        """Send on the inner link."""
        return self._link.pump_send()

    def pump_receive(self, into: memoryview, enough: int = 0) -> int:
        """Receive from the inner link."""
        return self._link.pump_receive(into, enough)

    def has_unread(self) -> bool:
        """Ask the inner link."""
        return self._link.has_unread()

    def end_sending(self) -> None:
        """Half-close the inner link."""
        self._link.end_sending()

    def close(self) -> None:
        """Close the inner link."""
        self._link.close()

    def fileno(self) -> int:
        """The inner link's descriptor."""
        return self._link.fileno()


def faulty_links(plans: Mapping[str, FaultPlan]) -> Callable[[str, Link], Link]:
    """Return a ``wrap`` for the mesh builders: the link to each peer in ``plans`` gets that plan."""

    def wrap(peer: str, link: Link) -> Link:
        return FaultyLink(link, plans[peer]) if peer in plans else link

    return wrap
