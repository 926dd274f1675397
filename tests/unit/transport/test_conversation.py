"""Requests and answers, over memory and with a live reception."""

from __future__ import annotations

import pickle
import resource
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from cofit.errors import (
    FrameError,
    InvalidInputError,
    OversizedFrameError,
    PeerClosedError,
    PeerSilentError,
    SequenceError,
    StudyMismatchError,
    TransportError,
)
from cofit.transport import MAX_PAYLOAD_BYTES, Conversation, RequestRefusedError
from cofit.transport.conversation import PIECE_BYTES
from cofit.transport.frames import Kind, control_frame
from cofit.transport.link import Link
from cofit.transport.memory import Bell, memory_link_pair
from unit.transport.cluster import TERMS, results, run_all
from unit.transport.desk import ask, message, receiving

pytestmark = pytest.mark.timeout(60)


def pair(timeout: float = 2.0) -> tuple[Conversation, Conversation, Link]:
    """Two ends over memory, greeted, and the first one's link."""
    bells = Bell(), Bell()
    links = memory_link_pair(*bells)
    terms = replace(TERMS, session=bytes(16))
    return (
        Conversation(links[0], "owner-a", "P0", terms, bells[0], timeout=timeout),
        Conversation(links[1], "P0", "owner-a", terms, bells[1], timeout=timeout),
        links[0],
    )


@pytest.mark.parametrize("size", [0, 1, 16_000, 16_384, PIECE_BYTES, MAX_PAYLOAD_BYTES])
def test_messages_of_every_size_go_there_and_back(size: int) -> None:
    payload = np.random.default_rng(1).integers(0, 256, size, np.uint8)
    with receiving() as reception, ask(reception) as conversation:
        for step in range(3):
            header, content = conversation.request({"kind": "x", "step": step, "ä": [None, True, 1.5]}, payload)
            assert header == {"kind": "x", "step": step, "ä": [None, True, 1.5]}
            assert content == payload.tobytes()


def test_typed_arrays_are_bytes_and_no_payload_is_an_empty_one() -> None:
    first, second, _ = pair()
    first.send({"a": 1}, np.arange(3, dtype=np.uint64))
    first.send({"a": 2})
    assert second.receive() == ({"a": 1}, bytearray(np.arange(3, dtype=np.uint64)))
    assert second.receive() == ({"a": 2}, bytearray())


def test_a_payload_is_received_into_a_buffer_streamed_or_dropped() -> None:
    first, second, _ = pair()
    for number in range(4):
        first.send({"n": number}, np.full(1000, number, np.uint8))
    into = np.zeros(125, np.uint64)
    assert second.receive_header() == ({"n": 0}, 1000)
    second.receive_payload(into)
    assert not into.any()
    assert second.receive_header() == ({"n": 1}, 1000)
    assert second.receive_header() == ({"n": 2}, 1000)
    pieces: list[bytes] = []
    second.stream_payload(lambda piece: pieces.append(bytes(piece)))
    second.stream_payload(lambda piece: pieces.append(bytes(piece)))
    assert pieces == [b"\x02" * 1000]
    assert second.receive() == ({"n": 3}, bytearray(b"\x03" * 1000))


@pytest.mark.parametrize("buffer", [bytearray(999), bytearray(1001), bytes(1000)])
def test_a_buffer_that_does_not_fit_is_a_mistake_and_the_payload_still_there(buffer: bytes | bytearray) -> None:
    first, second, _ = pair()
    first.send({}, bytes(1000))
    second.receive_header()
    with pytest.raises(InvalidInputError, match="'into' parameter"):
        second.receive_payload(buffer)
    second.receive_payload(bytearray(1000))


