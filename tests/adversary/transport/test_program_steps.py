"""Parties whose programs drift apart, fall silent or send too much."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from cofit.errors import (
    FrameError,
    OversizedFrameError,
    PeerAbortedError,
    PeerSilentError,
    SequenceError,
    TransportError,
)
from cofit.transport import HEADER_BYTES, FaultPlan, Mesh, Rewrite
from cofit.transport.frames import HEADER, Kind
from unit.transport.cluster import KINDS, NAMES, neighbours, run_cluster
from unit.transport.cluster import Kind as MeshKind

pytestmark = pytest.mark.timeout(60)
kinds = pytest.mark.parametrize("kind", KINDS)


@kinds
def test_parties_at_different_steps_notice(kind: MeshKind) -> None:
    def program(mesh: Mesh) -> None:
        left, right = neighbours(mesh)
        mesh.exchange("norm" if mesh.name == "P1" else "noise", {left: bytes(8)}, {right: bytearray(8)})
        mesh.exchange("last", {left: bytes(8)}, {right: bytearray(8)})

    outcomes = run_cluster(kind, program, timeout=2.0)
    assert isinstance(outcomes["P0"], SequenceError)
    assert "'noise'" in str(outcomes["P0"])
    assert all(isinstance(outcome, TransportError) for outcome in outcomes.values())


@kinds
@pytest.mark.parametrize(("sent", "error"), [(7, FrameError), (9, OversizedFrameError), (100_000, OversizedFrameError)])
def test_a_message_of_another_size_is_refused(kind: MeshKind, sent: int, error: type[TransportError]) -> None:
    def program(mesh: Mesh) -> None:
        if mesh.name == "P1":
            mesh.exchange("x", {"P0": bytes(sent)}, {"P0": bytearray(1)})
        else:
            mesh.exchange("x", {}, {"P1": bytearray(8)})

    outcomes = run_cluster(kind, program, NAMES[:2], timeout=2.0)
    assert type(outcomes["P0"]) is error
    assert isinstance(outcomes["P1"], PeerAbortedError)


def announce(length: int, kind: Kind | None = None) -> Rewrite:
    """Change the length (and the kind) that a DATA frame announces; send only the header."""

    def change(number: int, frame: bytes) -> bytes:
        if number != 1:
            return frame
        fields = list(HEADER.unpack(frame[:HEADER_BYTES]))
        fields[-1] = length
        if kind is not None:
            fields[2], fields[4] = kind, 0
        return HEADER.pack(*fields)

    return Rewrite(change)


@kinds
@pytest.mark.parametrize("length", [1 << 30, 1 << 40, (1 << 64) - 1])
@pytest.mark.parametrize("frame_kind", [None, Kind.ABORT, Kind.WAITING])
def test_an_oversized_announcement_costs_no_memory_and_no_time(
    kind: MeshKind, length: int, frame_kind: Kind | None
) -> None:
    def program(mesh: Mesh) -> None:
        if mesh.name == "P1":
            mesh.exchange("x", {"P0": bytes(8)}, {"P0": bytearray(1)})
        else:
            mesh.exchange("x", {}, {"P1": bytearray(8)})

    plans = {"P1": {"P0": FaultPlan(every=announce(length, frame_kind))}}
    tracemalloc.start()
    try:
        start = time.monotonic()
        outcomes = run_cluster(kind, program, NAMES[:2], timeout=5.0, plans=plans)
        seconds = time.monotonic() - start
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(outcomes["P0"], OversizedFrameError)
    assert isinstance(outcomes["P1"], PeerAbortedError)
    assert peak < 4 << 20
    assert seconds < 3.0


@kinds
def test_a_silent_party_is_named_by_all_although_some_wait_for_another(kind: MeshKind) -> None:
    """P2 sleeps; P1 waits for P2, and P0 for P1: both must name P2."""

    def program(mesh: Mesh) -> None:
        if mesh.name == "P2":
            time.sleep(1.5)
        waits_for = {"P0": "P1", "P1": "P2", "P2": "P0"}[mesh.name]
        mesh.exchange("chain", {}, {waits_for: bytearray(8)})

    start = time.monotonic()
    outcomes = run_cluster(kind, program, timeout=0.5)
    for name in ("P0", "P1"):
        error = outcomes[name]
        assert isinstance(error, PeerSilentError | PeerAbortedError), error
        assert "P2" in (error.culprit if isinstance(error, PeerAbortedError) else error.peer)
    assert isinstance(outcomes["P2"], PeerAbortedError)
    assert time.monotonic() - start < 5.0


@kinds
def test_silence_is_noticed_within_the_time_out(kind: MeshKind) -> None:
    seconds: dict[str, float] = {}

    def program(mesh: Mesh) -> None:
        start = time.monotonic()
        try:
            if mesh.name == "P1":
                time.sleep(1.25)
            mesh.exchange("x", {}, {"P1" if mesh.name == "P0" else "P0": bytearray(8)})
        finally:
            seconds[mesh.name] = time.monotonic() - start

    outcomes = run_cluster(kind, program, NAMES[:2], timeout=0.5)
    assert isinstance(outcomes["P0"], PeerSilentError)
    assert outcomes["P0"].peer == "P1"
    assert 0.5 <= seconds["P0"] < 1.25


@kinds
def test_a_peer_that_accepts_nothing_is_noticed(kind: MeshKind) -> None:
    def program(mesh: Mesh) -> None:
        if mesh.name == "P1":
            time.sleep(1.25)
        else:
            mesh.exchange("x", {"P1": bytes(64 << 20)}, {})

    outcomes = run_cluster(kind, program, NAMES[:2], timeout=0.5)
    assert isinstance(outcomes["P0"], PeerSilentError)
    assert outcomes["P0"].peer == "P1"


@kinds
def test_parties_that_wait_for_each_other_in_a_circle_all_end(kind: MeshKind) -> None:
    def program(mesh: Mesh) -> None:
        _, right = neighbours(mesh)
        mesh.exchange("x", {}, {right: bytearray(8)})

    start = time.monotonic()
    outcomes = run_cluster(kind, program, timeout=0.5)
    assert all(isinstance(outcome, PeerSilentError | PeerAbortedError) for outcome in outcomes.values())
    assert time.monotonic() - start < 3.0


@kinds
def test_notices_of_waiting_do_not_disturb_a_slow_run(kind: MeshKind) -> None:
    """Everyone waits longer than the time of a notice, again and again, yet all messages arrive."""

    def program(mesh: Mesh) -> list[bytes]:
        left, right = neighbours(mesh)
        got = [bytearray(size) for size in (10, 100_000, 0, 10)]
        for step, buffer in enumerate(got):
            if NAMES[step % 3] == mesh.name:
                time.sleep(0.5)
            mesh.exchange("slow", {left: bytes([step]) * len(buffer)}, {right: buffer})
        return [bytes(buffer) for buffer in got]

    outcomes = run_cluster(kind, program, timeout=1.0)
    expected = [bytes([step]) * size for step, size in enumerate((10, 100_000, 0, 10))]
    assert outcomes == dict.fromkeys(NAMES, expected)
