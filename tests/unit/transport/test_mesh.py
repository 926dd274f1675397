"""The same behaviour over memory and over TLS."""

from __future__ import annotations

import random
import threading
import time
from functools import partial
from typing import Any

import numpy as np
import pytest

from cofit.errors import InvalidInputError, MeshClosedError, PeerAbortedError
from cofit.transport import HEADER_BYTES, LabelCounts, Mesh, listen, memory_meshes
from cofit.transport.channel import SMALL_BYTES
from unit.transport.cluster import KINDS, NAMES, TERMS, Kind, join_tls, neighbours, results, run_all, run_cluster

pytestmark = pytest.mark.timeout(60)

kinds = pytest.mark.parametrize("kind", KINDS)


@kinds
@pytest.mark.parametrize(
    "size", [0, 1, 64, SMALL_BYTES - 1, SMALL_BYTES, SMALL_BYTES + 1, 16384, 65537, 1 << 17, (1 << 17) + 1, 3_000_001]
)
def test_messages_of_every_size_arrive(kind: Kind, size: int) -> None:
    def program(mesh: Mesh) -> bool:
        left, right = neighbours(mesh)
        for step in range(3):
            got = np.zeros(size, np.uint8)
            mesh.exchange("ring", {left: np.full(size, NAMES.index(mesh.name) + step, np.uint8)}, {right: got})
            assert (got == NAMES.index(right) + step).all()
        return True

    assert results(run_cluster(kind, program)) == dict.fromkeys(NAMES, True)


@kinds
def test_all_may_send_large_messages_to_all_at_once(kind: Kind) -> None:
    words = (12 << 20) // 8

    def program(mesh: Mesh) -> None:
        own = NAMES.index(mesh.name)
        got = {peer: np.zeros(words, np.uint64) for peer in mesh.peers}
        mesh.exchange("all", {peer: np.full(words, own, np.uint64) for peer in mesh.peers}, got)
        for peer, array in got.items():
            assert (array == NAMES.index(peer)).all()

    results(run_cluster(kind, program))


@kinds
def test_frames_that_the_stream_does_not_take_at_once_arrive_in_order(kind: Kind) -> None:
    """More than any buffer on the way holds, sent before the receiver reads at all."""
    count, size = 120, 100_000

    def program(mesh: Mesh) -> None:
        if mesh.name == "P0":
            for step in range(count):
                mesh.exchange("many", {"P1": np.full(size, step, np.uint8)}, {})
        elif mesh.name == "P1":
            time.sleep(0.3)
            for step in range(count):
                got = np.zeros(size, np.uint8)
                mesh.exchange("many", {}, {"P0": got})
                assert (got == step).all()

    results(run_cluster(kind, program))


@kinds
def test_pieces_are_joined_and_typed_arrays_are_bytes(kind: Kind) -> None:
    pieces: list[Any] = [np.arange(3, dtype=np.uint64), b"xyz", bytearray(b""), np.ones((2, 2), np.float64)]
    whole = b"".join(bytes(piece) for piece in pieces)

    def program(mesh: Mesh) -> bytes:
        got = bytearray(len(whole))
        left, right = neighbours(mesh)
        mesh.exchange("pieces", {left: pieces}, {right: got})
        return bytes(got)

    assert results(run_cluster(kind, program)) == dict.fromkeys(NAMES, whole)


@kinds
def test_messages_wait_for_a_receiver_that_comes_later(kind: Kind) -> None:
    def program(mesh: Mesh) -> list[bytes]:
        if mesh.name == "P0":
            for step in range(5):
                mesh.exchange("push", {"P1": bytes([step] * 10)}, {})
            return []
        got = [bytearray(10) for _ in range(5)]
        if mesh.name == "P1":
            time.sleep(0.1)
            for buffer in got:
                mesh.exchange("push", {}, {"P0": buffer})
        return [bytes(buffer) for buffer in got]

    assert results(run_cluster(kind, program))["P1"] == [bytes([step] * 10) for step in range(5)]


