"""What was not acknowledged: the same bytes again, and no more of them than allowed."""

from __future__ import annotations

import random

import pytest

from cofit.transport.outgoing import MOST_HELD_BYTES, Outgoing
from cofit.transport.records import MOST_RECORD_BYTES, FaultyRecordError


def sent(out: Outgoing) -> bytes:
    """Hand over everything that waits, and return it."""
    content = b""
    while out.handed != out.end:
        position, parts = out.hand_over()
        assert position + sum(map(len, parts)) == out.handed
        content += b"".join(parts)
    return content


def test_after_a_break_the_same_bytes_come_again_from_any_possible_position() -> None:
    rng = random.Random(1)
    stream = rng.randbytes(3 * MOST_RECORD_BYTES + 17)
    for position in (0, 1, 99, 100, 101, MOST_RECORD_BYTES, MOST_RECORD_BYTES + 100, len(stream) - 1, len(stream)):
        out = Outgoing()
        out.add_handed(b"header" + stream[:100], 100)
        out.add(stream[100:])
        assert sent(out) == stream[100:]
        for _ in range(2):  # a second break too
            out.rewind(position)
            assert out.held == len(stream) - position
            assert sent(out) == stream[position:]


def test_what_was_acknowledged_is_freed() -> None:
    out = Outgoing()
    for number in range(10):
        out.add_handed(bytes([number]) * 10, 10)
    out.acknowledge(55)
    assert (out.acknowledged, out.held) == (55, 45)
    assert len(list(out)) == 5  # the piece in which the position lies is kept whole
    out.acknowledge(20)  # an older word
    assert out.acknowledged == 55
    out.rewind(55)
    assert sent(out) == b"\5" * 5 + b"\6" * 10 + b"\7" * 10 + b"\x08" * 10 + b"\x09" * 10


@pytest.mark.parametrize("position", [49, 101])
def test_a_position_that_cannot_be_is_refused(position: int) -> None:
    out = Outgoing()
    out.add_handed(bytes(100), 100)
    out.add(bytes(50))
    out.acknowledge(50)
    with pytest.raises(FaultyRecordError):
        out.rewind(position)
    with pytest.raises(FaultyRecordError):
        out.acknowledge(101)


def test_a_buffer_may_change_once_it_is_owned() -> None:
    """Else a break would send bytes of a later value in the place of an earlier one."""
    out = Outgoing()
    buffer = bytearray(b"first" * 1000)
    out.add(b"head")
    out.add(buffer)
    assert sent(out) == b"head" + b"first" * 1000
    out.own()
    buffer[:] = b"later" * 1000
    out.rewind(2)
    assert sent(out) == b"ad" + b"first" * 1000


def test_it_is_full_by_bytes_and_by_messages() -> None:
    large, many = Outgoing(), Outgoing()
    large.add(bytes(MOST_HELD_BYTES))
    sent(large)
    assert not large.full
    assert not large.add_handed(b"!", 1)
    assert large.full
    for _ in range(1 << 16):
        assert many.add_handed(b"x", 1) and not many.full
    assert not many.add_handed(b"x", 1) and many.full
    many.acknowledge(2)
    assert not many.full
