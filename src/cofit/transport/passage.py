"""The connection that a line has at the moment, or none: whole records go in, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cofit.transport.link import Link, LinkClosedError, LinkRefusedError, LinkTamperedError

BROKEN = (LinkClosedError, LinkRefusedError, LinkTamperedError)
"""What a connection raises that is of no more use."""
_JOINED_BYTES = 1 << 14
"""Up to here the parts of a record travel with its header, in one record of TLS."""


class Passage:
    """``link`` is the connection; ``pending`` says whether it has bytes left to send.

    No method raises what is wrong with the connection: ``lost`` is called instead, and must let it go (``drop``).
    """

    def __init__(self, link: Link, lost: Callable[[], None]) -> None:
        self.link: Link | None = link
        self.pending = False
        self._lost = lost

    @property
    def free(self) -> bool:
        """Whether there is a connection that takes a record now."""
        return self.link is not None and not self.pending

    def say(self, record: bytes, parts: Sequence[bytes | memoryview] = ()) -> None:
        """Give one record to the connection, which has nothing left to send."""
        link = self.link
        if link is None:
            return
        try:
            if not parts:
                self.pending = not link.send_frame((record,), len(record))
            else:
                small = 0
                while small < len(parts) and len(record) + len(parts[small]) <= _JOINED_BYTES:
                    record += parts[small]
                    small += 1
                link.queue((record, *parts[small:]))
                self.pending = not link.pump_send()
        except BROKEN:
            self._lost()

    def pump(self) -> None:
        """Go on with what it has left to send."""
        if self.pending and self.link is not None:
            try:
                self.pending = not self.link.pump_send()
            except BROKEN:
                self._lost()

    def take(self, link: Link) -> None:
        """Go on with this connection, which is new."""
        self.link = link
        self.pending = False

    def drop(self) -> bool:
        """Close the connection; False where there was none."""
        link, self.link = self.link, None
        self.pending = False
        if link is not None:
            link.close()
        return link is not None
