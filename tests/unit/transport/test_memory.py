"""Links in memory: a bell rings once for what it announces, and a pipe that is full wakes its writer."""

from __future__ import annotations

import time

from cofit.transport.memory import PIPE_BYTES, Bell, memory_link_pair

LONG, SHORT = 20.0, 0.05


def waited(bell: Bell, seconds: float) -> float:
    start = time.monotonic()
    bell.wait((), (), seconds)
    return time.monotonic() - start


def test_a_ring_is_kept_for_the_next_wait_and_for_that_one_alone() -> None:
    bell = Bell()
    bell.ring()
    bell.ring()
    assert waited(bell, LONG) < LONG / 2
    assert waited(bell, SHORT) >= SHORT / 2
    assert waited(bell, -1.0) < LONG / 2


def test_who_reads_from_a_full_pipe_wakes_its_writer_and_no_other_reader_does() -> None:
    writer, reader = Bell(), Bell()
    sending, receiving = memory_link_pair(writer, reader)
    into = memoryview(bytearray(PIPE_BYTES))
    assert sending.send_frame((b"sh", b"ort"), 5)
    assert waited(reader, LONG) < LONG / 2
    assert receiving.pump_receive(into) == 5
    assert waited(writer, SHORT) >= SHORT / 2, "it had room, and waits for messages alone"
    assert not sending.send_frame((bytes(PIPE_BYTES + 1),), PIPE_BYTES + 1)
    assert receiving.pump_receive(into[:1]) == 1
    assert waited(writer, LONG) < LONG / 2
    assert sending.pump_send()
