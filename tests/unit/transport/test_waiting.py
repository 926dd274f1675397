"""How a party waits for messages: it asks again and again, unless others keep the core meanwhile."""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Iterator

import pytest

from cofit.transport import tls
from cofit.transport.tls import PollWaiter


class Bare:
    """As much of a link as a waiter looks at."""

    def __init__(self, end: socket.socket) -> None:
        self.fileno = end.fileno


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


class Turns:
    """Counts how often the core was given away; each time others keep it for ``seconds``."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.count = 0

    def __call__(self) -> None:
        self.count += 1
        time.sleep(self.seconds)


def wait(waiter: PollWaiter, *ends: socket.socket, seconds: float = 0.001) -> object:
    return waiter.wait([Bare(end) for end in ends], [], seconds)  # type: ignore[misc]


def test_waits_are_asleep_while_others_keep_the_core(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = Turns(0.002)
    monkeypatch.setattr(tls, "_yield", turns)
    waiter, link = PollWaiter(0.05), [Bare(ends[0])]
    asked = []
    for _ in range(120):
        waiter.wait(link, [], 0.0001)  # type: ignore[arg-type]
        asked.append(turns.count)
    assert asked[0] == 1, "it gave its turn away once, and found out"
    assert asked[32] == 1
    assert asked[33] == 2, "after 32 waits asleep it tries again"
    assert asked[97] == 2, "and then sleeps 64 times"
    assert asked[98] == 3


def test_a_party_asks_for_as_long_as_others_are_brief(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = Turns(0.0)
    clock = itertools.count()  # of microseconds, one at every look, whatever else this machine does
    monkeypatch.setattr(tls, "_yield", turns)
    monkeypatch.setattr(tls, "_now", lambda: next(clock) * 1e-6)
    waiter, link = PollWaiter(100e-6), [Bare(ends[0])]
    for expected in (100, 200):
        waiter.wait(link, [], 0.001)  # type: ignore[arg-type]
        assert turns.count == pytest.approx(expected, abs=2)


@pytest.mark.parametrize("spin", [0.0, 0.01])
def test_news_is_found_however_the_party_waits(ends: tuple[socket.socket, socket.socket], spin: float) -> None:
    ours, theirs = ends
    waiter = PollWaiter(spin)
    start = time.monotonic()
    wait(waiter, ours, seconds=0.05)
    assert time.monotonic() - start >= 0.05
    theirs.send(b"!")
    for _ in range(3):
        start = time.monotonic()
        wait(waiter, ours, seconds=20.0)
        assert time.monotonic() - start < 10


def test_of_several_links_those_with_news_are_named(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    silent, other = socket.socketpair()
    with silent, other:
        theirs.send(b"!")
        assert wait(PollWaiter(), ours, silent, seconds=20.0) == [ours.fileno()]
        assert wait(PollWaiter(), silent, other, seconds=0.01) == []
