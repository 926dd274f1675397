"""Whatever strangers do on the port, the parties meet; old protocols are refused."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from adversary.transport.ports import accepting, flooded, listening, peer
from cofit.errors import HandshakeError, PeerSilentError, TransportError
from cofit.transport import Identity, Listener, Mesh, Peer, connect_mesh, generate_identity
from cofit.transport.frames import HEADER_BYTES, NO_TAG, Kind, control_frame
from cofit.transport.terms import HELLO_BYTES, encode_hello
from unit.transport.cluster import NAMES, TERMS, identity, join_tls, neighbours, results, run_all

pytestmark = pytest.mark.timeout(60)


def three_parties_meet(stranger: Callable[[int], object]) -> float:
    """Let a stranger at P0's port before the parties start; return how long they needed to meet and talk."""

    def job(name: str) -> None:
        with join_tls(name, listeners) as mesh:
            left, right = neighbours(mesh)
            mesh.exchange("x", {left: b"1"}, {right: bytearray(1)})

    with listening(*NAMES) as listeners:
        leftover = stranger(listeners["P0"].port)
        start = time.monotonic()
        results(run_all({name: partial(job, name) for name in NAMES}))
        seconds = time.monotonic() - start
        if isinstance(leftover, list):
            for connection in leftover:
                connection.close()
    return seconds


def open_silent(port: int) -> list[socket.socket]:
    return [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]


def send_garbage(port: int) -> list[socket.socket]:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(b"GET / HTTP/1.1\r\n\r\n" + bytes(range(256)) * 10)
    return [connection]


def drip(port: int) -> list[socket.socket]:
    """The first bytes of a TLS record, and then nothing."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(b"\x16\x03\x01")
    return [connection]


def scan(port: int) -> list[socket.socket]:
    for _ in range(5):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        connection.close()
    return []


@pytest.mark.parametrize("stranger", [open_silent, send_garbage, drip, scan])
def test_strangers_do_not_hold_up_the_parties(stranger: Callable[[int], list[socket.socket]]) -> None:
    assert three_parties_meet(stranger) < 3.0


def test_a_stranger_that_says_nothing_is_closed_while_the_party_waits_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cofit.transport.tls_mesh.STRANGER_SECONDS", 0.3)
    with listening("P0") as listeners:
        accept = accepting(identity("P0"), listeners, seconds=3.0)

        def stranger() -> float:
            start = time.monotonic()
            with socket.create_connection(("127.0.0.1", listeners["P0"].port), timeout=10.0) as connection:
                assert connection.recv(1) == b""
            return time.monotonic() - start

        jobs: dict[str, Callable[[], object]] = {"P0": accept, "stranger": stranger}
        outcomes = run_all(jobs)
    assert isinstance(outcomes["stranger"], float) and outcomes["stranger"] < 2.0
    assert isinstance(outcomes["P0"], TransportError)


def test_strangers_that_take_every_place_again_and_again_do_not_keep_the_parties_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cofit.transport.tls_mesh.STRANGER_SECONDS", 60.0)
    with contextlib.ExitStack() as stack:

        def stranger(port: int) -> None:
            stack.enter_context(flooded(port))
            time.sleep(0.3)

        three_parties_meet(stranger)


def test_a_peer_that_has_authenticated_keeps_its_place_however_many_strangers_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P1 authenticates, then greets only after more strangers have come than there is room for."""
    monkeypatch.setattr("cofit.transport.tls_mesh.MAX_STRANGERS", 8)
    with listening("P0") as listeners:
        port = listeners["P0"].port
        accept = partial(
            connect_mesh, identity("P0"), listeners["P0"], [], [peer("P1", listeners, identity("P1"))], TERMS
        )

        def slow_peer() -> int:
            context = client_context(tmp_path, identity("P1"))
            with (
                socket.create_connection(("127.0.0.1", port), timeout=5.0) as connection,
                context.wrap_socket(connection) as tls,
            ):
                assert len(tls.recv(1 << 16)) == HEADER_BYTES + HELLO_BYTES
                strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
                time.sleep(0.3)
                hello = encode_hello(TERMS, "P1", "P0")
                tls.sendall(control_frame(Kind.HELLO, TERMS.version, NO_TAG, 0, hello))
                time.sleep(0.3)
                for stranger in strangers:
                    stranger.close()
            return len(strangers)

        jobs: dict[str, Callable[[], object]] = {"P0": accept, "P1": slow_peer}
        outcomes = run_all(jobs)
    assert outcomes["P1"] == 40
    mesh = outcomes["P0"]
    assert isinstance(mesh, Mesh), mesh
    assert mesh.peers == ("P1",)
    mesh.close()


@pytest.mark.parametrize("when", ["before TLS", "before the greeting", "in the greeting"])
def test_a_dialler_tries_again_when_the_connection_closes_before_it_was_greeted(tmp_path: Path, when: str) -> None:
    """The first connection comes to nothing; then P0 itself answers."""
    path = tmp_path / "server.pem"
    path.write_text(identity("P0").private_key_pem + identity("P0").certificate_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)

    def hang_up_once(listener: Listener) -> None:
        while (connection := listener.accept()) is None:
            time.sleep(0.01)
        connection.setblocking(True)
        if when == "before TLS":
            connection.close()
            return
        with context.wrap_socket(connection, server_side=True) as tls:
            tls.recv(1 << 16)
            if when == "in the greeting":
                tls.sendall(control_frame(Kind.HELLO, TERMS.version, NO_TAG, 0, encode_hello(TERMS, "P0", "P1"))[:99])

    with listening("P0") as listeners:

        def answer() -> Mesh:
            hang_up_once(listeners["P0"])
            peers = [peer("P1", listeners, identity("P1"))]
            return connect_mesh(identity("P0"), listeners["P0"], [], peers, TERMS, connect_timeout=5.0)

        target = peer("P0", listeners, identity("P0"))
        dial = partial(connect_mesh, identity("P1"), None, [target], [], TERMS, connect_timeout=5.0)
        jobs: dict[str, Callable[[], Mesh]] = {"P0": answer, "P1": dial}
        meshes = results(run_all(jobs))
    for mesh in meshes.values():
        mesh.close()


