"""One port for the mesh and for conversations."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

import pytest

from cofit.errors import (
    HandshakeError,
    InvalidInputError,
    PeerSilentError,
    SchemeMismatchError,
    SessionMismatchError,
    StudyMismatchError,
    TransportError,
    VersionMismatchError,
)
from cofit.transport import (
    Conversation,
    Limits,
    Mesh,
    Peer,
    Reception,
    Terms,
    connect_mesh,
    converse,
    generate_identity,
    listen,
)
from cofit.transport.authentication import MESH_PROTOCOL
from unit.transport.cluster import NAMES, TERMS, identity, neighbours, results, run_all
from unit.transport.desk import answers, ask, at, echo, raw_tls, receiving

pytestmark = pytest.mark.timeout(60)
OTHER_SESSION = replace(TERMS, session=b"t" * 16)


@contextmanager
def three_receptions() -> Iterator[dict[str, Reception]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(receiving(name=name)) for name in NAMES}


def join(name: str, receptions: dict[str, Reception], terms: Terms = TERMS, patience: float = 10.0) -> Mesh:
    place = NAMES.index(name)
    peers = [at(receptions[each], each) for each in NAMES]
    listener = receptions[name].mesh_listener
    return connect_mesh(
        identity(name), listener, peers[:place], peers[place + 1 :], terms, connect_timeout=patience, timeout=5.0
    )


def ring(name: str, receptions: dict[str, Reception], terms: Terms = TERMS, pause: float = 0.0) -> int:
    time.sleep(pause)
    with join(name, receptions, terms) as mesh:
        left, right = neighbours(mesh)
        got = bytearray(1)
        for _ in range(3):
            mesh.exchange("x", {left: name[1:].encode()}, {right: got})
        return got[0]


EXPECTED = {"P0": ord("1"), "P1": ord("2"), "P2": ord("0")}


@pytest.mark.parametrize("order", [("P0", "P1", "P2"), ("P2", "P1", "P0"), ("P1", "P2", "P0")])
def test_a_mesh_comes_up_through_receptions_in_any_order(order: tuple[str, ...]) -> None:
    with three_receptions() as receptions:
        jobs = {name: partial(ring, name, receptions, pause=0.3 * order.index(name)) for name in NAMES}
        assert results(run_all(jobs)) == EXPECTED
        assert all(not reception.refusals for reception in receptions.values())


def test_one_session_after_the_other_and_conversations_in_between() -> None:
    with three_receptions() as receptions:
        for number in range(4):
            terms = replace(TERMS, session=bytes([number]) * 16)
            jobs = {name: partial(ring, name, receptions, terms) for name in NAMES}
            assert results(run_all(jobs)) == EXPECTED
            assert answers(receptions["P0"])


def test_a_mesh_and_conversations_at_the_same_time() -> None:
    with three_receptions() as receptions:
        jobs: dict[str, Callable[[], object]] = {name: partial(ring, name, receptions, pause=0.2) for name in NAMES}
        for number in range(4):
            jobs[f"guest {number}"] = partial(answers, receptions["P0"], ("owner-a", "owner-b")[number % 2])
        assert results(run_all(jobs)).items() >= EXPECTED.items()


def test_a_plain_listener_takes_those_who_ask_for_the_mesh() -> None:
    """P0 listens plainly, as the members of run_local do; P1 has a reception and dials."""
    with listen("127.0.0.1") as plain, receiving(name="P1"):
        peers = {"P0": Peer("P0", "127.0.0.1", plain.port, identity("P0").certificate_pem)}
        accept = [Peer("P1", "", 0, identity("P1").certificate_pem)]
        jobs: dict[str, Callable[[], Mesh]] = {
            "P0": partial(connect_mesh, identity("P0"), plain, [], accept, TERMS, connect_timeout=5.0),
            "P1": partial(connect_mesh, identity("P1"), None, [peers["P0"]], [], TERMS, connect_timeout=5.0),
        }
        for mesh in results(run_all(jobs)).values():
            mesh.close()


def test_a_plain_listener_takes_no_requests_and_the_client_says_so() -> None:
    with listen("127.0.0.1") as plain:
        accept = [Peer("P1", "", 0, identity("P1").certificate_pem)]
        target = Peer("P0", "127.0.0.1", plain.port, identity("P0").certificate_pem)
        jobs: dict[str, Callable[[], object]] = {
            "P0": partial(connect_mesh, identity("P0"), plain, [], accept, TERMS, connect_timeout=2.0),
            "P1": partial(converse, identity("P1"), target, TERMS, connect_timeout=2.0),
        }
        outcomes = run_all(jobs)
    assert isinstance(outcomes["P1"], HandshakeError)
    assert "takes no requests" in str(outcomes["P1"])


# --- connections that wait for a mesh ---------------------------------------------------------------------------


def accept_from_p1(reception: Reception, terms: Terms, patience: float = 5.0) -> Mesh:
    peer = Peer("P1", "", 0, identity("P1").certificate_pem)
    return connect_mesh(identity("P0"), reception.mesh_listener, [], [peer], terms, connect_timeout=patience)


def dial_p0(reception: Reception, terms: Terms, patience: float = 5.0) -> Mesh:
    return connect_mesh(identity("P1"), None, [at(reception)], [], terms, connect_timeout=patience)


def meet(reception: Reception, terms: Terms = TERMS) -> None:
    jobs: dict[str, Callable[[], Mesh]] = {
        "P0": partial(accept_from_p1, reception, terms),
        "P1": partial(dial_p0, reception, terms),
    }
    meshes = results(run_all(jobs))
    for name, mesh in meshes.items():
        mesh.exchange("x", {mesh.peers[0]: name.encode()}, {})
    for name, mesh in meshes.items():
        got = bytearray(2)
        mesh.exchange("x", {}, {mesh.peers[0]: got})
        assert bytes(got) != name.encode()
        mesh.close()


def test_a_connection_that_came_before_connect_mesh_is_not_lost() -> None:
    """It is the very first connection that is used: P1 dials once."""
    with receiving() as reception:

        def late() -> Mesh:
            deadline = time.monotonic() + 5.0
            while not reception.mesh_listener.waiting() and time.monotonic() < deadline:
                time.sleep(0.01)
            held = reception.mesh_listener.waiting()
            time.sleep(0.3)
            assert reception.mesh_listener.waiting() == held
            return accept_from_p1(reception, TERMS)

        jobs: dict[str, Callable[[], Mesh]] = {"P0": late, "P1": partial(dial_p0, reception, TERMS)}
        for mesh in results(run_all(jobs)).values():
            mesh.close()
        assert reception.mesh_listener.waiting() == []


def test_a_connection_of_a_dialler_that_gave_up_is_dropped() -> None:
    with receiving() as reception:
        with pytest.raises(PeerSilentError):
            dial_p0(reception, TERMS, patience=0.3)
        deadline = time.monotonic() + 3.0
        while reception.mesh_listener.waiting() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert reception.mesh_listener.waiting() == []
        meet(reception)


def test_a_live_connection_of_an_earlier_session_does_not_block_a_later_one() -> None:
    with receiving() as reception:

        def stale() -> Mesh:
            return dial_p0(reception, OTHER_SESSION)

        def accept() -> Mesh:
            while not reception.mesh_listener.waiting():
                time.sleep(0.01)
            return accept_from_p1(reception, TERMS)

        def dial() -> Mesh:
            time.sleep(0.5)
            return dial_p0(reception, TERMS)

        jobs: dict[str, Callable[[], Mesh]] = {"stale": stale, "P0": accept, "P1": dial}
        outcomes = run_all(jobs)
        assert isinstance(outcomes["stale"], SessionMismatchError)
        for name in ("P0", "P1"):
            mesh = outcomes[name]
            assert isinstance(mesh, Mesh), mesh
            mesh.close()


def test_only_other_sessions_is_told_as_such_when_time_is_up() -> None:
    with receiving() as reception:
        jobs: dict[str, Callable[[], Mesh]] = {
            "P0": partial(accept_from_p1, reception, TERMS, 1.0),
            "P1": partial(dial_p0, reception, OTHER_SESSION),
        }
        outcomes = run_all(jobs)
    for outcome in outcomes.values():
        assert isinstance(outcome, SessionMismatchError)


def test_the_newest_connection_of_a_party_is_held() -> None:
    """A half-open connection, such as one of a machine that lost power, gives way to the next."""
    with receiving() as reception, raw_tls(reception, identity("P1"), [MESH_PROTOCOL]) as dead:
        while not reception.mesh_listener.waiting():
            time.sleep(0.01)
        jobs: dict[str, Callable[[], Mesh]] = {"P1": partial(dial_p0, reception, TERMS)}

        def accept() -> Mesh:
            time.sleep(0.5)
            return accept_from_p1(reception, TERMS)

        jobs["P0"] = accept
        for mesh in results(run_all(jobs)).values():
            mesh.close()
        assert dead.recv(1) == b""


def test_a_connection_that_ends_without_a_greeting_is_no_failure_of_the_mesh() -> None:
    """P1 stops just when P0 begins to greet it, starts anew and dials again."""
    with receiving() as reception:

        def stop_and_start() -> Mesh:
            with raw_tls(reception, identity("P1"), [MESH_PROTOCOL]) as stopping:
                assert stopping.recv(1)  # P0 has begun to greet
            return dial_p0(reception, TERMS)

        jobs: dict[str, Callable[[], Mesh]] = {"P1": stop_and_start, "P0": partial(accept_from_p1, reception, TERMS)}
        for mesh in results(run_all(jobs)).values():
            mesh.close()


def test_closing_drops_what_waits_and_ends_conversations() -> None:
    before = threading.active_count()
    with receiving(timeout=30.0) as reception:
        conversation = ask(reception, timeout=30.0)
        conversation.request({})
        with raw_tls(reception, identity("P1"), [MESH_PROTOCOL]) as waiting:
            start = time.monotonic()
            reception.close()
            reception.close()
            assert time.monotonic() - start < 2.0
            assert waiting.recv(1) == b""
        with pytest.raises(TransportError):
            conversation.request({})
        conversation.close()
    assert threading.active_count() == before
    with pytest.raises(PeerSilentError, match="refused"):
        ask(reception, patience=0.3)


# --- conversations ------------------------------------------------------------------------------------------------


def test_the_handler_knows_who_asks() -> None:
    def who(conversation: Conversation) -> None:
        conversation.receive()
        conversation.send({"peer": conversation.peer, "name": conversation.name, "address": conversation.address})

    with receiving(who) as reception:
        for name in ("owner-a", "owner-b", "P2"):
            with ask(reception, name) as conversation:
                assert conversation.request({})[0] == {"peer": name, "name": "P0", "address": "127.0.0.1"}


@pytest.mark.parametrize(
    ("other", "expected", "kind"),
    [
        (replace(TERMS, study=b"g" * 32), StudyMismatchError, "study"),
        (replace(TERMS, scheme="rep4/3/1/none"), SchemeMismatchError, "scheme"),
        (replace(TERMS, version=TERMS.version + 1), VersionMismatchError, "version"),
    ],
)
def test_other_terms_are_refused_at_both_ends(other: Terms, expected: type[HandshakeError], kind: str) -> None:
    reports: list[tuple[str, str | None, str]] = []
    with receiving(report=lambda *report: reports.append(report)) as reception:
        start = time.monotonic()
        with pytest.raises(expected) as caught:
            ask(reception, terms=other)
        assert caught.value.peer == "P0"
        assert time.monotonic() - start < 2.0
        deadline = time.monotonic() + 2.0
        while not reports and time.monotonic() < deadline:
            time.sleep(0.01)
        assert reports == [(kind, "owner-a", "127.0.0.1")]
        assert reception.refusals == {kind: 1}
        assert answers(reception)


def test_the_session_does_not_count_in_a_conversation() -> None:
    with receiving() as reception, ask(reception, terms=OTHER_SESSION) as conversation:
        conversation.request({})


def test_a_client_waits_for_a_reception_that_comes_later() -> None:
    with listen("127.0.0.1") as probe:
        port = probe.port
    target = Peer("P0", "127.0.0.1", port, identity("P0").certificate_pem)
    pins = {name: identity(name).certificate_pem for name in NAMES}

    def serve() -> None:
        time.sleep(0.3)
        with Reception(listen("127.0.0.1", port), identity("P0"), pins, NAMES, TERMS, echo, timeout=5.0):
            time.sleep(1.0)

    def request() -> None:
        with converse(identity("P1"), target, TERMS) as conversation:
            conversation.request({})

    jobs: dict[str, Callable[[], None]] = {"P0": serve, "P1": request}
    results(run_all(jobs))


def test_mistakes_are_refused_before_anything_is_opened() -> None:
    pins = {name: identity(name).certificate_pem for name in NAMES}
    with listen("127.0.0.1") as listener:
        with pytest.raises(InvalidInputError, match="same certificate"):
            Reception(listener, identity("P0"), {**pins, "X": pins["P1"]}, NAMES, TERMS, echo)
        with pytest.raises(InvalidInputError, match="'parties' parameter"):
            Reception(listener, identity("P0"), pins, [*NAMES, "X"], TERMS, echo)
        with pytest.raises(InvalidInputError, match="'timeout' parameter"):
            Reception(listener, identity("P0"), pins, NAMES, TERMS, echo, timeout=0.0)
    with pytest.raises(InvalidInputError, match="'peer_rate' parameter"):
        Limits(peer_rate=0.0)
    target = Peer("P0", "127.0.0.1", 1, generate_identity("P0").certificate_pem)
    with pytest.raises(InvalidInputError, match="'timeout' parameter"):
        converse(identity("P1"), target, TERMS, timeout=-1.0)
