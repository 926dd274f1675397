"""What an authenticated participant can do in a conversation, or with bytes on the port: nothing to the others."""

from __future__ import annotations

import contextlib
import logging
import random
import resource
import socket
import ssl
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from cofit.errors import (
    FrameError,
    InvalidInputError,
    OversizedFrameError,
    PeerClosedError,
    PeerSilentError,
)
from cofit.transport import Conversation, Limits, Reception, RequestRefusedError
from cofit.transport.frames import HEADER, HEADER_BYTES, MAGIC, Kind, channel_tag
from cofit.transport.strict_json import decode_header
from unit.transport.cluster import TERMS, identity
from unit.transport.desk import (
    GENEROUS,
    after_greeting,
    answers,
    ask,
    hello,
    message,
    raw_context,
    raw_tls,
    read_all,
    receiving,
)

pytestmark = pytest.mark.timeout(120)
OWNER = "owner-a"


class Desk:
    """An echo service that remembers how its conversations ended."""

    def __init__(self) -> None:
        self.errors: list[BaseException] = []

    def __call__(self, conversation: Conversation) -> None:
        try:
            while True:
                conversation.send(*conversation.receive())
        except BaseException as error:
            self.errors.append(error)
            raise

    def last(self) -> BaseException:
        deadline = time.monotonic() + 5.0
        while not self.errors and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.errors.pop()


@contextmanager
def desk(timeout: float = 5.0, limits: Limits = GENEROUS) -> Iterator[tuple[Desk, Reception]]:
    handler = Desk()
    with receiving(handler, timeout=timeout, limits=limits) as reception:
        yield handler, reception


def answer_to(reception: Reception, sent: bytes) -> dict[str, object] | None:
    """Greet, send the bytes, and return the header of the answer, if there is one before the connection ends."""
    with raw_tls(reception, identity(OWNER)) as tls:
        tls.sendall(hello() + sent)
        raw = after_greeting(read_all(tls))
    if not raw:
        return None
    _, _, kind, _, header_size, _, _, _ = HEADER.unpack(raw[:HEADER_BYTES])
    assert kind == Kind.MESSAGE
    return decode_header(raw[HEADER_BYTES : HEADER_BYTES + header_size])


def announced(header_size: int, size: int) -> bytes:
    tag = channel_tag(bytes(16), TERMS.study, OWNER, "P0")
    return HEADER.pack(MAGIC, TERMS.version, Kind.MESSAGE, 0, header_size, tag, 1, size)


FRAME_ANSWER = {"error": {"kind": "frame", "message": "What you sent is no message that is due here."}}

ANNOUNCEMENTS = {
    "a header of 4 GB": announced((1 << 32) - 1, (1 << 32) - 1),
    "a header of 64 KiB and a byte": announced((1 << 16) + 1, (1 << 16) + 1),
    "a payload of 2^63 bytes": announced(2, 1 << 63),
    "a payload of 2^64 - 1 bytes": announced(2, (1 << 64) - 1),
    "a payload of 4 MiB and a byte": announced(2, 2 + (4 << 20) + 1),
}


@pytest.mark.parametrize("what", ANNOUNCEMENTS)
def test_an_oversized_announcement_is_refused_at_once_and_nothing_is_allocated(what: str) -> None:
    with desk(timeout=30.0) as (handler, reception):
        answers(reception)
        tracemalloc.start()
        start = time.monotonic()
        assert answer_to(reception, ANNOUNCEMENTS[what]) == FRAME_ANSWER
        seconds = time.monotonic() - start
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert isinstance(handler.last(), PeerClosedError | OversizedFrameError)
        assert reception.refusals == {"frame": 1}
        assert seconds < 3.0
        assert peak < 1 << 20
        assert answers(reception)


BOMBS = {
    "deep arrays": b'{"a":' + b"[" * 60_000,
    "deep objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "a long number": b'{"a":' + b"9" * 60_000 + b"}",
    "a large exponent": b'{"a":1e99999}',
    "duplicate keys": b'{"a":1,"a":2}',
    "NaN": b'{"a":NaN}',
    "escaped quotes": b'{"a":"' + b'\\"' * 30_000,
    "an array": b"[]",
    "no UTF-8": b'{"a":"\xff\xfe"}',
    "a lone surrogate": b'{"a":"\\ud800"}',
    "nothing": b"",
}


@pytest.mark.parametrize("what", BOMBS)
def test_a_json_bomb_is_refused_in_no_time(what: str) -> None:
    with desk() as (_, reception):
        start = time.monotonic()
        assert answer_to(reception, message(BOMBS[what])) == FRAME_ANSWER
        assert time.monotonic() - start < 3.0
        assert answers(reception)


