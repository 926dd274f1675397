"""One line between two ends in this thread, over links that are cut and replaced by hand."""

from __future__ import annotations

import random

import pytest

from cofit.transport.line import Line
from cofit.transport.link import LinkClosedError, LinkFaultyError
from cofit.transport.memory import Bell, memory_link_pair
from cofit.transport.records import BEAT, BYTES, MOST_RECORD_BYTES, RECORD
from cofit.transport.resume import NotResumedError
from support.line_vectors import bad_lines
from unit.transport.two_lines import TERMS_OF_LINES, Two, receive, say


def test_a_stream_over_many_connections_is_the_stream() -> None:
    two, rng = Two(), random.Random(3)
    streams = {two.a: bytearray(), two.b: bytearray()}
    heard = {two.a: bytearray(), two.b: bytearray()}
    for _ in range(300):
        for line in (two.a, two.b):
            frame = rng.randbytes(rng.choice((1, 50, 20_000, 300_000)))
            streams[line] += frame
            if rng.random() < 0.5:
                say(line, frame)
            else:
                line.queue((frame[:5], frame[5:]))
                line.pump_send()
        for line in (two.a, two.b):
            if rng.random() < 0.7:
                view = memoryview(bytearray(rng.choice((7, 10_000, 1 << 20))))
                heard[line] += view[: line.pump_receive(view)]
        if rng.random() < 0.15:
            two.cut()
            two.resume()
    for _ in range(2000):
        for line in (two.a, two.b):
            line.pump_send()
            heard[line] += receive(line)
        if sum(map(len, heard.values())) == sum(map(len, streams.values())):
            break
    assert heard[two.b] == streams[two.a]
    assert heard[two.a] == streams[two.b]
    assert two.a.breaks > 20


@pytest.mark.parametrize("connected", [True, False])
@pytest.mark.parametrize("size", [1, 5000, 300_000, MOST_RECORD_BYTES - 4, MOST_RECORD_BYTES + 1])
def test_a_message_may_change_once_it_is_sent(size: int, connected: bool) -> None:
    """What is sent again is what was sent, whatever its buffer holds by then: else two values would share a mask."""
    two = Two()
    if not connected:
        two.cut()
    buffer = bytearray(b"1" * size)
    sent = two.a.send_frame((b"head", memoryview(buffer)), 4 + size)
    if not connected:
        assert not sent, "who waits for it may not change it yet"
        two.resume()
    got = bytearray(receive(two.b)) if size > MOST_RECORD_BYTES else bytearray()  # more than the pipe holds
    while not two.a.pump_send():
        got += receive(two.b)
    buffer[:] = b"2" * size
    two.cut()
    two.resume()
    while not two.a.pump_send():
        got += receive(two.b)
    assert got + receive(two.b) == b"head" + b"1" * size


def test_bytes_below_the_own_position_are_ignored() -> None:
    two = Two()
    say(two.a, b"0123456789")
    assert receive(two.b) == b"0123456789"
    link = two.links[0]
    say(link, RECORD.pack(BYTES, 6, 2, 0) + b"abcdef")  # all of it is known
    say(link, RECORD.pack(BYTES, 6, 7, 0) + b"xyz+++")  # half of it
    say(link, RECORD.pack(BYTES, 1, 13, 0) + b"!")
    assert receive(two.b) == b"+++!"


@pytest.mark.parametrize(
    "record",
    [
        *(bytes.fromhex(bad["record"]) for bad in bad_lines()["records"]),
        RECORD.pack(BYTES, 1, 10, 99) + b"x",
        RECORD.pack(BYTES, MOST_RECORD_BYTES + 1, 10, 0) + b"x",
        RECORD.pack(0, 0, 0, 0),
    ],
)
def test_a_record_that_nobody_sends_ends_the_line(record: bytes) -> None:
    two = Two()
    say(two.a, b"0123456789")
    assert receive(two.b) == b"0123456789"
    say(two.links[0], record)
    with pytest.raises(LinkFaultyError):
        receive(two.b, 1)
    assert two.b.failed
    with pytest.raises(LinkClosedError):
        two.b.pump_send()


