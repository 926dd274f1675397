"""How a party waits for lines: woken when a connection goes or comes; and what TLS keeps back from a poll."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from cofit.transport import Mesh
from cofit.transport.line_waiter import LineWaiter
from cofit.transport.records import BYTES, RECORD
from cofit.transport.tls import PollWaiter, Question
from unit.transport.cluster import results
from unit.transport.wires import wires

LONG = 20.0


class Wire:
    """As much of a line as a waiter looks at."""

    def __init__(self, end: socket.socket) -> None:
        self.fileno = end.fileno
        self.connected = True
        self.reading = False

    def events(self, *, receiving: bool, sending: bool) -> int:
        raise AssertionError(f"nothing is sent, and no connection, no events: {receiving=}, {sending=}")


class Waiting:
    """A waiter for one line, whose far end says nothing unless told to."""

    def __init__(self, ours: socket.socket, theirs: socket.socket, spin: float) -> None:
        self.line, self.theirs = Wire(ours), theirs
        self.waiter = LineWaiter(spin, [self.line])  # type: ignore[list-item]

    def wait(self, seconds: float) -> float:
        """Wait, and return for how long."""
        start = time.monotonic()
        self.waiter.wait([self.line], [], seconds)  # type: ignore[list-item]
        return time.monotonic() - start

    @contextmanager
    def replaced(self) -> Iterator[None]:
        """The far end closes, and the line has another connection."""
        self.theirs.close()
        ours, self.theirs = socket.socketpair()
        self.line.fileno = ours.fileno
        with ours, self.theirs:
            yield

    def settle(self) -> None:
        """Take notice of what has changed."""
        for _ in range(3):
            if self.wait(0.05) >= 0.05:
                return
        raise AssertionError("it never sleeps: a bell that nobody stops")


@pytest.fixture(params=[0.0, 0.01])
def waiting(request: pytest.FixtureRequest) -> Iterator[Waiting]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        one = Waiting(ours, theirs, request.param)
        yield one
        one.waiter.close()


def test_a_change_ends_a_wait_and_the_next_one_sleeps_again(waiting: Waiting) -> None:
    waiting.settle()
    threading.Timer(0.1, waiting.waiter.change).start()
    assert waiting.wait(LONG) < LONG / 2
    waiting.settle()


def test_a_change_between_two_waits_is_not_lost(waiting: Waiting) -> None:
    waiting.settle()
    waiting.waiter.change()
    waiting.waiter.change()
    assert waiting.wait(LONG) < LONG / 2
    waiting.settle()
    waiting.theirs.send(b"!")
    assert waiting.wait(LONG) < LONG / 2


def test_an_old_connection_is_forgotten_with_the_change(waiting: Waiting) -> None:
    """Its descriptor tells for ever that the other end has gone."""
    waiting.settle()
    with waiting.replaced():
        waiting.waiter.change()
        waiting.settle()


def test_a_change_while_the_waiter_looks_at_the_lines_is_not_lost(
    waiting: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The descriptors that it is about to note are those of a connection that has gone."""
    waiting.settle()
    noted, fill = PollWaiter._ask_first, ExitStack()

    def overtaken(self: PollWaiter, key: object, *arguments: Any) -> Question | None:
        monkeypatch.undo()
        question = noted(self, key, *arguments)
        self._questions.clear()
        waiting.waiter.change()
        fill.enter_context(waiting.replaced())
        assert question is not None
        self._questions[key] = question
        return question

    waiting.waiter._questions.clear()
    monkeypatch.setattr(PollWaiter, "_ask_first", overtaken)
    with fill:
        assert waiting.wait(LONG) < LONG / 2
        waiting.settle()


def test_a_ring_that_comes_late_is_heard_once(waiting: Waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    """The waiter has forgotten its questions, looked at the lines, and sleeps, before the ring of that change comes."""
    waiting.settle()
    ring = waiting.waiter._alarm.ring

    def late() -> None:
        waiting.settle()
        ring()

    monkeypatch.setattr(waiting.waiter._alarm, "ring", late)
    waiting.waiter.change()
    waiting.settle()


def test_a_line_without_a_connection_is_waited_for(waiting: Waiting) -> None:
    waiting.settle()
    waiting.line.fileno = lambda: -1
    waiting.line.connected = False
    waiting.waiter.change()
    waiting.settle()
    threading.Timer(0.1, waiting.waiter.change).start()
    assert waiting.wait(LONG) < LONG / 2


def swap(mesh: Mesh) -> None:
    mesh.exchange("swap", dict.fromkeys(mesh.peers, b"!"), {other: bytearray(1) for other in mesh.peers})


@pytest.mark.parametrize("size", [0, 8, 5000, 20_000])
def test_messages_that_come_in_one_record_of_tls_are_found_though_no_poll_reports_them(size: int) -> None:
    """Another program may join what it sends as it likes."""

    def program(mesh: Mesh) -> list[bytes]:
        got = [bytearray(size) for _ in range(6)]
        swap(mesh)  # then the keeper has the keys, and reads nothing for a while
        if mesh.name == "P0":
            line = mesh._channels["P1"].link
            with line.lock:  # type: ignore[attr-defined]
                link, joined = line._passage.link, bytearray()  # type: ignore[attr-defined]
                line._passage.link = Joining(link, joined)  # type: ignore[attr-defined]
                for number in range(6):
                    mesh.exchange("x", {"P1": bytes([number]) * size}, {})
                line._passage.link = link  # type: ignore[attr-defined]
                assert RECORD.unpack_from(joined)[0] == BYTES
                assert link.send_frame((bytes(joined),), len(joined))
        else:
            for number, target in enumerate(got):
                assert not number or mesh._channels["P0"].link.has_unread(), "no poll can tell"
                mesh.exchange("x", {}, {"P0": target})
        swap(mesh)
        return [bytes(target) for target in got]

    with wires(("P0", "P1")) as pair:
        found = results(pair.run(program, timeout=30.0))
    assert found["P1"] == [bytes([number]) * size for number in range(6)]


class Joining:
    """Takes frames, and keeps them for one record of TLS."""

    def __init__(self, link: object, joined: bytearray) -> None:
        self._link, self._joined = link, joined

    def send_frame(self, pieces: tuple[bytes, ...], size: int) -> bool:
        self._joined += b"".join(pieces)
        return True