WHOLE = message(b'{"kind":"upload.chunk"}', bytes(5000))


@pytest.mark.parametrize("size", [1, 20, HEADER_BYTES, HEADER_BYTES + 5, HEADER_BYTES + 23, HEADER_BYTES + 3000])
def test_half_a_message_and_then_silence_ends_that_conversation_only(size: int) -> None:
    with desk(timeout=0.5) as (handler, reception):
        start = time.monotonic()
        with raw_tls(reception, identity(OWNER)) as tls:
            tls.sendall(hello() + WHOLE[:size])
            assert after_greeting(read_all(tls)) == b""
        assert time.monotonic() - start < 4.0
        assert isinstance(handler.last(), PeerSilentError)
        assert answers(reception)


@pytest.mark.parametrize("begin", [0, HEADER_BYTES - 2, HEADER_BYTES + 30])
def test_a_slow_loris_does_not_live_longer_than_the_time_out(begin: int) -> None:
    """It drips one byte after the other, each in time: the message as a whole is not."""
    with desk(timeout=0.6) as (handler, reception), raw_tls(reception, identity(OWNER)) as tls:
        tls.sendall(hello() + WHOLE[:begin])
        start = time.monotonic()
        with contextlib.suppress(OSError):
            for byte in WHOLE[begin : begin + 60]:
                tls.sendall(bytes([byte]))
                time.sleep(0.1)
                if handler.errors:
                    break
        assert isinstance(handler.last(), PeerSilentError)
        assert time.monotonic() - start < 4.0
        assert answers(reception)


def test_a_participant_that_does_not_read_its_answer_ends_its_conversation_only() -> None:
    with desk(timeout=0.5) as (handler, reception), raw_tls(reception, identity(OWNER)) as tls:
        tls.sendall(hello())
        with contextlib.suppress(OSError):
            for turn in range(1, 40):
                tls.sendall(message(b"{}", bytes(1 << 20), turn))
        assert isinstance(handler.last(), PeerSilentError)
        assert answers(reception)


@pytest.mark.parametrize("size", [0, 10, HEADER_BYTES + 5, HEADER_BYTES + 3000])
@pytest.mark.parametrize("reset", [False, True])
def test_a_disconnect_in_the_middle_ends_that_conversation_only(size: int, reset: bool) -> None:
    with desk() as (handler, reception):
        with raw_tls(reception, identity(OWNER)) as tls:
            tls.sendall(hello() + message(b"{}"))
            assert tls.recv(1 << 16)
            if not reset:
                tls.recv(1 << 16)
            tls.sendall(message(b'{"kind":"upload.chunk"}', bytes(5000), 2)[:size])
            if reset:
                tls.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        assert isinstance(handler.last(), PeerClosedError | FrameError)
        assert answers(reception)


def test_a_replayed_message_is_refused() -> None:
    with desk() as (handler, reception):
        with raw_tls(reception, identity(OWNER)) as tls:
            tls.sendall(hello() + message(b'{"n":1}') + message(b'{"n":1}'))
            raw = read_all(tls)
        assert raw.count(b'{"n":1}') == 1
        assert b'"frame"' in raw
        assert isinstance(handler.last(), FrameError)