def test_an_old_connection_delivers_nothing_into_the_new_one() -> None:
    two = Two()
    old = two.links
    say(two.a, b"abc")  # it is in the old connection when both go on with another
    two.resume()
    with pytest.raises(LinkClosedError):  # it was let go: the far end of it has nobody to talk to
        say(old[0], RECORD.pack(BYTES, 3, 3, 0) + b"old")
    two.a.pump_send()
    assert receive(two.b) == b"abc"


def test_the_position_is_final_once_it_is_stated() -> None:
    """Bytes of the old connection after that would come twice."""
    two = Two()
    assert two.a.ticket is not None
    request, _ = two.a.ticket.request(1, 0)
    say(two.a, b"abc")
    assert two.b.let_in(request) == 0
    assert receive(two.b) == b"" and not two.b.connected


def test_an_older_attempt_and_a_repeated_one_are_refused() -> None:
    two = Two()
    assert two.a.ticket is not None
    late, _ = two.a.ticket.request(*two.a.leave())
    two.resume()
    used, _ = two.a.ticket.request(two.a.generation, 0)
    for request in (late, used):
        with pytest.raises(NotResumedError):
            two.b.let_in(request)
        assert two.b.connected


def test_a_position_that_was_never_acknowledged_or_sent_ends_the_line() -> None:
    two = Two()
    say(two.a, b"abc")
    generation, _ = two.a.leave()
    assert not two.a.resume(memory_link_pair(Bell(), Bell())[0], generation, 4)
    assert two.a.failed
    with pytest.raises(LinkFaultyError):
        two.a.pump_receive(memoryview(bytearray(1)))


def test_a_question_changes_nothing() -> None:
    two = Two()
    assert two.b.ticket is not None
    question, _ = two.b.ticket.request(0, 0)
    assert two.a.let_in(question) is None
    assert two.a.connected and two.a.generation == 0


def test_a_line_that_breaks_before_the_keys_have_come_is_over() -> None:
    first, second = memory_link_pair(Bell(), Bell())
    line = Line(first, "P1", "P0", TERMS_OF_LINES, dials=True)
    second.close()
    with pytest.raises(LinkClosedError):
        receive(line)
    assert line.failed


def test_what_came_before_the_end_is_read_first() -> None:
    """An abort that has arrived is heard, however the connection ends."""
    two = Two()
    say(two.a, b"abort!")
    two.links[0].close()
    two.b.hang_up()
    two.b.give_up()
    view = memoryview(bytearray(6))
    assert two.b.pump_receive(view) == 6
    assert bytes(view) == b"abort!"
    with pytest.raises(LinkClosedError):
        two.b.pump_receive(view)


def test_a_beat_is_as_old_as_the_news_that_it_passes_on() -> None:
    two = Two()
    before = two.b.news
    two.a.beat(1000.0, 0.0)
    two.b.listen(0.0)
    assert two.b.news == before
    two.a.beat(0.0, 0.0)
    two.b.listen(5.0)
    assert two.b.news > before and two.b.heard == 5.0
    assert RECORD.unpack_from(RECORD.pack(BEAT, 0, 1_000_000, 0))[2] == 1000 * 1000


def test_who_has_ended_stays_until_everything_has_arrived() -> None:
    two = Two()
    say(two.a, b"last words")
    assert not two.a.settle()
    two.cut()
    assert not two.a.settle()
    two.resume()
    assert not two.a.settle()
    assert receive(two.b) == b"last words"
    assert two.b.peer_ended
    assert not two.a.settle()  # everything has arrived; the other end has not said that it ends
    assert two.b.settle() and two.a.settle()


# --- what a broken or hostile far end does -------------------------------------------------------------------