@kinds
def test_counts_are_exact(kind: Kind) -> None:
    def program(mesh: Mesh) -> dict[str, LabelCounts]:
        left, right = neighbours(mesh)
        before = mesh.counts
        for _ in range(4):
            mesh.exchange("mul", {left: bytes(100)}, {right: bytearray(100)})
        mesh.exchange("open", {left: bytes(8), right: bytes(8)}, {left: bytearray(8), right: bytearray(8)})
        mesh.exchange("push", {left: b""}, {})
        mesh.exchange("push", {}, {right: bytearray()})
        mesh.exchange("nothing", {}, {})
        return dict(mesh.counts - before)

    for counts in results(run_cluster(kind, program)).values():
        assert counts == {
            "mul": LabelCounts(4, 4, 4, 400, 400, 400 + 4 * HEADER_BYTES),
            "open": LabelCounts(1, 2, 2, 16, 16, 16 + 2 * HEADER_BYTES),
            "push": LabelCounts(1, 1, 1, 0, 0, HEADER_BYTES),
        }


def test_random_programs_deliver_what_was_sent() -> None:
    plan = random.Random(7)
    steps = [
        {
            (a, b): plan.choice([0, 5, 1000, 20_000, 300_000])
            for a in NAMES
            for b in NAMES
            if a != b and plan.random() < 0.5
        }
        for _ in range(40)
    ]

    def program(mesh: Mesh) -> None:
        for number, step in enumerate(steps):
            content = number % 251
            send = {b: np.full(size, content, np.uint8) for (a, b), size in step.items() if a == mesh.name}
            receive = {a: np.zeros(size, np.uint8) for (a, b), size in step.items() if b == mesh.name}
            mesh.exchange(f"step {number}", send, receive)
            assert all((array == content).all() for array in receive.values())

    results(run_cluster("tls", program))


@kinds
def test_mistakes_of_the_caller_leave_the_mesh_usable(kind: Kind) -> None:
    def program(mesh: Mesh) -> None:
        left, right = neighbours(mesh)
        for peer in ("nobody", mesh.name):
            with pytest.raises(InvalidInputError, match=r"peer.*P"):
                mesh.exchange("x", {peer: b"1"}, {})
            with pytest.raises(InvalidInputError, match=r"peer.*P"):
                mesh.exchange("x", {}, {peer: bytearray(1)})
        with pytest.raises(InvalidInputError, match="contiguous"):
            mesh.exchange("x", {left: np.zeros((4, 4))[:, 1]}, {})
        with pytest.raises(InvalidInputError, match="contiguous"):
            mesh.exchange("x", {left: np.zeros(8, np.uint8)[::2]}, {})
        with pytest.raises(InvalidInputError, match="writable"):
            mesh.exchange("x", {}, {right: b"abc"})
        with pytest.raises(InvalidInputError):
            mesh.exchange("x", {left: "text"}, {})  # type: ignore[dict-item]
        mesh.exchange("fine", {left: b"abc"}, {right: bytearray(3)})

    results(run_cluster(kind, program))


@pytest.mark.parametrize(("sent", "received"), [(11, 1), (1, 11)])
def test_a_message_beyond_the_limit_is_not_sent_and_ends_the_run_for_all(sent: int, received: int) -> None:
    meshes = memory_meshes(NAMES, TERMS, max_frame_bytes=10)
    meshes["P0"].exchange("fine", {"P1": bytes(10)}, {})
    with pytest.raises(InvalidInputError, match=r"'message' .* at most 10 bytes long\. Got '11 bytes'"):
        meshes["P0"].exchange("large", {"P1": bytes(sent)}, {"P2": bytearray(received)})
    with pytest.raises(MeshClosedError, match="11 bytes in one message in 'large'"):
        meshes["P0"].exchange("next", {}, {})
    meshes["P1"].exchange("fine", {}, {"P0": bytearray(10)})
    for name in ("P1", "P2"):
        with pytest.raises(PeerAbortedError, match="11 bytes in one message in 'large'") as told:
            meshes[name].exchange("large", {}, {"P0": bytearray(1)})
        assert told.value.culprit == "P0"


def test_a_mistake_beside_an_oversized_message_is_a_mistake_and_leaves_the_mesh_usable() -> None:
    meshes = memory_meshes(["A", "B"], TERMS, max_frame_bytes=10)
    with meshes["A"] as mesh, meshes["B"]:
        with pytest.raises(InvalidInputError, match="writable"):
            mesh.exchange("x", {"B": bytes(11)}, {"B": b"1"})
        mesh.exchange("x", {"B": bytes(10)}, {})


@kinds
def test_a_closed_mesh_says_so_and_closes_twice(kind: Kind) -> None:
    def program(mesh: Mesh) -> None:
        mesh.close()
        mesh.close()
        with pytest.raises(MeshClosedError, match=mesh.name):
            mesh.exchange("x", {}, {})

    results(run_cluster(kind, program))