# --- handlers that fail -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "logged"),
    [
        (ValueError("share 123456789"), False),
        (InvalidInputError("The 'x' parameter is wrong."), True),
        (RecursionError("share 123456789"), False),
        (PeerClosedError("P2", "P2 closed another connection."), True),
        (PeerClosedError("owner-a", "The owner closed another connection."), True),
        (FrameError("P2", "P2 sent nonsense over another connection."), True),
    ],
)
def test_a_failing_handler_is_answered_generically_logged_and_survived(
    error: Exception, logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    reports: list[tuple[str, str | None, str]] = []

    def fail(conversation: Conversation) -> None:
        header, _ = conversation.receive()
        if header == {"fail": True}:
            raise error
        conversation.send(header, b"xyz")

    with (
        caplog.at_level(logging.ERROR),
        receiving(fail, report=lambda *report: reports.append(report)) as reception,
    ):
        for _ in range(3):
            with ask(reception) as conversation, pytest.raises(RequestRefusedError) as caught:
                conversation.request({"fail": True}, bytes(1000))
            assert caught.value.kind == "internal"
            assert caught.value.text == "The request failed at 'P0'; its log says why."
            assert answers(reception)
        assert reports == [("failed", OWNER, "127.0.0.1")] * 3
    assert type(error).__name__ in caplog.text and "in fail" in caplog.text
    assert "123456789" not in caplog.text
    assert (str(error) in caplog.text) is logged


def test_a_handler_that_fails_before_the_payload_answers_too_even_if_that_takes_long() -> None:
    def fail(conversation: Conversation) -> None:
        conversation.receive_header()
        raise OSError("disk full")

    with receiving(fail) as reception, raw_tls(reception, identity(OWNER)) as tls:
        whole = message(b"{}", bytes(50_000))
        tls.sendall(hello())
        for place in range(0, len(whole), 5000):
            tls.sendall(whole[place : place + 5000])
            time.sleep(0.1)
        assert b"internal" in read_all(tls)


def test_a_handler_that_exits_its_thread_gives_its_place_back() -> None:
    def leave(conversation: Conversation) -> None:
        if conversation.receive()[0] == {"leave": True}:
            raise SystemExit
        conversation.send({"still": "there"}, b"xyz")

    with receiving(leave, limits=Limits(conversations=1, conversations_per_peer=1)) as reception:
        for _ in range(3):
            with ask(reception) as conversation, pytest.raises(RequestRefusedError, match="request failed"):
                conversation.request({"leave": True})
            time.sleep(0.1)
        assert answers(reception)


# --- garbage ------------------------------------------------------------------------------------------------------


def mutated(dice: random.Random, frame: bytes) -> bytes:
    """The frame with some of its bytes changed, removed, repeated or followed by noise."""
    raw = bytearray(frame)
    for _ in range(dice.choice([1, 1, 2, 5])):
        place = dice.randrange(len(raw) or 1)
        match dice.randrange(5):
            case 0:
                raw[place : place + 1] = dice.randbytes(1)
            case 1:
                del raw[place : place + dice.randrange(1, 20)]
            case 2:
                raw[place:place] = dice.randbytes(dice.randrange(1, 20))
            case 3:
                raw[place : place + 8] = dice.choice([bytes(8), b"\xff" * 8, b"\x7f" + b"\xff" * 7])
            case _:
                raw += dice.randbytes(dice.randrange(200))
    return bytes(raw)


def client_hello() -> bytes:
    """How a TLS connection begins."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        raw_context(identity(OWNER)).wrap_bio(incoming, outgoing).do_handshake()
    return outgoing.read()


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def settled(reception: Reception, threads: int) -> None:
    """Wait until all conversations are over."""
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline and (
        threading.active_count() > threads or reception._strangers or reception._guests or reception._departures
    ):
        time.sleep(0.02)


@pytest.mark.slow
def test_thousands_of_random_and_mutated_frames_leave_no_trace(caplog: pytest.LogCaptureFixture) -> None:
    """Against one live reception: raw bytes, broken TLS, broken greetings, broken messages."""
    caplog.set_level(logging.ERROR, "cofit.transport")  # kept log lines would count as growth
    dice = random.Random(5)
    frame = message(b'{"kind":"upload.chunk","n":[1,2.5,null,"x"]}', bytes(300))
    tls_start = client_hello()

    def attack(number: int) -> None:
        kind = number % 4
        with contextlib.suppress(OSError):
            if kind == 0:
                with socket.create_connection(("127.0.0.1", reception.port), timeout=5.0) as connection:
                    noise = dice.randbytes(dice.randrange(1, 600))
                    connection.sendall(noise if dice.random() < 0.3 else mutated(dice, tls_start))
                return
            with raw_tls(reception, identity(OWNER)) as tls:
                if kind == 1:
                    tls.sendall(mutated(dice, hello()) + frame)
                else:
                    tls.sendall(hello() + (frame if kind == 3 else b"") + mutated(dice, frame)[:4000])
                tls.settimeout(0.01)
                if dice.random() < 0.5:
                    tls.recv(1 << 16)

    threads = threading.active_count() + 1
    with receiving(timeout=0.5, limits=replace(GENEROUS, stranger_seconds=0.5)) as reception:
        for number in range(500):
            attack(number)
        settled(reception, threads)
        open_before, memory_before = descriptors(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for number in range(2000):
            attack(number)
            if number % 400 == 0:
                assert answers(reception)
        settled(reception, threads)
        assert answers(reception)
        settled(reception, threads)
        assert threading.active_count() == threads
        assert descriptors() <= open_before + 2
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory_before < 4 << 10, "KiB"
        counts = reception.refusals
        assert {"frame", "no-tls"} <= counts.keys() and counts["frame"] > 300
        assert counts.get("failed", 0) == 0, "an error that was not foreseen"
        assert not caplog.records