def test_a_long_upload_needs_no_memory() -> None:
    """400 MB in messages of 4 MiB, received in pieces of at most 1 MiB."""
    chunk = np.random.default_rng(1).integers(0, 256, MAX_PAYLOAD_BYTES, np.uint8)
    largest = total = 0

    def sink(piece: memoryview) -> None:
        nonlocal largest, total
        largest = max(largest, len(piece))
        total += len(piece)

    def take(conversation: Conversation) -> None:
        while True:
            conversation.receive_header()
            conversation.stream_payload(sink)
            conversation.send({"total": total})

    with receiving(take) as reception, ask(reception) as conversation:
        conversation.request({}, chunk)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(99):
            answer, _ = conversation.request({}, chunk)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert answer == {"total": 100 * MAX_PAYLOAD_BYTES}
    assert largest == PIECE_BYTES
    assert grown < 8 << 10, "KiB"


def test_the_limit_is_the_callers() -> None:
    first, second, _ = pair()
    first.send({}, bytes(10))
    assert second.receive(10)[1] == bytes(10)
    first.send({}, bytes(11))
    with pytest.raises(OversizedFrameError, match="Nothing was allocated"):
        second.receive(10)
    with pytest.raises(OversizedFrameError):
        second.receive()
    with pytest.raises(InvalidInputError, match="'limit' parameter"):
        second.receive(MAX_PAYLOAD_BYTES + 1)


def test_an_oversized_payload_is_not_sent_and_the_conversation_goes_on() -> None:
    first, second, _ = pair()
    with pytest.raises(InvalidInputError, match="'payload' parameter"):
        first.send({}, bytes(MAX_PAYLOAD_BYTES + 1))
    with pytest.raises(InvalidInputError, match="'header' parameter"):
        first.send({"a": float("inf")})
    first.send({"fine": True})
    assert second.receive()[0] == {"fine": True}


def test_an_error_answer_is_raised_with_its_kind_and_printable_text() -> None:
    def refuse(conversation: Conversation) -> None:
        conversation.receive()
        conversation.send_error("sealed", "too late\x1b[2J")
        conversation.receive()
        conversation.send({"error": "odd"})

    with receiving(refuse) as reception, ask(reception) as conversation:
        with pytest.raises(RequestRefusedError, match=r"'P0' refused the request: too late\?\[2J") as caught:
            conversation.request({"kind": "upload.commit"})
        assert (caught.value.peer, caught.value.kind, caught.value.text) == ("P0", "sealed", "too late?[2J")
        again = pickle.loads(pickle.dumps(caught.value))
        assert (str(again), again.kind) == (str(caught.value), "sealed")
        with pytest.raises(FrameError):
            conversation.request({})


def test_a_receiver_does_not_wait_for_ever_and_the_handler_may_be_given_more_time() -> None:
    def slow(conversation: Conversation) -> None:
        conversation.receive()
        time.sleep(0.5)
        conversation.send({})
        conversation.receive()
        conversation.receive()

    with receiving(slow) as reception, ask(reception, timeout=0.3) as conversation:
        conversation.request({}, timeout=3.0)
        start = time.monotonic()
        with pytest.raises(PeerSilentError) as caught:
            conversation.request({})
        assert caught.value.peer == "P0"
        assert 0.25 < time.monotonic() - start < 2.0


def test_a_sender_does_not_wait_for_ever() -> None:
    first, _, _ = pair(timeout=0.3)
    with pytest.raises(PeerSilentError, match="take"):
        for _ in range(50):
            first.send({}, bytes(MAX_PAYLOAD_BYTES))
    with pytest.raises(PeerSilentError):
        first.send({})


def broken(frame: bytes, at: int, value: int) -> bytes:
    return frame[:at] + bytes([value]) + frame[at + 1 :]


