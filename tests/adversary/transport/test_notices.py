"""A member that lies or babbles in its notices (ABORT and WAITING): nobody crashes, and nobody is held up by it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from functools import partial

import pytest

from cofit.errors import FrameError, MeshClosedError, PeerAbortedError, PeerSilentError, TransportError
from cofit.transport import HEADER_BYTES, FaultPlan, Mesh, Rewrite, memory_meshes
from cofit.transport.farewell import part
from cofit.transport.frames import HEADER, Kind, control_frame, pack_blame
from cofit.transport.link import LinkClosedError
from cofit.transport.memory import Bell, MemoryLink, Pipe
from unit.transport.cluster import KINDS, NAMES, TERMS, run_all, run_cluster
from unit.transport.cluster import Kind as MeshKind

pytestmark = pytest.mark.timeout(60)
kinds = pytest.mark.parametrize("kind", KINDS)

MALFORMED = {
    "no text": b"\xff" * 256,
    "too long": b"\x41" + b"A" * 65,
    "cut short": b"\x40abc",
    "no name": b"\x00why",
    "empty": b"",
    "unprintable": b"\x04\x1b[2J",
}


def instead_of_data(notice: Kind, payload: bytes) -> FaultPlan:
    """The first message of a link becomes a notice with that payload."""

    def change(number: int, frame: bytes) -> bytes:
        _, version, _, _, _, tag, turn, _ = HEADER.unpack(frame[:HEADER_BYTES])
        return control_frame(notice, version, tag, turn, payload)

    return FaultPlan({1: Rewrite(change)})


def collect_at_p0(mesh: Mesh) -> None:
    """P1 and P2 send to P0 and wait for its answer."""
    if mesh.name == "P0":
        mesh.exchange("x", {}, {peer: bytearray(8) for peer in mesh.peers})
    else:
        mesh.exchange("x", {"P0": bytes(8)}, {"P0": bytearray(8)})


@pytest.mark.parametrize(
    ("kind", "notice", "what"),
    [
        *(("memory", Kind.ABORT, what) for what in MALFORMED),
        ("memory", Kind.WAITING, "no text"),
        ("tls", Kind.ABORT, "no text"),
        ("tls", Kind.WAITING, "no text"),
    ],
)
def test_a_malformed_notice_is_a_typed_error_and_everybody_hears_of_it(kind: MeshKind, notice: Kind, what: str) -> None:
    plans = {"P1": {"P0": instead_of_data(notice, MALFORMED[what])}}
    start = time.monotonic()
    outcomes = run_cluster(kind, collect_at_p0, timeout=10.0, plans=plans)
    victim = outcomes["P0"]
    assert type(victim) is FrameError and victim.peer == "P1"
    assert str(victim).isprintable()
    for name in ("P1", "P2"):
        error = outcomes[name]
        assert isinstance(error, PeerAbortedError) and error.culprit == "P1", error
    assert time.monotonic() - start < 5.0


@kinds
def test_an_abort_that_blames_an_unknown_name_quotes_it_and_blames_its_sender(kind: MeshKind) -> None:
    plans = {"P1": {"P0": instead_of_data(Kind.ABORT, pack_blame("Mallory", "so"))}}
    outcomes = run_cluster(kind, collect_at_p0, timeout=10.0, plans=plans)
    victim = outcomes["P0"]
    assert isinstance(victim, PeerAbortedError)
    assert victim.peer == victim.culprit == "P1"
    assert "'Mallory', whom this party does not know" in str(victim)
    for name in ("P1", "P2"):
        error = outcomes[name]
        assert isinstance(error, PeerAbortedError) and error.culprit == "P1", error


def test_a_member_without_a_link_to_us_can_be_blamed() -> None:
    """P0 knows of P2 only by name; P1, between them, blames it."""
    meshes = memory_meshes(NAMES, TERMS, 1.0, links=[("P0", "P1"), ("P1", "P2")])

    def wait_for(name: str, peer: str) -> None:
        with meshes[name] as mesh:
            mesh.exchange("x", {}, {peer: bytearray(8)})

    outcomes = run_all({"P0": partial(wait_for, "P0", "P1"), "P1": partial(wait_for, "P1", "P2")})
    for name in ("P0", "P1"):
        error = outcomes[name]
        assert isinstance(error, PeerSilentError | PeerAbortedError), error
        assert (error.culprit if isinstance(error, PeerAbortedError) else error.peer) == "P2"


def test_many_silent_members_with_long_names_are_named_and_told() -> None:
    """Together the names are longer than a notice; the peer of the error is one of them."""
    names = ["A", *(f"{number:02d}" + "N" * 62 for number in range(20))]
    meshes = memory_meshes(names, TERMS, 0.5)
    with pytest.raises(PeerSilentError) as caught:
        meshes["A"].exchange("x", {}, {name: bytearray(8) for name in names[1:]})
    assert caught.value.peer == names[1]
    assert all(name in str(caught.value) for name in names[1:])
    for name in names[1:3]:
        with pytest.raises(PeerAbortedError) as told:
            meshes[name].exchange("x", {}, {"A": bytearray(8)})
        assert told.value.culprit == names[1]


def test_all_links_are_closed_whatever_goes_wrong_with_the_farewell(monkeypatch: pytest.MonkeyPatch) -> None:
    meshes = memory_meshes(NAMES, TERMS, 0.3)

    def broken(*_: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr("cofit.transport.mesh.part", broken)
    with pytest.raises(PeerSilentError):
        meshes["P0"].exchange("x", {}, {"P1": bytearray(8)})
    monkeypatch.undo()
    with pytest.raises(MeshClosedError):
        meshes["P0"].exchange("x", {}, {"P1": bytearray(8)})
    for name in ("P1", "P2"):
        with pytest.raises(TransportError):
            meshes[name].exchange("x", {}, {"P0": bytearray(8)})


def test_one_link_that_fails_while_it_is_told_does_not_keep_the_others_uninformed() -> None:
    meshes = memory_meshes(NAMES, TERMS, 5.0)
    meshes["P0"]._channels["P1"].link.close()
    meshes["P0"].abort("the check failed")
    with pytest.raises(PeerAbortedError, match="the check failed"):
        meshes["P2"].exchange("x", {}, {"P0": bytearray(8)})


# --- notices do not prolong the time-out ------------------------------------------------------------------------


def flood(mesh: Mesh, until: float) -> None:
    """Notices without a pause."""
    channel = mesh._channels["P0"]
    while time.monotonic() < until:
        for _ in range(200):
            channel.queue_waiting("P2")
        while not channel.link.pump_send() and time.monotonic() < until:
            pass


def repeat(mesh: Mesh, until: float) -> None:
    """A whole notice now and then."""
    channel = mesh._channels["P0"]
    while time.monotonic() < until:
        channel.queue_waiting("P2")
        channel.link.pump_send()
        time.sleep(0.1)


def cut(mesh: Mesh, until: float) -> None:
    """Now and then the end of one notice and the beginning of the next."""
    channel = mesh._channels["P0"]
    held = b""
    for turn in range(1, 1000):
        held += control_frame(Kind.WAITING, TERMS.version, channel._send_tag, turn, pack_blame("P2", ""))
        channel.link.queue([held[:-30]])
        channel.link.pump_send()
        held = held[-30:]
        time.sleep(0.1)
        if time.monotonic() >= until:
            return


def drip(mesh: Mesh, until: float) -> None:
    """A notice, byte by byte."""
    channel = mesh._channels["P0"]
    for byte in control_frame(Kind.WAITING, TERMS.version, channel._send_tag, 1, pack_blame("P2", "x" * 1000)):
        channel.link.queue([bytes([byte])])
        channel.link.pump_send()
        time.sleep(0.1)
        if time.monotonic() >= until:
            return


@pytest.mark.parametrize(("kind", "size"), [("memory", 8), ("tls", 100_000)])
@pytest.mark.parametrize("babble", [flood, repeat, cut, drip])
def test_notices_do_not_prolong_the_time_out(kind: MeshKind, size: int, babble: Callable[[Mesh, float], None]) -> None:
    timeout, seconds = 0.5, []

    def program(mesh: Mesh) -> None:
        start = time.monotonic()
        if mesh.name == "P1":
            with contextlib.suppress(LinkClosedError):
                babble(mesh, start + 20 * timeout)  # ends earlier, with the connection
            return
        try:
            mesh.exchange("x", {}, {"P1": bytearray(size)})
        finally:
            seconds.append(time.monotonic() - start)

    outcomes = run_cluster(kind, program, NAMES[:2], timeout=timeout)
    error = outcomes["P0"]
    assert isinstance(error, PeerSilentError), error
    assert error.peer == "P1", "P2 is no member of this run"
    assert timeout <= seconds[0] < 15 * timeout, "a flood takes processor time too"


class EndlessLink(MemoryLink):
    """A peer that always has something more to say."""

    def pump_receive(self, into: memoryview, enough: int = 0) -> int:
        return len(into)


def test_a_peer_that_never_stops_does_not_hold_up_the_farewell() -> None:
    bell = Bell()
    link = EndlessLink(Pipe(bell, bell), Pipe(bell, bell))
    start = time.monotonic()
    run_all({"P0": partial(part, [link], bell, 0.2)}, limit=5.0)
    assert time.monotonic() - start < 2.0


@kinds
def test_a_message_behind_many_notices_arrives_at_once(kind: MeshKind) -> None:
    def program(mesh: Mesh) -> bytes:
        got = bytearray(8)
        if mesh.name == "P1":
            for _ in range(1000):
                mesh._channels["P0"].queue_waiting("P0")
            mesh.exchange("x", {"P0": b"12345678"}, {})
            mesh.exchange("end", {}, {"P0": bytearray(1)})
        else:
            time.sleep(0.2)
            mesh.exchange("x", {}, {"P1": got})
            mesh.exchange("end", {"P1": b"1"}, {})
        return bytes(got)

    start = time.monotonic()
    assert run_cluster(kind, program, NAMES[:2], timeout=40.0)["P0"] == b"12345678"
    assert time.monotonic() - start < 5.0


def test_invented_names_are_not_passed_on() -> None:
    meshes = memory_meshes(NAMES, TERMS, 1.0)

    def invent() -> None:
        for number in range(60):
            meshes["P1"]._channels["P0"].queue_waiting(f"invented {number}")
            meshes["P1"]._channels["P0"].link.pump_send()
            time.sleep(0.01)

    def wait() -> None:
        meshes["P0"].exchange("x", {}, {"P1": bytearray(8)})

    outcomes = run_all({"P0": wait, "P1": invent})
    error = outcomes["P0"]
    assert isinstance(error, PeerSilentError) and error.peer == "P1"
    assert meshes["P0"]._channels["P2"]._send_turn == 3, "one WAITING and one ABORT"