def test_a_record_whose_rest_does_not_come_is_silence() -> None:
    """Half-open in the middle of a record: the connection must be given up like any other that is silent."""
    two = Two()
    say(two.links[0], RECORD.pack(BYTES, 100, 0, 0) + b"half of it")
    two.b.listen(3.0)
    assert two.b.heard == 3.0
    assert receive(two.b, 10) == b"half of it"
    for now in (4.0, 5.0, 6.0):
        two.b.listen(now)
        assert two.b.pump_receive(memoryview(bytearray(10))) == 0, "asking for more is no word of the peer"
    assert two.b.heard == 3.0
    say(two.links[0], b"more")
    two.b.listen(7.0)
    assert two.b.heard == 7.0 and receive(two.b, 10) == b"more"


def test_bytes_that_wait_for_the_program_hide_neither_silence_nor_beats() -> None:
    """A program that waits for somebody else does not read; the keeper must see all the same who lives."""
    two = Two()
    say(two.a, b"for later")
    two.b.listen(1.0)
    for now in (2.0, 3.0):
        two.b.listen(now)
    assert two.b.heard == 1.0, "nothing came since"
    before = two.b.news
    two.a.beat(0.0, 0.0)
    two.b.listen(4.0)
    assert two.b.heard == 4.0 and two.b.news > before
    assert receive(two.b) == b"for later"


def test_known_bytes_that_come_in_pieces_are_ignored_as_well() -> None:
    two = Two()
    say(two.a, b"0123456789")
    assert receive(two.b) == b"0123456789"
    say(two.links[0], RECORD.pack(BYTES, 12, 0, 0) + b"01234")
    assert receive(two.b, 3) == b""
    say(two.links[0], b"5678")
    assert receive(two.b, 3) == b""
    say(two.links[0], b"9+-")
    assert receive(two.b, 3) == b"+-"


def test_what_came_before_a_faulty_record_is_delivered() -> None:
    two = Two()
    say(two.links[0], RECORD.pack(BYTES, 3, 0, 0) + b"abc" + RECORD.pack(77, 0, 0, 0))
    view = memoryview(bytearray(6))
    assert two.b.pump_receive(view) == 3 and bytes(view[:3]) == b"abc"
    with pytest.raises(LinkFaultyError):
        two.b.pump_receive(view)


def test_a_flood_of_beats_holds_nobody_up_and_hides_nothing() -> None:
    changes = []
    two = Two()
    two.b.changed = lambda: changes.append(1)
    flood = 5 * 64
    say(two.links[0], RECORD.pack(BEAT, 0, 0, 0) * flood + RECORD.pack(BYTES, 3, 0, 0) + b"abc")
    calls = 0
    view = memoryview(bytearray(3))
    while not two.b.pump_receive(view):
        calls += 1
        assert len(changes) == calls, "who waits is told that there may be more"
    assert calls >= 4 and bytes(view) == b"abc"


def test_tiny_records_that_are_read_ahead_take_no_more_memory_than_others() -> None:
    two = Two()
    records = b"".join(RECORD.pack(BYTES, 1, at, 0) + b"x" for at in range(20_000))
    for begin in range(0, len(records), 25_000):
        say(two.links[0], records[begin : begin + 25_000])
        two.b._read_ahead()
    assert two.b._in.ahead_bytes == 20_000 and len(two.b._in._ahead) == 1
    assert receive(two.b, 777) == b"x" * 20_000 and not two.b._in.ahead_bytes


def test_after_a_resumption_a_beat_is_due_at_once() -> None:
    """The peer may have waited for almost as long as it does."""
    two = Two()
    two.cut()
    two.resume()
    assert all(line.said < 0 for line in (two.a, two.b))


def test_who_has_ended_stays_where_the_peer_may_still_wait_to_be_told_that_it_has_sent_everything() -> None:
    """Everything of ours has arrived, and the connection breaks: the peer must find us, to end as well."""
    two = Two()
    say(two.b, b"the last one")
    assert receive(two.a) == b"the last one"
    two.cut()
    assert not two.a.settle()
    two.resume()
    two.b.pump_send()
    assert not two.b.settle()
    assert two.a.settle() and two.b.settle()
