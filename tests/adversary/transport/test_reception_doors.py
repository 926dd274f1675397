"""Who gets past the reception, and who keeps others out: strangers, wrong pins, wrong protocols, floods."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from adversary.transport.ports import flooded
from cofit.errors import CertificateError, HandshakeError, PeerSilentError, TransportError
from cofit.transport import (
    Conversation,
    Identity,
    Limits,
    Peer,
    Reception,
    RequestRefusedError,
    connect_mesh,
    converse,
    generate_identity,
)
from cofit.transport.authentication import MESH_PROTOCOL, SERVICE_PROTOCOL
from cofit.transport.frames import HEADER_BYTES, Kind
from support.identities import dated
from unit.transport.cluster import TERMS, identity, run_all
from unit.transport.desk import GENEROUS, answers, ask, at, echo, hello, raw_tls, read_all, receiving

pytestmark = pytest.mark.timeout(60)


def counted(reception: Reception, kind: str, least: int = 1) -> int:
    """How many refusals of that kind there were; waits a little for the first."""
    deadline = time.monotonic() + 3.0
    while reception.refusals.get(kind, 0) < least and time.monotonic() < deadline:
        time.sleep(0.01)
    return reception.refusals.get(kind, 0)


def never(conversation: Conversation) -> None:
    """A handler that nobody may reach."""
    reached.append(conversation.peer)


reached: list[str] = []


# --- certificates -------------------------------------------------------------------------------------------------


def test_a_stranger_with_a_certificate_of_its_own_is_refused() -> None:
    stranger = generate_identity("owner-a")
    with receiving(never) as reception:
        with pytest.raises(HandshakeError, match="rejected our certificate"):
            converse(stranger, at(reception), TERMS, connect_timeout=3.0)
        assert counted(reception, "certificate")
    assert not reached


def test_a_stranger_without_a_certificate_is_refused() -> None:
    with receiving(never) as reception:
        with pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"), raw_tls(reception, None) as tls:
            tls.sendall(hello())
            tls.recv(1)
        assert counted(reception, "no-tls")
    assert not reached


def test_a_reception_with_another_certificate_than_the_pinned_one_is_refused_and_named() -> None:
    with receiving(never) as reception:
        with pytest.raises(CertificateError) as caught:
            converse(identity("owner-a"), at(reception, pinned=generate_identity("P0")), TERMS, connect_timeout=3.0)
        assert caught.value.peer == "P0"
        assert counted(reception, "our-certificate")
    assert not reached


def test_a_participant_cannot_speak_in_the_name_of_another() -> None:
    liar = Identity("owner-b", identity("owner-a").certificate_pem, identity("owner-a").private_key_pem)
    reports: list[tuple[str, str | None, str]] = []
    with receiving(never, report=lambda *report: reports.append(report)) as reception:
        with pytest.raises(HandshakeError, match="disagree on who they are"):
            converse(liar, at(reception), TERMS, connect_timeout=3.0)
        assert counted(reception, "greeting")
    assert reports == [("greeting", "owner-a", "127.0.0.1")]
    assert not reached


DAY = timedelta(days=1)
DATES = {"has expired": (-30 * DAY, -DAY), "is not valid yet": (DAY, 30 * DAY)}


@pytest.mark.parametrize("what", DATES)
def test_a_pinned_participant_whose_certificate_is_not_valid_now_is_refused(what: str) -> None:
    late = dated("late", *DATES[what])
    with receiving(never, others={"late": late.certificate_pem}) as reception:
        with pytest.raises(HandshakeError, match="rejected our certificate"):
            converse(late, at(reception), TERMS, connect_timeout=3.0)
        assert counted(reception, "expired")
        assert reception.refusals.keys() == {"expired"}
    assert not reached


@pytest.mark.parametrize("what", DATES)
def test_a_pinned_reception_whose_certificate_is_not_valid_now_is_refused(what: str) -> None:
    late = dated("P0", *DATES[what])
    with receiving(never, who=late) as reception:
        with pytest.raises(CertificateError, match=what) as caught:
            converse(identity("owner-a"), at(reception, pinned=late), TERMS, connect_timeout=3.0)
        assert caught.value.peer == "P0"
        with pytest.raises(CertificateError, match=what):
            connect_mesh(identity("P1"), None, [at(reception, pinned=late)], [], TERMS, connect_timeout=3.0)
    assert not reached


# --- protocols ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocols", [[], ["http/1.1"], ["cofit-service/2"]])
def test_whoever_asks_for_no_known_protocol_is_refused_without_a_greeting(protocols: list[str]) -> None:
    with receiving(never) as reception:
        with raw_tls(reception, identity("owner-a"), protocols) as tls:
            tls.sendall(hello())
            assert read_all(tls) == b""
        assert counted(reception, "protocol")
    assert not reached


def test_an_owner_that_asks_for_the_mesh_is_refused_and_reported() -> None:
    reports: list[tuple[str, str | None, str]] = []
    with receiving(report=lambda *report: reports.append(report)) as reception:
        start = time.monotonic()
        with pytest.raises(HandshakeError, match="refused our greeting"):
            connect_mesh(identity("owner-a"), None, [at(reception)], [], TERMS, connect_timeout=5.0)
        assert time.monotonic() - start < 2.0
        assert counted(reception, "not-a-party") == 1
        assert reception.mesh_listener.waiting() == []
        assert reports == [("not-a-party", "owner-a", "127.0.0.1")]
        assert answers(reception, "owner-a")


def test_a_party_that_is_not_awaited_gets_no_place_in_a_mesh() -> None:
    """P2 asks for the mesh while P0 awaits P1 only."""
    with receiving() as reception:
        jobs: dict[str, Callable[[], object]] = {
            "P0": partial(
                connect_mesh,
                identity("P0"),
                reception.mesh_listener,
                [],
                [Peer("P1", "", 0, identity("P1").certificate_pem)],
                TERMS,
                connect_timeout=1.0,
            ),
            "P2": partial(connect_mesh, identity("P2"), None, [at(reception)], [], TERMS, connect_timeout=1.0),
        }
        outcomes = run_all(jobs)
    assert all(isinstance(outcome, TransportError) for outcome in outcomes.values()), outcomes


def test_a_party_that_asks_for_the_mesh_again_and_again_holds_one_place() -> None:
    with receiving() as reception, contextlib.ExitStack() as stack:
        for _ in range(50):
            stack.enter_context(raw_tls(reception, identity("P1"), [MESH_PROTOCOL]))
        time.sleep(0.3)
        assert len(reception.mesh_listener.waiting()) == 1
        assert answers(reception)


# --- strangers and floods -----------------------------------------------------------------------------------------


def test_strangers_that_say_nothing_are_closed_and_hold_nobody_up() -> None:
    with receiving(limits=Limits(stranger_seconds=0.5)) as reception:
        silent = [socket.create_connection(("127.0.0.1", reception.port), timeout=5.0) for _ in range(30)]
        start = time.monotonic()
        assert answers(reception)
        assert time.monotonic() - start < 2.0
        for connection in silent:
            assert connection.recv(1) == b""
            connection.close()
        assert time.monotonic() - start < 3.0
        assert counted(reception, "silent", 30) == 30


def test_a_participant_that_does_not_greet_is_closed() -> None:
    with receiving(never, limits=Limits(stranger_seconds=0.5)) as reception:
        for sent in (b"", hello()[:50]):
            with raw_tls(reception, identity("owner-a")) as tls:
                tls.sendall(sent)
                start = time.monotonic()
                read_all(tls)
                assert time.monotonic() - start < 2.0
        assert counted(reception, "silent", 2) == 2
    assert not reached


@pytest.mark.timeout(150)
def test_a_flood_of_strangers_does_not_keep_participants_out() -> None:
    """One at a time they would be limited by their address, which here is everybody's, or by their time."""
    with receiving(limits=replace(GENEROUS, stranger_seconds=200.0)) as reception:
        with flooded(reception.port):
            time.sleep(1.0)
            with ask(reception, patience=60.0, timeout=20.0) as conversation:
                conversation.request({"still": "there"})
            assert counted(reception, "no-room", 100) >= 100
        assert answers(reception)


