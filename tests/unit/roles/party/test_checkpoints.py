"""Checkpoints between runs: the last common one, never shares of different sessions, never a damaged one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cofit import Party, run_local
from cofit.errors import ProtocolError
from cofit.learn.checkpoint_steps import every as every_th
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from cofit.learn.recipes.minimiser.program import BEFORE, WEIGHTS
from cofit.roles.party.checkpoints import CheckpointFiles
from cofit.roles.party.state import PartyState
from cofit.secret.checkpoints import KeptState
from cofit.sharing import Scheme
from support.facts import paper_facts
from support.late_checks import LateChecked
from support.runs import run_scheme

PLAN = plan_minimiser(paper_facts(40, 1, epochs=100))
FORMAT = PLAN.formats.of(PLAN.formats.weights)
NAMES = ("party-a", "party-b", "party-c")


def kept(every: int = 1, plan: MinimiserPlan = PLAN) -> KeptState:
    return replace(plan.state, due=every_th(plan.state.steps, every))


@pytest.fixture
def states(tmp_path: Path) -> dict[str, PartyState]:
    return {name: PartyState(tmp_path / name, "ab" * 32, name) for name in NAMES}


def save(states: dict[str, PartyState], epochs: range, every: int = 1) -> None:
    """One session in which the weights after epoch t are (t, t + 1) / 1024, and before it (t - 1, t) / 1024."""

    def program(party: Party) -> None:
        files = CheckpointFiles(states[party.name], PLAN.hash, kept(every))
        for t in epochs:
            now, before = (party.constant(np.array([t + i, t + i + 1.0]) / 1024, FORMAT) for i in (0, -1))
            files.reached(party, t, {WEIGHTS: now, BEFORE: before})

    run_local(program)


def resume(states: dict[str, PartyState], plan: MinimiserPlan = PLAN) -> tuple[int, list[float], list[float]] | None:
    """What another session finds; opened, to look at it."""

    def program(party: Party) -> tuple[int, list[float], list[float]] | None:
        found = CheckpointFiles(states[party.name], plan.hash, kept(1, plan)).resume(party)
        if found is None:
            return None
        epoch, values = found
        weights, before = values[WEIGHTS], values[BEFORE]
        assert weights.integer_limit == before.integer_limit == FORMAT.limit(plan.formats.radius)
        return epoch, *((1024 * party.open(value, reason="a test")).tolist() for value in (weights, before))

    results = run_local(program).results
    assert len({repr(result) for result in results.values()}) == 1
    return results["party-a"]


def test_nothing_to_resume(states: dict[str, PartyState]) -> None:
    assert resume(states) is None


def test_the_last_epoch_comes_back(states: dict[str, PartyState]) -> None:
    save(states, range(1, 8), every=3)
    assert resume(states) == (6, [6.0, 7.0], [5.0, 6.0])


def test_the_last_that_all_have(states: dict[str, PartyState]) -> None:
    save(states, range(1, 4))
    states["party-b"].drop_checkpoint(states["party-b"].checkpoints()[0])
    assert resume(states) == (2, [2.0, 3.0], [1.0, 2.0])


def test_shares_of_different_sessions_do_not_count(states: dict[str, PartyState]) -> None:
    save(states, range(1, 3))
    kept = {c.file: states["party-c"].checkpoint(c) for c in states["party-c"].checkpoints()}
    save(states, range(1, 3))
    folder = states["party-c"].directory / "checkpoints"
    for path in folder.iterdir():
        path.unlink()
    for name, record in kept.items():
        (folder / name).write_bytes(record)
    states["party-c"].record(checkpoints=" ".join(kept))
    assert resume(states) is None


@pytest.mark.parametrize("damage", [lambda r: r[:-1], lambda r: r[:4], lambda r: r[:20] + b"!" + r[21:], lambda r: b""])
def test_a_damaged_one_is_deleted_and_the_one_before_is_used(states: dict[str, PartyState], damage: object) -> None:
    save(states, range(1, 4))
    newest = states["party-c"].checkpoints()[0]
    path = states["party-c"].directory / "checkpoints" / newest.file
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    assert resume(states) == (2, [2.0, 3.0], [1.0, 2.0])
    assert not path.exists()


@pytest.mark.parametrize("facts", [{"l2": 2.0, "epochs": 100}, {"epochs": 101}])
def test_one_of_another_plan_is_of_no_use(states: dict[str, PartyState], facts: dict[str, float]) -> None:
    save(states, range(1, 4))
    assert resume(states, plan_minimiser(paper_facts(40, 1, **facts))) is None


def test_what_is_on_disk_is_a_fresh_sharing(states: dict[str, PartyState]) -> None:
    """The same values in two sessions: nothing on disk is the same, even though the values are public constants."""
    save(states, range(1, 2))
    first = states["party-a"].checkpoint(states["party-a"].checkpoints()[0])
    save(states, range(1, 2))
    second = states["party-a"].checkpoint(states["party-a"].checkpoints()[0])
    assert len(first) == len(second)
    assert first != second


def test_nothing_is_stored_that_was_not_verified(states: dict[str, PartyState]) -> None:
    """With a scheme that puts its checks off: a wrong product is found when the checkpoint is due, not afterwards."""

    def program(scheme: Scheme) -> None:
        party = Party(scheme, {})
        files = CheckpointFiles(states[party.name], PLAN.hash, kept(2))
        weights = party.constant(np.array([1.0, 2.0]) / 1024, FORMAT)
        files.reached(party, 1, {WEIGHTS: weights, BEFORE: weights})
        product = (weights * 0.5).multiply(party.constant(np.array([1.0, 1.0]), FORMAT))
        files.reached(party, 2, {WEIGHTS: product, BEFORE: weights})
        assert isinstance(scheme, LateChecked)
        scheme.tampers = scheme.rank == 1
        product = weights.multiply(product)
        with pytest.raises(ProtocolError, match="multiplied differently"):
            files.reached(party, 4, {WEIGHTS: product, BEFORE: weights})

    run_scheme(LateChecked, program, names=NAMES)
    assert [[c.epoch for c in state.checkpoints()] for state in states.values()] == [[2]] * 3
