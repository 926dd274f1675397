"""Two ends of one line in this thread, over links that are cut and replaced by hand."""

from __future__ import annotations

from dataclasses import replace

from cofit.transport.frames import LINE_VERSION
from cofit.transport.line import Line
from cofit.transport.link import Link
from cofit.transport.memory import Bell, memory_link_pair
from unit.transport.cluster import TERMS

TERMS_OF_LINES = replace(TERMS, version=LINE_VERSION)


class Two:
    """The dialler ``a`` and the acceptor ``b``."""

    def __init__(self) -> None:
        self.links = memory_link_pair(Bell(), Bell())
        self.a = Line(self.links[0], "P1", "P0", TERMS_OF_LINES, dials=True)
        self.b = Line(self.links[1], "P0", "P1", TERMS_OF_LINES, dials=False)
        for line in (self.a, self.b):
            assert line.pump_receive(memoryview(bytearray(1))) == 0  # the keys
            assert line.ticket is not None

    def cut(self) -> None:
        """Both ends lose the connection; what is on the way is lost."""
        for link in self.links:
            link.close()
        for line in (self.a, self.b):
            line.hang_up()
            assert not line.connected

    def resume(self) -> None:
        """The three messages, without the bytes of them."""
        assert self.a.ticket is not None
        generation, position = self.a.leave()
        request, _ = self.a.ticket.request(generation, position)
        theirs = self.b.let_in(request)
        assert theirs is not None
        self.links = memory_link_pair(Bell(), Bell())
        assert self.a.resume(self.links[0], generation, theirs)
        assert self.b.resume(self.links[1], generation, position)


def say(link: Link, frame: bytes) -> None:
    """Send one frame, as far as it goes."""
    link.send_frame((frame,), len(frame))


def receive(line: Line, most: int = 1 << 22) -> bytes:
    """Receive what is there."""
    content = bytearray()
    while got := line.pump_receive(view := memoryview(bytearray(most))):
        content += view[:got]
    return bytes(content)
