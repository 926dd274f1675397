"""What a line holds is bounded, and nobody waits for ever because of that."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cofit.transport.incoming import MOST_AHEAD_BYTES
from cofit.transport.line import Line
from cofit.transport.memory import Bell, MemoryLink, Pipe
from cofit.transport.outgoing import MOST_HELD_BYTES
from cofit.transport.records import MOST_RECORD_BYTES
from unit.transport.two_lines import TERMS_OF_LINES, Two, receive


def exchange_blocked(sender: Line, reader: Line, size: int) -> int:
    """Send so much to one that takes notice but whose program asks for nothing; return when it goes no further."""
    sender.queue((bytes(size),))
    for _ in range(4 * size // (1 << 20)):
        if sender.pump_send():
            break
        reader._read_ahead()
    return sender._out.held


def test_memory_is_bounded_and_nothing_is_stuck() -> None:
    two = Two()
    size = MOST_HELD_BYTES + MOST_AHEAD_BYTES + (4 << 20)
    held = exchange_blocked(two.a, two.b, size)
    assert MOST_HELD_BYTES < held < MOST_HELD_BYTES + (8 << 20)
    assert two.b._in.ahead_bytes < MOST_AHEAD_BYTES + (2 << 20)
    assert not two.a.pump_send()
    got = 0
    while got < size:
        got += len(receive(two.b, 1 << 20))
        two.a.pump_send()
    assert two.a.pump_send() and not two.b._in.ahead_bytes


class Sink(MemoryLink):
    """Takes everything, and answers nothing."""

    def send_frame(self, pieces: Sequence[bytes | memoryview], size: int) -> bool:
        assert sum(map(len, pieces)) == size
        return True


@pytest.mark.parametrize(("size", "most"), [(MOST_RECORD_BYTES, MOST_HELD_BYTES // MOST_RECORD_BYTES), (1, 1 << 16)])
def test_a_message_counts_as_sent_only_while_little_enough_is_unacknowledged(size: int, most: int) -> None:
    """By bytes, and by messages, however readily the connection takes them."""
    ends = Bell(), Bell()
    line = Line(Sink(Pipe(*ends), Pipe(*ends)), "P1", "P0", TERMS_OF_LINES, dials=True)
    frame = bytes(size)
    assert all(line.send_frame((frame,), size) for _ in range(most))
    assert not line.send_frame((frame,), size)
    assert not line.pump_send()


def test_two_that_only_send_at_once_do_not_wait_for_each_other() -> None:
    two = Two()
    size = MOST_AHEAD_BYTES - (2 << 20)  # thirty times what the pipes hold
    for line in (two.a, two.b):
        line.queue((bytes(size),))
    got = {two.a: 0, two.b: 0}
    for _ in range(300):
        for line in (two.a, two.b):
            if line.pump_send():  # only who has sent everything comes to receive
                got[line] += len(receive(line))
    assert list(got.values()) == [size, size]
