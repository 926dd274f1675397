"""A session of one shard: it meets its like, computes with its own rows, opens nothing, and ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import Z64
from cofit.errors import ProtocolError, StateError
from cofit.roles.shards.session import HERE, Drop, Ref, ShardSession, Step
from cofit.roles.shards.stored_rows import piece_name
from cofit.secret import Party
from cofit.secret.shards import shared
from cofit.sharing.pieces import component_range
from support.shard_sessions import COLUMNS, FORMAT, NAME, OWNER, ROWS, gram, shard_world

STEPS = [Step(1, "input", Party.input, (Ref(HERE), OWNER, NAME)), Step(2, "gram", gram, (Ref(1),)),
         Step(3, "gram", shared, (Ref(2),))]  # fmt: skip


def test_every_shard_computes_with_its_rows_alone(tmp_path: Path) -> None:
    with shard_world(tmp_path) as world:
        total = np.zeros((COLUMNS, COLUMNS))
        for k in range(2):
            world.join(k)
            found = world.at_all(k, lambda party, session: session.run(STEPS, 3))
            parts = [found[party].share.parts[0] for party in world.parties]  # summand r of party r, in rep3
            value = np.asarray(Z64.to_int(Z64.add(Z64.add(parts[0], parts[1]), parts[2]))).astype(float)
            rows = world.values[world.rows[k][OWNER]]
            assert 0 < len(rows) < ROWS
            np.testing.assert_allclose(value / 2.0**FORMAT.fraction_bits, rows.T @ rows, atol=1 / 128)
            total += rows.T @ rows
        np.testing.assert_allclose(total, world.values.T @ world.values)


def test_a_worker_holds_the_shares_of_its_own_rows_alone(tmp_path: Path) -> None:
    """Of what is not expanded from a seed; a seed goes to all shards of a party that was dealt it."""
    with shard_world(tmp_path) as world:
        explicit = 0
        for (party, k), stored in world.stored.items():
            rank = world.parties.index(party)
            for facts, content in world.components.items():
                name = piece_name(OWNER, NAME, facts.name)
                if rank not in facts.ranks:
                    with pytest.raises(StateError, match="lacks a part"):
                        stored.content(name)
                    continue
                part = component_range(facts, (ROWS, COLUMNS), world.rows[k][OWNER])
                assert bytes(stored.content(name)) == content[part]
                if len(content[part]) < len(content):
                    explicit += 1
                    other = component_range(facts, (ROWS, COLUMNS), world.rows[1 - k][OWNER])
                    assert content[other] not in bytes(stored.content(name))
        assert explicit


def test_a_worker_knows_how_many_sessions_there_are(tmp_path: Path) -> None:
    """What a scheme leaves to chance is divided among them: those of all shards, and of the heads."""
    with shard_world(tmp_path) as world:
        world.join(1)
        for party in world.parties:
            made = world.sessions[party, 1]._party
            assert made is not None and made._scheme.sessions == 3 == world.places[1].sessions


def test_nothing_is_computed_before_it_has_met_the_others(tmp_path: Path) -> None:
    with shard_world(tmp_path) as world, pytest.raises(StateError, match="in no session"):
        world.sessions["party-0", 0].run(STEPS, 3)


def test_a_shard_without_all_its_rows_does_not_join(tmp_path: Path) -> None:
    with shard_world(tmp_path, connect_timeout=2.0, timeout=2.0) as world:
        world.stored["party-1", 0].forget()
        with pytest.raises(Exception, match="lacks a part"):
            world.join(0)


def test_what_is_dropped_is_gone(tmp_path: Path) -> None:
    with shard_world(tmp_path) as world:
        world.join(0)
        world.at_all(0, lambda party, session: session.run(STEPS, 3))

        def use(party: str, session: ShardSession) -> Any:
            with pytest.raises(KeyError):
                session.run([Drop(2), Step(4, "gram", shared, (Ref(2),))], 4)
            return session.run([Drop(2), Step(5, "gram", shared, (Ref(1),))], 5)

        assert world.at_all(0, use)


def test_a_shard_opens_nothing(tmp_path: Path) -> None:
    """Whatever its head asks, no value is opened among shards; and that is noted as a failed check."""
    noted: list[tuple[str, int]] = []
    with shard_world(tmp_path, failed=lambda party, k: noted.append((party, k))) as world:
        world.join(0)

        def ask(party: str, session: ShardSession) -> None:
            wish = Step(2, "open", _opened, (Ref(HERE), Ref(1)))
            with pytest.raises(ProtocolError, match="Only heads open"):
                session.run([STEPS[0], wish], 2)

        world.at_all(0, ask)
        assert sorted(noted) == [(party, 0) for party in world.parties]


def _opened(party: Party, value: Any) -> Any:
    return party.open(value, reason="curiosity")


def test_after_its_end_it_computes_no_more(tmp_path: Path) -> None:
    with shard_world(tmp_path) as world:
        world.join(0)
        session = world.sessions["party-0", 0]
        session.close(well=False)
        session.close(well=False)
        with pytest.raises(StateError, match="in no session"):
            session.run(STEPS, 3)