@kinds
def test_the_last_message_arrives_although_its_sender_has_closed(kind: Kind) -> None:
    def program(mesh: Mesh) -> None:
        if mesh.name == "P0":
            mesh.exchange("last", {"P1": bytes(100_000)}, {})
        elif mesh.name == "P1":
            time.sleep(0.2)
            mesh.exchange("last", {}, {"P0": bytearray(100_000)})

    results(run_cluster(kind, program))


@kinds
def test_abort_reaches_everyone_with_reason_and_culprit(kind: Kind) -> None:
    def program(mesh: Mesh) -> None:
        left, right = neighbours(mesh)
        if mesh.name == "P1":
            mesh.abort("the check of the products failed")
            with pytest.raises(MeshClosedError, match="check of the products"):
                mesh.exchange("x", {}, {})
            return
        for _ in range(5):
            mesh.exchange("x", {left: bytes(9)}, {right: bytearray(9)})

    outcomes = run_cluster(kind, program)
    assert outcomes["P1"] is None
    for name in ("P0", "P2"):
        error = outcomes[name]
        assert isinstance(error, PeerAbortedError)
        assert error.culprit == "P1"
        assert "the check of the products failed" in str(error)


@kinds
def test_an_exception_inside_the_with_block_tells_the_others_its_type_only(kind: Kind) -> None:
    def program(mesh: Mesh) -> None:
        if mesh.name == "P1":
            raise ValueError("secret 123")
        mesh.exchange("x", {}, {"P1": bytearray(1)})

    outcomes = run_cluster(kind, program)
    for name in ("P0", "P2"):
        assert isinstance(outcomes[name], PeerAbortedError)
        assert "ValueError" in str(outcomes[name])
        assert "secret" not in str(outcomes[name])


@pytest.mark.parametrize("order", [("P0", "P1", "P2"), ("P2", "P1", "P0"), ("P1", "P2", "P0")])
def test_tls_parties_may_start_in_any_order(order: tuple[str, ...]) -> None:
    listeners = {name: listen("127.0.0.1") for name in NAMES}

    def job(name: str) -> int:
        time.sleep(0.15 * order.index(name))
        with join_tls(name, listeners) as mesh:
            got = bytearray(1)
            left, right = neighbours(mesh)
            mesh.exchange("x", {left: b"1"}, {right: got})
            return got[0]

    try:
        assert results(run_all({name: partial(job, name) for name in NAMES})) == dict.fromkeys(NAMES, ord("1"))
    finally:
        for listener in listeners.values():
            listener.close()


def test_a_listener_may_appear_after_the_dialling_began() -> None:
    with listen("127.0.0.1") as probe:
        port = probe.port
    own = listen("127.0.0.1")
    from cofit.transport import Peer, connect_mesh
    from unit.transport.cluster import identity

    def dial() -> str:
        peer = Peer("P0", "127.0.0.1", port, identity("P0").certificate_pem)
        with connect_mesh(identity("P1"), None, [peer], [], TERMS, connect_timeout=10) as mesh:
            return mesh.peers[0]

    def accept() -> str:
        time.sleep(0.3)
        with listen("127.0.0.1", port) as late:
            peer = Peer("P1", "", 0, identity("P1").certificate_pem)
            with connect_mesh(identity("P0"), late, [], [peer], TERMS, connect_timeout=10) as mesh:
                return mesh.peers[0]

    try:
        assert results(run_all({"P1": dial, "P0": accept})) == {"P1": "P0", "P0": "P1"}
    finally:
        own.close()


def test_a_partial_mesh_has_only_the_given_links() -> None:
    meshes = memory_meshes(NAMES, TERMS, links=[("P0", "P1"), ("P1", "P2")])
    assert {name: set(mesh.peers) for name, mesh in meshes.items()} == {
        "P0": {"P1"},
        "P1": {"P0", "P2"},
        "P2": {"P1"},
    }
    with pytest.raises(InvalidInputError, match="join two"):
        memory_meshes(NAMES, TERMS, links=[("P0", "P9")])
    with pytest.raises(InvalidInputError, match="differ"):
        memory_meshes(["A", "A"], TERMS)


def test_the_repr_tells_the_state() -> None:
    meshes = memory_meshes(["A", "B"], TERMS)
    assert repr(meshes["A"]) == "Mesh('A', peers=['B'], open)"
    for mesh in meshes.values():
        mesh.close()
    assert "closed" in repr(meshes["A"])


def test_no_thread_is_left_behind() -> None:
    before = threading.active_count()
    results(run_cluster("tls", lambda mesh: None))
    assert threading.active_count() == before
