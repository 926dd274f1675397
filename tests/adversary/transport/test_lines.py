"""Lines through proxies that cut, freeze, stall and tamper: the program notices nothing but time, or an error."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cofit.errors import PeerAbortedError, PeerClosedError, PeerSilentError, TransportError
from cofit.transport import Mesh, connect_mesh
from cofit.transport.authentication import Peer
from support.proxy import DOWN, UP, Connection, Shape
from unit.transport.cluster import NAMES, TERMS, identity, neighbours, results, run_all
from unit.transport.wires import Wires, breaks, wait_until, wires

pytestmark = pytest.mark.timeout(120)
PAIR = ("P0", "P1")


def ring(mesh: Mesh, size: int = 2000, rounds: int = 60, pause: float = 0.01) -> int:
    """Everyone depends on every message, and knows what is in it; returns how many connections broke."""
    left, right = neighbours(mesh, NAMES)
    got = bytearray(size)
    for step in range(rounds):
        mesh.exchange(f"step {step}", {left: bytes([step % 251]) * size}, {right: got})
        assert got == bytes([step % 251]) * size
        time.sleep(pause)
    return breaks(mesh)


@contextmanager
def meanwhile(work: object) -> Iterator[None]:
    """Call ``work`` in a thread, which must end."""
    assert callable(work)
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    yield
    thread.join(30)
    assert not thread.is_alive()


def in_a_session(net: Wires) -> None:
    """Wait until all parties have their meshes, with the keys of their lines, and talk."""

    def keyed(name: str) -> bool:
        lines = net.receptions[name].lines._lines.values()
        return len(lines) == len(net.names) - 1 and all(line.ticket is not None for line in lines)

    wait_until(lambda: all(map(keyed, net.names)))
    time.sleep(0.15)


def every(net: Wires, seconds: float, times: int) -> None:
    in_a_session(net)
    for _ in range(times):
        net.cut()
        time.sleep(seconds)


def test_a_line_survives_a_break_also_where_the_program_has_not_read_from_it_yet() -> None:
    """The keys come before everything else, and whoever only sends gets them as well, at once."""
    with wires(PAIR) as net:

        def program(mesh: Mesh) -> int:
            if mesh.name == "P0":
                time.sleep(0.5)
                net.cut()
                mesh.exchange("late", {"P1": b"words"}, {})
                return breaks(mesh)
            time.sleep(0.7)
            got = bytearray(5)
            mesh.exchange("late", {}, {"P0": got})
            assert got == b"words"
            return breaks(mesh)

        assert results(net.run(program, timeout=12.0))["P1"] == 1


@pytest.mark.parametrize(("size", "rounds"), [(2000, 60), pytest.param(3_000_000, 40, marks=pytest.mark.slow)])
def test_cuts_in_the_middle_cost_nothing_but_time(size: int, rounds: int) -> None:
    with wires() as net, meanwhile(lambda: every(net, 0.2, 4)):
        found = results(net.run(lambda mesh: ring(mesh, size, rounds)))
        assert min(found.values()) >= 2
        assert not any(net.receptions[name].refusals.get("resumption") for name in NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("most", [3000, 5000, 7001, 12_345, 40_000])
def test_cuts_after_any_number_of_bytes(most: int) -> None:
    def cut(net: Wires) -> None:
        in_a_session(net)
        for proxy in net.proxies.values():
            proxy.most_bytes = max(most, 4500)  # a resumption itself must fit

    with wires() as net, meanwhile(lambda: cut(net)):
        assert min(results(net.run(ring)).values()) >= 1


def test_both_lines_of_a_party_at_once_and_one_that_stays_away_for_a_while() -> None:
    def away(net: Wires) -> None:
        in_a_session(net)
        for proxy in net.proxies.values():
            proxy.refuses = True
        net.cut()
        time.sleep(1.0)
        for proxy in net.proxies.values():
            proxy.refuses = False

    with wires() as net, meanwhile(lambda: away(net)):
        start = time.monotonic()
        assert min(results(net.run(lambda mesh: ring(mesh, rounds=80), timeout=4.0)).values()) >= 2
        assert time.monotonic() - start > 1.0


def test_a_half_open_connection_is_replaced() -> None:
    """Neither end is told that the connection is dead; a middle box answers for both."""

    def freeze(net: Wires) -> None:
        in_a_session(net)
        net.proxies["P0"].freeze()

    with wires() as net, meanwhile(lambda: freeze(net)):
        found = results(net.run(lambda mesh: ring(mesh, rounds=40), timeout=3.0))
        assert found["P0"] >= 2


def test_dead_connections_are_replaced_though_messages_of_others_wait_unread() -> None:
    """Each waits for the next one over a dead connection, and has not asked for what the one before has sent."""

    def ring_with_unread(mesh: Mesh) -> int:
        left, right = neighbours(mesh, NAMES)
        got = bytearray(5)
        mesh.exchange("unread", {right: b"later"}, {})
        time.sleep(0.8)
        mesh.exchange("awaited", {left: b"now.."}, {right: got})
        assert got == b"now.."
        mesh.exchange("unread", {}, {left: got})
        assert got == b"later"
        return breaks(mesh)

    def freeze(net: Wires) -> None:
        in_a_session(net)
        for proxy in net.proxies.values():
            proxy.freeze()

    with wires() as net, meanwhile(lambda: freeze(net)):
        found = results(net.run(ring_with_unread, timeout=8.0))
        assert min(found.values()) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 400, 900, 1400, 1700, 2100])
def test_a_connection_that_goes_half_open_while_it_is_brought_back_is_replaced(after: int) -> None:
    """In the TLS handshake, or between the messages of the resumption: no attempt is waited for until the time-out."""
    frozen: list[int] = []

    def freeze(connection: Connection, way: str, passed: int, data: bytes) -> bytes:
        if len(frozen) < 2 and connection.number not in frozen and connection.passed[UP] >= after:
            frozen.append(connection.number)
            connection.frozen = True
        return data

    def cut(net: Wires) -> None:
        in_a_session(net)
        net.proxies["P0"].meddle = freeze
        net.cut()

    with wires(PAIR) as net, meanwhile(lambda: cut(net)):
        start = time.monotonic()
        results(net.run(lambda mesh: talk(mesh, 100), timeout=8.0))
        assert frozen and time.monotonic() - start < 20.0


@pytest.mark.slow
@pytest.mark.parametrize("way", [UP, DOWN])
def test_a_direction_that_stalls_for_a_while(way: str) -> None:
    def stall(net: Wires) -> None:
        in_a_session(net)
        net.proxies["P0"].stalled = {way}
        time.sleep(2.5)
        net.proxies["P0"].stalled = set()

    with wires() as net, meanwhile(lambda: stall(net)):
        results(net.run(lambda mesh: ring(mesh, rounds=40), timeout=6.0))


def test_a_peer_that_stays_away_ends_the_session_in_time() -> None:
    def leave(net: Wires) -> None:
        in_a_session(net)
        for proxy in net.proxies.values():
            proxy.refuses = True
        net.cut()

    with wires(PAIR) as net, meanwhile(lambda: leave(net)):
        start = time.monotonic()
        outcomes = net.run(lambda mesh: talk(mesh, 2000), timeout=1.5)
        assert all(isinstance(error, PeerSilentError) for error in outcomes.values()), outcomes
        assert "could not be brought back" in str(outcomes["P0"])
        assert time.monotonic() - start < 8.0


def talk(mesh: Mesh, rounds: int, pause: float = 0.01) -> int:
    """Two parties: each message is answered."""
    (other,) = mesh.peers
    for step in range(rounds):
        got = bytearray(100)
        mesh.exchange("talk", {other: bytes([step % 251]) * 100}, {other: got})
        assert got == bytes([step % 251]) * 100
        time.sleep(pause)
    return breaks(mesh)


@pytest.mark.parametrize("who", PAIR)
def test_a_process_that_forgot_the_session_cannot_resume_it_and_says_so(who: str) -> None:
    """As after a restart: same key, same address, and nothing in memory. One end dials and is told, the other asks."""
    with wires(PAIR) as net:

        def program(mesh: Mesh) -> None:
            if mesh.name != who:
                talk(mesh, 1000)
                return
            talk(mesh, 5)
            assert mesh._keeper is not None
            mesh._keeper.stop()
            mesh._keeper._thread.join()
            net.cut()
            for line in mesh._keeper.lines.values():
                line.close()

        start = time.monotonic()
        other = "P1" if who == "P0" else "P0"
        error = net.run(program, timeout=30.0)[other]
        assert isinstance(error, PeerClosedError), error
        assert time.monotonic() - start < 10.0, "it need not wait for the time-out"


def test_an_abort_is_heard_also_where_the_line_is_down() -> None:
    """The aborting end has gone when the other one dials again: the answer is that the session has ended."""

    def program(net: Wires, mesh: Mesh) -> None:
        if mesh.name == "P0":
            talk(mesh, 3)
            raise RuntimeError
        talk(mesh, 1000)

    with wires(PAIR) as net:
        outcomes = net.run(lambda mesh: program(net, mesh), timeout=30.0)
        assert isinstance(outcomes["P1"], PeerAbortedError)
    with wires(PAIR) as net:

        def cut_then_fail(mesh: Mesh) -> None:
            if mesh.name == "P0":
                talk(mesh, 3)
                net.proxies["P0"].refuses = True
                net.cut()
                mesh.abort("enough")
                net.proxies["P0"].refuses = False
            else:
                talk(mesh, 1000)

        start = time.monotonic()
        error = net.run(cut_then_fail, timeout=30.0)["P1"]
        assert isinstance(error, PeerClosedError | PeerAbortedError), error
        assert time.monotonic() - start < 10.0


def _altered(connection: Connection, way: str, passed: int, data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:] if passed > 3500 else data


def _repeated(connection: Connection, way: str, passed: int, data: bytes) -> bytes:
    return data + data if passed > 3500 else data


def _withheld(connection: Connection, way: str, passed: int, data: bytes) -> bytes:
    return data[:-1] if passed > 3500 else data


@pytest.mark.parametrize("lie", [_altered, _repeated, _withheld])
def test_bytes_that_are_altered_repeated_or_withheld_after_a_resumption_are_refused(lie: object) -> None:
    """Never delivered: the connection is given up and replaced for as long as it lasts, and the session goes on."""

    def tamper(net: Wires) -> None:
        in_a_session(net)
        proxy = net.proxies["P0"]
        proxy.meddle = lie  # type: ignore[assignment]
        net.cut()
        time.sleep(1.5)
        proxy.meddle = None
        net.cut()

    with wires(PAIR) as net, meanwhile(lambda: tamper(net)):
        assert results(net.run(lambda mesh: talk(mesh, 150), timeout=8.0))["P1"] >= 2


def test_a_recorded_connection_played_again_gains_nothing() -> None:
    """A replay of all bytes of a resumption on a new connection fails in TLS, and the line does not notice."""
    record: list[bytes] = []

    def keep(connection: Connection, way: str, passed: int, data: bytes) -> bytes:
        if way == UP and connection.number >= 1:
            record.append(data)
        return data

    def replay(net: Wires) -> None:
        in_a_session(net)
        net.proxies["P0"].meddle = keep
        net.cut()
        time.sleep(0.5)
        count = len(record)
        with socket_to(net) as connection:
            for data in record[:count]:
                connection.sendall(data)
            time.sleep(0.3)

    with wires(PAIR) as net, meanwhile(lambda: replay(net)):
        assert results(net.run(lambda mesh: talk(mesh, 120)))["P0"] == 1
        assert record


@contextmanager
def socket_to(net: Wires) -> Iterator[socket.socket]:
    with socket.create_connection(net.proxies["P0"].target) as connection:
        yield connection


def test_the_last_message_arrives_though_the_connection_breaks_and_the_sender_has_ended() -> None:
    shape = Shape(delay=0.2)
    with wires(PAIR, shape) as net:

        def program(mesh: Mesh) -> bytes:
            talk(mesh, 1)
            got = bytearray(5)
            if mesh.name == "P0":
                mesh.exchange("last", {"P1": b"words"}, {})
                net.cut()  # it has not arrived
            else:
                mesh.exchange("last", {}, {"P0": got})
            return bytes(got)

        assert results(net.run(program))["P1"] == b"words"
        wait_until(lambda: not any(net.receptions[name].lines._lines for name in PAIR))


def test_who_waits_for_one_that_does_not_come_learns_at_once_that_another_one_has_left() -> None:
    """Else it would come late to the next session, and to every one after it."""
    with wires() as net:
        start = time.monotonic()

        def leaves() -> None:
            net.join("P0", connect_timeout=0.8)  # P2 does not come

        outcomes = run_all({"P0": leaves, "P1": lambda: net.join("P1", connect_timeout=30.0)})
        assert isinstance(outcomes["P0"], PeerSilentError)
        assert isinstance(outcomes["P1"], PeerClosedError), outcomes
        assert time.monotonic() - start < 10.0


def test_a_mesh_with_lines_and_one_without_refuse_each_other() -> None:
    with wires(PAIR) as net:

        def old(mesh_name: str) -> Mesh:
            peer = Peer("P0", "127.0.0.1", net.proxies["P0"].port, identity("P0").certificate_pem)
            return connect_mesh(identity(mesh_name), None, [peer], [], TERMS, connect_timeout=5.0)

        outcomes = run_all({"P0": lambda: net.join("P0", connect_timeout=5.0), "P1": lambda: old("P1")})
        assert all(isinstance(error, TransportError) for error in outcomes.values())
        assert "protocol versions" in str(outcomes["P1"])