def test_one_address_is_limited_and_may_come_again_later() -> None:
    with receiving(limits=Limits(address_rate=2.0, address_burst=5)) as reception:
        closed = 0
        for _ in range(50):
            with (
                socket.create_connection(("127.0.0.1", reception.port), timeout=0.05) as connection,
                contextlib.suppress(TimeoutError),
            ):
                closed += connection.recv(1) == b""
        assert closed > 20
        assert counted(reception, "address-rate") >= closed
        assert answers(reception), "the client dials again until it is let in"


@pytest.mark.parametrize("error", [ssl.SSLSyscallError, ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionResetError])
def test_a_connection_that_breaks_in_the_handshake_is_dialled_again(
    error: type[OSError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever OpenSSL calls it: a limit, a restart or a network may close a connection at any moment."""
    original = ssl.SSLSocket.do_handshake
    broken: list[type[OSError]] = []

    def breaks_once(tls: ssl.SSLSocket, block: bool = False) -> None:
        if not tls.server_side and not broken:
            broken.append(error)
            raise error(8, "Some I/O error occurred")
        original(tls, block)

    monkeypatch.setattr(ssl.SSLSocket, "do_handshake", breaks_once)
    with receiving() as reception:
        assert answers(reception)
    assert broken


def test_one_participant_is_limited_and_others_are_not() -> None:
    with receiving(limits=Limits(peer_rate=0.5, peer_burst=3)) as reception:
        for _ in range(3):
            assert answers(reception, "owner-a")
        with pytest.raises(PeerSilentError, match="closed the connection before it greeted"):
            ask(reception, "owner-a", patience=0.5)
        assert counted(reception, "peer-rate")
        assert answers(reception, "owner-b")
        with ask(reception, "owner-a", patience=10.0) as conversation:
            conversation.request({})


def test_a_participant_that_opens_200_conversations_gets_its_share_and_polite_refusals() -> None:
    running = threading.active_count()
    limits = Limits(conversations_per_peer=4, conversations=6, peer_burst=1000, address_burst=10_000)
    with receiving(limits=limits, timeout=60.0) as reception:
        held: list[Conversation] = []
        refused = 0
        for _ in range(200):
            conversation = ask(reception, "owner-a")
            try:
                conversation.request({})
                held.append(conversation)
            except RequestRefusedError as error:
                assert error.kind == "busy"
                refused += 1
                conversation.close()
        assert (len(held), refused) == (4, 196)
        assert reception.refusals == {"busy": 196}
        assert threading.active_count() <= running + 5
        assert answers(reception, "owner-b")
        more = [ask(reception, name) for name in ("P1", "P2")]
        for conversation in more:
            conversation.request({})
        with ask(reception, "owner-b") as late, ask(reception, "owner-b") as later, ask(reception, "owner-b") as last:
            late.request({})  # all places are taken, and two are kept for everybody
            later.request({})
            with pytest.raises(RequestRefusedError, match="too many conversations"):
                last.request({})
        for conversation in (*held, *more):
            conversation.close()
        deadline = time.monotonic() + 3.0
        while threading.active_count() > running + 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert answers(reception, "owner-a")
    assert threading.active_count() == running


def test_no_session_is_resumed() -> None:
    with receiving() as reception, raw_tls(reception, identity("owner-a")) as tls:
        tls.sendall(hello())
        assert tls.recv(1 << 16)
        assert tls.session is not None and not tls.session.has_ticket


def test_the_protocol_is_confirmed_and_a_refused_mesh_dialler_hears_one_frame_only() -> None:
    with receiving() as reception:
        with raw_tls(reception, identity("owner-a"), [SERVICE_PROTOCOL]) as tls:
            assert tls.selected_alpn_protocol() == SERVICE_PROTOCOL
        with raw_tls(reception, identity("owner-a"), [MESH_PROTOCOL]) as tls:
            raw = read_all(tls)
            assert len(raw) == HEADER_BYTES + 1 and raw[6] == Kind.REFUSE


def test_a_reception_without_descriptors_rests_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accepting fails although somebody waits: the loop must not spin."""
    with receiving(echo) as reception:
        accepts = 0
        real = reception._listener.accept

        def fail() -> socket.socket | None:
            nonlocal accepts
            accepts += 1
            return None

        monkeypatch.setattr(reception._listener, "accept", fail)
        with socket.create_connection(("127.0.0.1", reception.port)):
            time.sleep(0.5)
        assert 1 <= accepts < 30
        monkeypatch.setattr(reception._listener, "accept", real)
        assert answers(reception)
