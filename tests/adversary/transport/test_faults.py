"""Every fault on purpose, over every mesh: each party ends with a typed error in time, or the data is right."""

from __future__ import annotations

import time

import numpy as np
import pytest

from cofit.errors import (
    FrameError,
    OversizedFrameError,
    PeerAbortedError,
    PeerClosedError,
    PeerSilentError,
    SequenceError,
    TransportError,
    VersionMismatchError,
)
from cofit.transport import (
    HEADER_BYTES,
    Corrupt,
    Delay,
    Drop,
    Duplicate,
    Fault,
    FaultPlan,
    Mesh,
    Reorder,
    Rewrite,
    Truncate,
)
from unit.transport.cluster import KINDS, NAMES, Kind, neighbours, results, run_cluster

pytestmark = pytest.mark.timeout(60)

TIMEOUT = 0.6
SECRET = b"\xa5SECRET\x5a"
FAULTY_FRAME = 2
kinds = pytest.mark.parametrize("kind", KINDS)
sizes = pytest.mark.parametrize("size", [len(SECRET) * 8, len(SECRET) * 40_000], ids=["small", "large"])


def ring(mesh: Mesh, size: int, rounds: int = 6) -> bytes:
    """Six rounds on the ring: everyone depends on every message."""
    left, right = neighbours(mesh)
    got = bytearray(size)
    for _ in range(rounds):
        mesh.exchange("ring", {left: SECRET * (size // len(SECRET))}, {right: got})
    return bytes(got)


def run_with_fault(kind: Kind, fault: Fault, size: int) -> tuple[dict[str, TransportError], float]:
    """P1 sends to P0 with a fault. Every party must end with a typed error that shows no payload."""
    plans = {"P1": {"P0": FaultPlan({FAULTY_FRAME: fault})}}
    start = time.monotonic()
    outcomes = run_cluster(kind, lambda mesh: ring(mesh, size), timeout=TIMEOUT, plans=plans)
    seconds = time.monotonic() - start
    errors: dict[str, TransportError] = {}
    for name, outcome in outcomes.items():
        assert isinstance(outcome, TransportError), (name, outcome)
        assert "SECRET" not in str(outcome) and "a5" not in str(outcome)
        errors[name] = outcome
    return errors, seconds


@kinds
@sizes
@pytest.mark.parametrize(
    ("byte", "bit", "expected", "reason"),
    [
        (0, 0, FrameError, "is no frame"),
        (3, 7, FrameError, "is no frame"),
        (5, 1, VersionMismatchError, "protocol version"),
        (6, 3, FrameError, "of kind"),
        (7, 0, FrameError, "is no frame"),
        (8, 0, SequenceError, "another step"),
        (11, 5, SequenceError, "another step"),
        (12, 0, FrameError, "another session"),
        (19, 7, FrameError, "another session"),
        (27, 0, SequenceError, "frame 3 where frame 2 was due"),
        (20, 7, SequenceError, "where frame 2 was due"),
        (35, 0, OversizedFrameError, "nothing was allocated"),
        (28, 7, OversizedFrameError, "nothing was allocated"),
        (35, 6, FrameError, "were due"),
    ],
)
def test_a_corrupt_header_is_noticed_by_the_receiver(
    kind: Kind, size: int, byte: int, bit: int, expected: type[TransportError], reason: str
) -> None:
    errors, seconds = run_with_fault(kind, Corrupt(byte, bit), size)
    assert isinstance(errors["P0"], expected)
    assert reason in str(errors["P0"])
    assert errors["P0"].peer == "P1"
    assert isinstance(errors["P2"], PeerAbortedError)
    assert errors["P2"].culprit == "P1"
    assert seconds < TIMEOUT + 3


@kinds
@sizes
@pytest.mark.parametrize("after", [0, 10, HEADER_BYTES, HEADER_BYTES + 7])
def test_a_dropped_connection_is_noticed(kind: Kind, size: int, after: int) -> None:
    errors, seconds = run_with_fault(kind, Drop(after), size)
    assert isinstance(errors["P0"], PeerClosedError)
    assert errors["P0"].peer == "P1"
    assert isinstance(errors["P1"], PeerClosedError)
    assert isinstance(errors["P2"], PeerAbortedError)
    assert errors["P2"].culprit in {"P0", "P1"}
    assert seconds < TIMEOUT + 3


@kinds
@sizes
@pytest.mark.parametrize("keep", [0, 10, HEADER_BYTES, HEADER_BYTES + 7])
def test_a_frame_that_is_cut_off_is_noticed(kind: Kind, size: int, keep: int) -> None:
    errors, seconds = run_with_fault(kind, Truncate(keep), size)
    assert isinstance(errors["P0"], PeerSilentError | FrameError | PeerAbortedError)
    assert "P1" in str(errors["P0"])
    assert seconds < 2 * TIMEOUT + 3


@kinds
@sizes
def test_a_short_delay_does_no_harm(kind: Kind, size: int) -> None:
    plans = {"P1": {"P0": FaultPlan({FAULTY_FRAME: Delay(0.1)})}}
    outcomes = run_cluster(kind, lambda mesh: ring(mesh, size), timeout=TIMEOUT, plans=plans)
    assert results(outcomes) == dict.fromkeys(NAMES, SECRET * (size // len(SECRET)))


@kinds
def test_a_long_delay_is_silence_and_the_silent_one_is_named_by_all(kind: Kind) -> None:
    errors, _ = run_with_fault(kind, Delay(2 * TIMEOUT), 64)
    assert isinstance(errors["P0"], PeerSilentError)
    assert errors["P0"].peer == "P1"
    for name in ("P1", "P2"):
        assert isinstance(errors[name], PeerAbortedError | PeerSilentError)
        assert "P1" in str(errors[name]) or "this party" in str(errors[name])


def push(mesh: Mesh) -> list[bytes]:
    """P1 sends four messages to P0 without waiting."""
    got: list[bytes] = []
    for step in range(4):
        if mesh.name == "P1":
            mesh.exchange("push", {"P0": bytes([step] * 100)}, {})
        else:
            buffer = bytearray(100)
            mesh.exchange("push", {}, {"P1": buffer})
            got.append(bytes(buffer))
    if mesh.name == "P1":
        mesh.exchange("end", {}, {"P0": bytearray(1)})
    return got


@kinds
@pytest.mark.parametrize("fault", [Duplicate(), Reorder()])
@pytest.mark.parametrize("frame", [1, 2, 3])
def test_a_repeated_or_reordered_frame_is_refused(kind: Kind, fault: Fault, frame: int) -> None:
    plans = {"P1": {"P0": FaultPlan({frame: fault})}}
    outcomes = run_cluster(kind, push, NAMES[:2], timeout=TIMEOUT, plans=plans)
    assert isinstance(outcomes["P0"], SequenceError)
    assert outcomes["P0"].peer == "P1"
    assert isinstance(outcomes["P1"], PeerAbortedError)
    assert outcomes["P1"].culprit == "P1"


@kinds
def test_a_frame_of_the_past_cannot_be_replayed(kind: Kind) -> None:
    seen: list[bytes] = []

    def replay(number: int, frame: bytes) -> bytes:
        seen.append(frame)
        return seen[1] if number == 3 else frame

    plans = {"P1": {"P0": FaultPlan(every=Rewrite(replay))}}
    outcomes = run_cluster(kind, push, NAMES[:2], timeout=TIMEOUT, plans=plans)
    assert isinstance(outcomes["P0"], SequenceError)


@kinds
def test_two_frames_in_one_record_are_two_frames(kind: Kind) -> None:
    """The second one is already decrypted when it is awaited: no poll reports it, yet nothing waits."""
    held: list[bytes] = []

    def pack(number: int, frame: bytes) -> bytes:
        if number == 3:
            held.append(frame)
            return b""
        return held.pop() + frame if held else frame

    def program(mesh: Mesh) -> list[bytes]:
        got = push(mesh)
        if mesh.name == "P0":
            mesh.exchange("end", {"P1": b"1"}, {})
        return got

    plans = {"P1": {"P0": FaultPlan(every=Rewrite(pack))}}
    start = time.monotonic()
    outcomes = run_cluster(kind, program, NAMES[:2], timeout=20.0, plans=plans)
    assert results(outcomes)["P0"] == [bytes([step] * 100) for step in range(4)]
    assert time.monotonic() - start < 4.0


@kinds
def test_a_corrupt_payload_passes_here_and_is_the_scheme_s_to_notice(kind: Kind) -> None:
    def program(mesh: Mesh) -> int:
        got = np.zeros(8, np.uint64)
        if mesh.name == "P1":
            mesh.exchange("x", {"P0": np.zeros(8, np.uint64)}, {})
        else:
            mesh.exchange("x", {}, {"P1": got})
        return int(got[1])

    plans = {"P1": {"P0": FaultPlan({1: Corrupt(8, 3, in_payload=True)})}}
    assert results(run_cluster(kind, program, NAMES[:2], plans=plans)) == {"P0": 8, "P1": 0}
