"""Workers that are not whom they should be, and parties that lie to a shard: refused, and noted before it is told."""

from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from cofit.errors import CertificateError, CofitError, DisputeError, TransportError
from cofit.roles.shards.delegation import delegation
from cofit.roles.shards.session import HERE, Ref, ShardSession, Step
from cofit.secret import Party
from cofit.transport import Mesh
from cofit.transport.buffers import byte_view
from support.shard_sessions import NAME, OWNER, ShardWorld, gram, shard_world

SHORT = {"connect_timeout": 1.5, "timeout": 1.5}
STEPS = [Step(1, "input", Party.input, (Ref(HERE), OWNER, NAME)), Step(2, "gram", gram, (Ref(1),)),
         Step(3, "verify", Party.verify, (Ref(HERE),))]  # fmt: skip


def outcomes(world: ShardWorld, k: int, told: list[bytes]) -> dict[str, Exception | None]:
    """How joining ends at every party."""

    def join(party: str, session: ShardSession) -> Exception | None:
        try:
            session.join(told)
        except CofitError as error:
            return error
        return None

    return world.at_all(k, join)


def joined(world: ShardWorld, k: int) -> list[str]:
    return [party for party in world.parties if world.sessions[party, k]._party is not None]


def test_the_honest_ones_meet(tmp_path: Path) -> None:
    with shard_world(tmp_path, **SHORT) as world:
        assert set(outcomes(world, 0, world.records(0)).values()) == {None}
        assert joined(world, 0) == list(world.parties)


@pytest.mark.parametrize("cheat", ["party-0", "party-2"])
def test_the_delegation_of_another_shard_is_refused(tmp_path: Path, cheat: str) -> None:
    """A party shows its delegation for shard 1 where that for shard 0 is due."""
    with shard_world(tmp_path, **SHORT) as world:
        rank = world.parties.index(cheat)
        told = world.records(0)
        told[rank] = world.records(1)[rank]
        found = outcomes(world, 0, told)
        for party in world.parties:
            assert found[party] is not None
            if party != cheat:
                error = found[party]
                assert isinstance(error, CertificateError) and error.peer == cheat
        assert joined(world, 0) == []


def test_the_delegation_of_another_session_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    with shard_world(tmp_path / "old", **SHORT) as old, shard_world(tmp_path / "new", **SHORT) as world:
        place = old.places[0]
        offer = world.offers["party-1", 0]
        told = world.records(0)
        told[1] = delegation(world.identities["party-1"], place, *offer)
        found = outcomes(world, 0, told)
        assert isinstance(found["party-0"], CertificateError) and isinstance(found["party-2"], CertificateError)
        assert joined(world, 0) == []


def test_a_party_cannot_speak_for_another_ones_shard(tmp_path: Path) -> None:
    """party-1 presents a worker of its own as party-2's, signed with its own key."""
    with shard_world(tmp_path, **SHORT) as world:
        told = world.records(0)
        told[2] = delegation(world.identities["party-1"], world.places[0], *world.offers["party-1", 1])
        found = outcomes(world, 0, told)
        assert isinstance(found["party-0"], CertificateError) and found["party-0"].peer == "party-2"
        assert joined(world, 0) == []


@pytest.mark.parametrize(("cheat", "other"), list(itertools.permutations(range(3), 2)))
def test_a_party_cannot_pass_the_worker_of_another_one_for_its_own(tmp_path: Path, cheat: int, other: int) -> None:
    """It signs the certificate and the address of an honest one, so that two others are to meet the same worker."""
    with shard_world(tmp_path, **SHORT) as world:
        told, parties = world.records(0), world.parties
        told[cheat] = delegation(world.identities[parties[cheat]], world.places[0], *world.offers[parties[other], 0])
        found = outcomes(world, 0, told)
        assert all(found[party] is not None for rank, party in enumerate(parties) if rank != cheat)
        assert set(joined(world, 0)) <= {parties[cheat]}


