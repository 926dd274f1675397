"""One byte stream to one peer, without blocking: what every mesh is built on.

A link knows nothing of frames except that each call of ``queue`` hands over a whole one.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing_extensions import Buffer


class LinkClosedError(Exception):
    """The stream ended or broke: closed, reset, or the process at the other end died."""


class LinkTamperedError(Exception):
    """The stream failed its integrity check (a TLS record that does not authenticate)."""


class LinkFaultyError(LinkTamperedError):
    """The peer broke the rules of the stream itself; the text says how."""


class LinkRefusedError(Exception):
    """The peer rejected our certificate."""


class Link(Protocol):
    """A stream of bytes to one peer. No method blocks; each may raise the errors above."""

    @property
    def sent_bytes(self) -> int:
        """How many bytes the stream has accepted so far."""

    def queue(self, pieces: Sequence[Buffer]) -> None:
        """Add one whole frame to what is to be sent. The pieces must not change until they are sent."""

    def send_frame(self, pieces: Sequence[bytes | memoryview], size: int) -> bool:
        """As ``queue`` and ``pump_send`` together, of ``size`` bytes in all, for the many frames that go at once."""

    def pump_send(self) -> bool:
        """Send what the stream accepts now; True when everything queued is handed over."""

    def pump_receive(self, into: memoryview, enough: int = 0) -> int:
        """Receive what is there, at most to the end of ``into``; 0 when nothing is there yet.

        It need not look for more than ``enough`` bytes, where that is not 0.
        """

    def has_unread(self) -> bool:
        """Whether something may be receivable that no waiter would report, because it already came in."""

    def end_sending(self) -> None:
        """Tell the peer that nothing more will come. What still comes in can be received, to be dropped."""

    def close(self) -> None:
        """Release the stream. Closing twice is fine."""

    def fileno(self) -> int:
        """The descriptor to poll, or -1 where there is none."""


class Waiter(Protocol):
    """Sleeps until one of several links can go on."""

    def wait(self, receiving: Sequence[Link], sending: Sequence[Link], seconds: float) -> Container[int] | None:
        """Return when a link may have news, or after ``seconds``. It may return early for no reason.

        Returns the descriptors that have news; None if any of the links may have some.
        """


Wrap = Callable[[str, Link], Link]
"""Called with a peer's name and the link to it; returns the link to use instead."""
