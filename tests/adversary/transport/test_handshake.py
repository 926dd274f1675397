"""Parties that do not belong together: each end raises the right error, in time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from cofit.errors import (
    CofitError,
    FrameError,
    HandshakeError,
    PeerAbortedError,
    SchemeMismatchError,
    SessionMismatchError,
    StudyMismatchError,
    TransportError,
    VersionMismatchError,
)
from cofit.sharing import SCHEMES
from cofit.transport import FaultPlan, Mesh, Rewrite, Terms, Truncate, listen, memory_meshes
from cofit.transport.frames import HEADER, HEADER_BYTES
from cofit.transport.greeting import Greeting
from cofit.transport.memory import Bell, memory_link_pair
from unit.transport.cluster import KINDS, NAMES, TERMS, Kind, join_tls, run_all

pytestmark = pytest.mark.timeout(60)

CONNECT_TIMEOUT = 3.0
OTHER_TERMS: list[tuple[Terms, type[HandshakeError]]] = [
    (replace(TERMS, study=b"g" * 32), StudyMismatchError),
    (replace(TERMS, scheme="rep4/3/1/none"), SchemeMismatchError),
    (replace(TERMS, session=b"t" * 16), SessionMismatchError),
    (replace(TERMS, version=TERMS.version + 1), VersionMismatchError),
]


def greet(greeting: Greeting) -> bool:
    deadline = time.monotonic() + 2.0
    while not greeting.step():
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return True


def greet_in_memory(first: tuple[str, str, Terms], second: tuple[str, str, Terms]) -> dict[str, object]:
    """Greet over memory; each end is (own name, name it expects, terms)."""
    links = memory_link_pair(Bell(), Bell())
    jobs: dict[str, Callable[[], bool]] = {}
    for key, link, (name, peer, terms) in zip(("first", "second"), links, (first, second), strict=True):
        jobs[key] = partial(greet, Greeting(link, name, peer, terms))
    return dict(run_all(jobs))


def join_over_tls(terms: dict[str, Terms]) -> dict[str, Mesh | BaseException]:
    listeners = {name: listen("127.0.0.1") for name in terms}
    try:
        outcomes = run_all(
            {name: partial(join_tls, name, listeners, terms[name], connect_timeout=CONNECT_TIMEOUT) for name in terms}
        )
    finally:
        for listener in listeners.values():
            listener.close()
    for outcome in outcomes.values():
        if isinstance(outcome, Mesh):
            outcome.close()
    return outcomes


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ("shamir/5/2/none", "'scheme'"),
        ("rep3/4/1/none", "'parties'"),
        ("rep3/3/2/none", "'threshold'"),
        ("rep3/3/1/dealer", "'correlations'"),
        ("rep3/3/2/dealer", "'threshold'"),
        ("rep3/3/1/none/king", "'route'"),
        ("rep3/3/1/none//40", "soundness"),
        ("rep3/3/1", "'scheme'"),
        ("rep3", "'scheme'"),
    ],
)
def test_the_field_of_a_scheme_that_differs_is_named_at_both_ends(other: str, named: str) -> None:
    ours, theirs = replace(TERMS, scheme=SCHEMES["rep3"].info.spec().agreed), replace(TERMS, scheme=other)
    outcomes = greet_in_memory(("A", "B", ours), ("B", "A", theirs))
    for outcome in outcomes.values():
        assert isinstance(outcome, SchemeMismatchError)
        assert named in str(outcome)


@pytest.mark.parametrize(("other", "expected"), OTHER_TERMS)
def test_different_terms_are_refused_at_both_ends_in_memory(other: Terms, expected: type[HandshakeError]) -> None:
    outcomes = greet_in_memory(("A", "B", TERMS), ("B", "A", other))
    assert {key: type(outcome) for key, outcome in outcomes.items()} == {"first": expected, "second": expected}
    with pytest.raises(expected):
        memory_meshes(["A", "B"], {"A": TERMS, "B": other})


@pytest.mark.parametrize(("other", "expected"), OTHER_TERMS)
def test_different_terms_are_refused_at_both_ends_over_tls(other: Terms, expected: type[HandshakeError]) -> None:
    start = time.monotonic()
    outcomes = join_over_tls({"P0": TERMS, "P1": other})
    for name, peer in ("P0", "P1"), ("P1", "P0"):
        error = outcomes[name]
        assert type(error) is expected
        assert isinstance(error, TransportError) and error.peer == peer
    assert time.monotonic() - start < 3.0


def test_one_party_with_another_study_stops_all_three() -> None:
    start = time.monotonic()
    outcomes = join_over_tls({"P0": TERMS, "P1": TERMS, "P2": OTHER_TERMS[0][0]})
    assert isinstance(outcomes["P2"], StudyMismatchError)
    assert any(isinstance(outcomes[name], StudyMismatchError) for name in ("P0", "P1"))
    assert all(isinstance(outcome, TransportError) for outcome in outcomes.values()), outcomes
    assert time.monotonic() - start < CONNECT_TIMEOUT + 3.0


def test_the_error_of_a_refusal_shows_neither_hash() -> None:
    outcomes = join_over_tls({"P0": TERMS, "P1": OTHER_TERMS[0][0]})
    for outcome in outcomes.values():
        assert "hhhh" not in str(outcome) and "gggg" not in str(outcome)


@pytest.mark.parametrize(("name", "peer"), [("B", "C"), ("C", "A")])
def test_ends_that_disagree_on_names_refuse_each_other(name: str, peer: str) -> None:
    outcomes = greet_in_memory(("A", "B", TERMS), (name, peer, TERMS))
    assert {key: type(outcome) for key, outcome in outcomes.items()} == {
        "first": HandshakeError,
        "second": HandshakeError,
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("at", "value", "expected"),
    [
        (0, 0x00, FrameError),  # magic
        (5, 0x7F, VersionMismatchError),
        (6, 0x03, FrameError),  # DATA before HELLO
        (27, 0x01, FrameError),  # sequence
        (28, 0x7F, FrameError),  # an absurd length
        (HEADER_BYTES + 48, 0xFF, HandshakeError),  # an impossible length of a text
    ],
)
def test_a_damaged_greeting_is_refused(kind: Kind, at: int, value: int, expected: type[TransportError]) -> None:
    def damage(number: int, frame: bytes) -> bytes:
        return frame[:at] + bytes([value]) + frame[at + 1 :] if number == 0 else frame

    plan = FaultPlan(every=Rewrite(damage))
    if kind == "memory":
        from cofit.transport import faulty_links

        with pytest.raises(expected):
            memory_meshes(["P0", "P1"], TERMS, 2.0, wrap={"P1": faulty_links({"P0": plan})})
        return
    listeners = {name: listen("127.0.0.1") for name in NAMES[:2]}
    outcomes = run_all(
        {
            "P0": partial(join_tls, "P0", listeners, connect_timeout=3.0),
            "P1": partial(join_tls, "P1", listeners, connect_timeout=3.0, plans={"P0": plan}),
        }
    )
    for listener in listeners.values():
        listener.close()
    assert isinstance(outcomes["P0"], expected)
    if isinstance(outcomes["P1"], Mesh):  # its own view was fine; it learns on first use
        with outcomes["P1"] as mesh, pytest.raises(TransportError):
            mesh.exchange("x", {}, {"P0": bytearray(1)})
    else:
        assert isinstance(outcomes["P1"], CofitError)


def test_half_a_greeting_is_not_waited_for_beyond_the_time_out() -> None:
    listeners = {name: listen("127.0.0.1") for name in NAMES[:2]}
    start = time.monotonic()
    plans = {"P0": FaultPlan({0: Truncate(50)})}
    outcomes = run_all(
        {
            "P0": partial(join_tls, "P0", listeners, connect_timeout=1.0),
            "P1": partial(join_tls, "P1", listeners, connect_timeout=1.0, plans=plans),
        }
    )
    for listener in listeners.values():
        listener.close()
    assert isinstance(outcomes["P0"], TransportError)
    assert outcomes["P0"].peer == "P1"
    if isinstance(outcomes["P1"], Mesh):
        with outcomes["P1"] as mesh, pytest.raises(TransportError):
            mesh.exchange("x", {}, {"P0": bytearray(1)})
    assert time.monotonic() - start < 4.0


def test_a_refusal_that_comes_after_our_own_greeting_succeeded_is_typed() -> None:
    """A peer that accepts nothing we say, although its HELLO equals ours, is heard on the first exchange."""
    meshes = memory_meshes(["A", "B"], TERMS, 2.0)
    refuse = HEADER.pack(b"cfit", TERMS.version, 2, 0, 0, bytes(8), 1, 1) + b"\x03"
    link = meshes["B"]._channels["A"].link
    link.queue([refuse])
    link.pump_send()
    with pytest.raises(StudyMismatchError):
        meshes["A"].exchange("x", {}, {"B": bytearray(100)})
    with pytest.raises(PeerAbortedError):
        meshes["B"].exchange("x", {}, {"A": bytearray(100)})