def test_a_dialler_that_is_never_greeted_says_so_in_time(tmp_path: Path) -> None:
    path = tmp_path / "server.pem"
    path.write_text(identity("P0").private_key_pem + identity("P0").certificate_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)

    def serve(server: socket.socket) -> None:
        server.settimeout(0.6)
        with contextlib.suppress(TimeoutError):
            while True:
                connection, _ = server.accept()
                with context.wrap_socket(connection, server_side=True) as tls:
                    tls.recv(1 << 16)

    with socket.create_server(("127.0.0.1", 0)) as server:
        target = Peer("P0", "127.0.0.1", server.getsockname()[1], identity("P0").certificate_pem)
        dial = partial(connect_mesh, identity("P1"), None, [target], [], TERMS, connect_timeout=0.5)
        jobs: dict[str, Callable[[], object]] = {"P1": dial, "server": partial(serve, server)}
        start = time.monotonic()
        outcomes = run_all(jobs)
    error = outcomes["P1"]
    assert isinstance(error, PeerSilentError) and error.peer == "P0"
    assert "before it greeted" in str(error)
    assert time.monotonic() - start < 5.0


def client_context(tmp_path: Path, who: Identity | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if who is not None:
        path = tmp_path / "who.pem"
        path.write_text(who.private_key_pem + who.certificate_pem)
        context.load_cert_chain(path)
    return context


def try_tls(port: int, context: ssl.SSLContext) -> bytes:
    with (
        socket.create_connection(("127.0.0.1", port), timeout=3.0) as connection,
        context.wrap_socket(connection) as tls,
    ):
        return tls.recv(1)


@pytest.mark.parametrize("who", ["nobody", "stranger", "old protocol"])
def test_a_client_without_certificate_or_with_tls_1_2_is_refused(tmp_path: Path, who: str) -> None:
    known = {"nobody": None, "stranger": generate_identity("P1"), "old protocol": identity("P1")}[who]
    context = client_context(tmp_path, known)
    if who == "old protocol":
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    with listening("P0") as listeners:
        accept = accepting(identity("P0"), listeners)
        jobs: dict[str, Callable[[], object]] = {"P0": accept}
        jobs["stranger"] = partial(try_tls, listeners["P0"].port, context)
        outcomes = run_all(jobs)
    assert isinstance(outcomes["stranger"], ssl.SSLError), outcomes
    assert isinstance(outcomes["P0"], TransportError)
    assert outcomes["P0"].peer == "P1"


def test_a_server_of_tls_1_2_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "server.pem"
    path.write_text(identity("P0").private_key_pem + identity("P0").certificate_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    context.maximum_version = ssl.TLSVersion.TLSv1_2

    def serve(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection, pytest.raises(ssl.SSLError):
            context.wrap_socket(connection, server_side=True)

    with socket.create_server(("127.0.0.1", 0)) as server:
        target = Peer("P0", "127.0.0.1", server.getsockname()[1], identity("P0").certificate_pem)
        dial = partial(connect_mesh, identity("P1"), None, [target], [], TERMS, connect_timeout=3.0)
        jobs: dict[str, Callable[[], object]] = {"P1": dial, "server": partial(serve, server)}
        outcomes = run_all(jobs)
    assert isinstance(outcomes["P1"], HandshakeError)
    assert outcomes["P1"].peer == "P0"


def test_no_session_is_resumed(tmp_path: Path) -> None:
    """P0 issues no ticket, so what a peer keeps of one connection does not spare it the next authentication."""
    context = client_context(tmp_path, identity("P1"))
    with listening("P0") as listeners:
        port = listeners["P0"].port
        peers = [peer("P1", listeners, identity("P1"))]
        accept = partial(connect_mesh, identity("P0"), listeners["P0"], [], peers, TERMS, connect_timeout=5.0)

        def dial_twice() -> tuple[bool, bool | None]:
            with (
                socket.create_connection(("127.0.0.1", port), timeout=5.0) as connection,
                context.wrap_socket(connection) as first,
            ):
                assert first.recv(1 << 16)  # a ticket would have come before this greeting
                assert first.session is not None
                with (
                    socket.create_connection(("127.0.0.1", port), timeout=5.0) as another,
                    context.wrap_socket(another, session=first.session) as second,
                ):
                    assert second.recv(1 << 16)
                    hello = encode_hello(TERMS, "P1", "P0")
                    second.sendall(control_frame(Kind.HELLO, TERMS.version, NO_TAG, 0, hello))
                    time.sleep(0.2)
                    return first.session.has_ticket, second.session_reused

        jobs: dict[str, Callable[[], object]] = {"P0": accept, "P1": dial_twice}
        outcomes = run_all(jobs)
    assert outcomes["P1"] == (False, False)
    assert isinstance(outcomes["P0"], Mesh)
    outcomes["P0"].close()