@pytest.mark.parametrize("who", ["party-1", "party-2"], ids=["accepts and dials", "dials"])
def test_another_worker_than_the_delegated_one_is_refused(tmp_path: Path, who: str) -> None:
    """Shard 1's worker comes to shard 0, with its own key, and what its head has signed for shard 0's."""
    with shard_world(tmp_path, **SHORT) as world:
        world.sessions[who, 0]._identity = world.sessions[who, 1]._identity
        found = outcomes(world, 0, world.records(0))
        assert isinstance(found["party-0"], TransportError)
        assert "party-0" not in joined(world, 0) and who not in joined(world, 0)


def test_a_worker_of_another_shard_with_all_its_rights_is_refused(tmp_path: Path) -> None:
    """All of party-2's shard 1 dials shard 0 of the others: the key, and the session, are those of shard 1."""
    with shard_world(tmp_path, **SHORT) as world:
        first, second = world.sessions["party-2", 0], world.sessions["party-2", 1]
        astray = [
            delegation(world.identities[p], world.places[1], *world.offers[p, 0 if p != "party-2" else 1])
            for p in world.parties
        ]
        honest = world.records(0)
        ends: dict[str, Any] = {}

        def join(name: str, session: ShardSession, told: list[bytes]) -> None:
            try:
                session.join(told)
            except CofitError as error:
                ends[name] = error

        threads = [
            threading.Thread(target=join, args=("party-0", world.sessions["party-0", 0], honest)),
            threading.Thread(target=join, args=("party-1", world.sessions["party-1", 0], honest)),
            threading.Thread(target=join, args=("astray", second, astray)),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert set(ends) == {"party-0", "party-1", "astray"}
        assert first._party is None and second._party is None and joined(world, 0) == []


@pytest.mark.parametrize("scheme", ["rep4", "repn"])
def test_a_lie_is_noted_by_the_head_before_any_party_is_told(tmp_path: Path, scheme: str) -> None:
    """party-1 flips a bit. Whoever finds out waits for its head, and until then the others hear nothing of it."""
    noted = threading.Event()
    found: dict[str, float] = {}

    def failed(party: str, k: int) -> None:
        del k
        found.setdefault(party, time.monotonic())
        assert noted.wait(20)

    with shard_world(tmp_path, scheme=scheme, timeout=20.0, failed=failed) as world:
        world.join(0)
        _flip(world.sessions["party-1", 0])
        ends: dict[str, tuple[float, Exception]] = {}
        untouched: set[str] = set()

        def run(party: str, session: ShardSession) -> None:
            try:
                session.run(STEPS, None)
                untouched.add(party)  # of rep4: one to whom nobody has lied may have nothing left to hear
            except CofitError as error:
                ends[party] = time.monotonic(), error
                session.close(well=False)

        running = threading.Thread(target=lambda: world.at_all(0, run))
        running.start()
        until = time.monotonic() + 20
        while not found and time.monotonic() < until:
            time.sleep(0.01)
        assert found, "somebody finds out"
        time.sleep(1.0)
        assert not ends, "and nobody is told"
        at = time.monotonic()
        noted.set()
        running.join(30)
        assert set(ends) == set(world.parties) - untouched and len(untouched) <= (scheme == "rep4")
        assert all(when >= at for when, _ in ends.values())
        assert any(isinstance(error, DisputeError) for _, error in ends.values())
        for party, (_, error) in ends.items():
            assert not isinstance(error, DisputeError) or party in found, "its head has noted it"


def _flip(session: ShardSession) -> None:
    """From now on one bit of the first message that this shard sends is another one."""
    mesh = session._mesh
    assert mesh is not None
    honest = mesh.exchange
    done: list[str] = []

    def exchange(label: str, send: Any, *arguments: Any, **named: Any) -> None:
        if send and label.startswith("gram") and not done:
            done.append(label)
            peer, message = next(iter(send.items()))
            pieces = message if isinstance(message, list | tuple) else (message,)
            changed = bytearray(b"".join(byte_view(piece) for piece in pieces))
            changed[0] ^= 1
            send = {**send, peer: changed}
        honest(label, send, *arguments, **named)

    mesh.exchange = exchange  # type: ignore[method-assign]
    assert isinstance(mesh, Mesh)
