"""How a party waits for lines: woken when a connection goes or comes; and what TLS keeps back from a poll."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

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
        raise NotImplementedError


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


def test_a_change_while_the_waiter_looks_at_the_lines_is_not_lost(
    waiting: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The descriptors that it has just asked for are those of a connection that has gone."""
    waiting.settle()
    ask_first = PollWaiter._ask_first

    def interrupted(self: PollWaiter, *arguments: object) -> Question | None:
        question: Question | None = ask_first(self, *arguments)  # type: ignore[arg-type]
        monkeypatch.undo()
        self._questions.clear()  # as the keeper does, a moment too soon
        self._questions[waiting.line] = question  # type: ignore[assignment]
        waiting.waiter._changed = True
        waiting.waiter._alarm.ring()
        return question

    waiting.waiter._questions.clear()
    monkeypatch.setattr(PollWaiter, "_ask_first", interrupted)
    assert waiting.wait(LONG) < LONG / 2
    assert waiting.line not in waiting.waiter._questions
    waiting.settle()


def test_a_line_without_a_connection_is_waited_for(waiting: Waiting) -> None:
    waiting.settle()
    waiting.line.fileno = lambda: -1
    waiting.line.connected = False
    waiting.waiter.change()
    waiting.settle()
    threading.Timer(0.1, waiting.waiter.change).start()
    assert waiting.wait(LONG) < LONG / 2


@pytest.mark.parametrize("size", [8, 5000])
def test_messages_that_come_in_one_record_of_tls_are_found_though_no_poll_reports_them(size: int) -> None:
    """Another program may join what it sends as it likes."""

    def program(mesh: Mesh) -> list[bytes]:
        got = [bytearray(size) for _ in range(3)]
        if mesh.name == "P0":
            line = mesh._channels["P1"].link
            with line.lock:  # type: ignore[attr-defined]
                link, joined = line._passage.link, bytearray()  # type: ignore[attr-defined]
                line._passage.link = Joining(link, joined)  # type: ignore[attr-defined]
                for number in range(3):
                    mesh.exchange("x", {"P1": bytes([number]) * size}, {})
                line._passage.link = link  # type: ignore[attr-defined]
                assert RECORD.unpack_from(joined)[0] == BYTES
                assert link.send_frame((bytes(joined),), len(joined))
        else:
            for target in got:
                start = time.monotonic()
                mesh.exchange("x", {}, {"P0": target})
                assert time.monotonic() - start < 5, "it waited for a poll that could not tell"
        mesh.exchange("end", dict.fromkeys(mesh.peers, b"!"), {other: bytearray(1) for other in mesh.peers})
        return [bytes(target) for target in got]

    with wires(("P0", "P1")) as pair:
        found = results(pair.run(program, timeout=30.0))
    assert found["P1"] == [bytes([number]) * size for number in range(3)]


class Joining:
    """Takes frames, and keeps them for one record of TLS."""

    def __init__(self, link: object, joined: bytearray) -> None:
        self._link, self._joined = link, joined

    def send_frame(self, pieces: tuple[bytes, ...], size: int) -> bool:
        self._joined += b"".join(pieces)
        return True