FRAME = message(b'{"a":1}')
TAG = FRAME[12:20]
BROKEN: dict[str, tuple[bytes, type[TransportError]]] = {
    "magic": (broken(FRAME, 0, 0), FrameError),
    "version": (broken(FRAME, 5, 9), TransportError),
    "reserved": (broken(FRAME, 7, 1), FrameError),
    "DATA": (broken(FRAME, 6, Kind.DATA), FrameError),
    "HELLO": (broken(FRAME, 6, Kind.HELLO), FrameError),
    "ABORT": (control_frame(Kind.ABORT, 1, TAG, 1, b"\x01Pwhy"), FrameError),
    "unknown kind": (broken(FRAME, 6, 99), FrameError),
    "channel": (broken(FRAME, 12, FRAME[12] ^ 1), FrameError),
    "sequence": (message(b"{}", turn=2), SequenceError),
    "shorter than its header": (broken(FRAME, 35, 6), FrameError),
    "a huge payload": (broken(FRAME, 28, 0x7F), OversizedFrameError),
    "a huge header": (broken(FRAME, 8, 0x7F), OversizedFrameError),
    "a header of 64 KiB and one byte": (message(b" " * 65_537), OversizedFrameError),
    "no header": (message(b""), FrameError),
    "an array": (message(b"[]"), FrameError),
    "duplicate keys": (message(b'{"a":1,"a":2}'), FrameError),
    "NaN": (message(b'{"a":NaN}'), FrameError),
    "a refusal": (control_frame(Kind.REFUSE, 1, bytes(8), 1, b"\x03"), StudyMismatchError),
    "a refusal with a tag": (control_frame(Kind.REFUSE, 1, TAG, 1, b"\x03"), FrameError),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_message_is_a_typed_error_that_names_the_peer(what: str) -> None:
    frame, expected = BROKEN[what]
    _, second, link = pair()
    link.queue([frame])
    link.pump_send()
    with pytest.raises(expected) as caught:
        second.receive()
    assert caught.value.peer == "owner-a"
    with pytest.raises(type(caught.value)):
        second.receive()
    second.send_error("frame", "the other direction still works")


def test_a_repeated_message_is_refused() -> None:
    _, second, link = pair()
    link.queue([message(b"{}")])
    link.queue([message(b"{}")])
    link.pump_send()
    second.receive()
    with pytest.raises(SequenceError):
        second.receive()


@pytest.mark.parametrize("sent", [0, 10, 40, 60])
def test_a_peer_that_closes_is_named(sent: int) -> None:
    _, second, link = pair()
    if sent:
        link.queue([message(b'{"a":1}', bytes(100))[:sent]])
        link.pump_send()
    link.close()
    with pytest.raises(PeerClosedError, match="within" if sent else "between"):
        second.receive()


@pytest.mark.parametrize("pause", [0.0, 1.0])
def test_who_is_refused_before_or_while_sending_learns_why(pause: float) -> None:
    """The server answers and closes without reading the request, as when it is busy; it waits half a second."""

    def refuse(conversation: Conversation) -> None:
        conversation.send_error("busy", "later")

    with receiving(refuse) as reception, ask(reception) as conversation:
        time.sleep(pause)
        with pytest.raises(RequestRefusedError, match="refused the request: later"):
            conversation.request({}, bytes(MAX_PAYLOAD_BYTES))


def test_another_thread_may_interrupt() -> None:
    first, _, _ = pair(timeout=30.0)

    def interrupt() -> None:
        time.sleep(0.1)
        first.interrupt()

    def wait() -> None:
        with pytest.raises(PeerClosedError, match="ended at this end"):
            first.receive()

    jobs: dict[str, Callable[[], None]] = {"wait": wait, "interrupt": interrupt}
    results(run_all(jobs, limit=3.0))


def test_a_closed_conversation_says_so() -> None:
    first, second, _ = pair()
    assert repr(first) == "Conversation('owner-a' with 'P0', open)"
    first.close()
    first.close()
    assert "closed" in repr(first)
    for use in (lambda: first.send({}), first.receive):
        with pytest.raises(InvalidInputError, match="closed"):
            use()
    second.close()
    with pytest.raises(InvalidInputError, match="'timeout' parameter"):
        pair(timeout=0.0)
