"""Noisy descent whose rows are in shards, each with a session of its own: it releases what one process releases.

With ``clear`` every number is the same, to the last bit: the sums of all rows are made before anything is rounded. With
a scheme roundings differ, as those of two runs of one process do. Steps take as many rounds as without shards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from unittest import mock

import numpy as np
import pytest

from cofit import Party, SecretArray, run_local
from cofit.learn.recipes.descent import noisy, program
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.secret.shards import Shared, shared
from cofit.sharing.sums import PartialSum
from cofit.transport import Counts
from conformance.test_descent import foreseeing, reference
from support.checkpointed import InterruptedRunError
from support.descent import FEW, KINDS, SEVERAL, Integers, Table, contributed, fixed_noise, opened, plan_of, table_of
from support.schemes import EVERY, also_slow, form, local
from support.shards import ShardedRun, run_sharded
from support.training import COIN

SEED = 44
EXACT = [(kind, 3) for kind in (*FEW, "numbers, clipped", "four classes, weights")]
SHORT = [("owners", "rep3", 4), ("calibrated", "semi2k", 2), ("clipped", "rep3", 2), ("clipped", "rep4", 2),
         ("parties, level, centred", "semi2k", 2), ("pure", "repn", 2), ("owners", "shamir", 1),
         ("pure", "pair", 2)]  # fmt: skip
LONG = [(kind, scheme, 2) for kind in FEW for scheme in EVERY if (kind, scheme, 2) not in SHORT]
ROUNDS = [("owners", "rep3"), ("clipped", "rep3"), ("pure", "rep4"), ("owners", "semi2k"), ("pure", "shamir")]
SAME_ROUNDS = ("rep3", "rep4", "semi2k", "shamir", "shamir/5")
LONG_ROUNDS = [(kind, scheme) for kind in FEW for scheme in SAME_ROUNDS if (kind, scheme) not in ROUNDS]


def sharded(plan: DescentPlan, table: Table, scheme: str, count: int, checkpoints: Any = None) -> ShardedRun:
    owners, holders = contributed(plan, table)

    def whole(party: Party) -> Any:
        kept = None if checkpoints is None else checkpoints(party)
        return party.open(program.descend(party, plan, holders, COIN, kept), reason="a test of shards")

    return run_sharded(whole, scheme, owners, count)


def released(run: ShardedRun) -> Integers:
    return np.asarray(run.results["party-0"]).astype(np.int64).astype(object)


def random_table(plan: DescentPlan) -> Table:
    return table_of("random", plan, np.random.default_rng(45))


@pytest.mark.parametrize(("kind", "count"), also_slow(EXACT, *((kind, 2) for kind in (*KINDS, *SEVERAL))))
def test_sums_of_shards_are_those_of_all_rows_exactly(kind: str, count: int) -> None:
    plan = plan_of(kind)
    table = random_table(plan)
    with fixed_noise(SEED):
        found, wanted = released(sharded(plan, table, "clear/1", count)), opened(plan, table)
    assert found.tolist() == wanted.tolist()


def disagreement(plan: DescentPlan, table: Table, found: Integers) -> float:
    """The largest difference of a released number from the recipe in NumPy, in units of the noise of a weight."""
    apart = plan.opened.in_units(found) - reference(plan, table, SEED).released()
    return float(np.abs(apart).max()) / plan.noise_of_weights


@pytest.mark.parametrize(("kind", "scheme", "count"), also_slow(SHORT, *LONG))
def test_every_scheme_releases_what_the_recipe_says(kind: str, scheme: str, count: int) -> None:
    plan = plan_of(kind, scheme=form(scheme).spec.name)
    table = random_table(plan)
    with fixed_noise(SEED):
        found = released(sharded(plan, table, scheme, count))
    cells = 0.01  # what a step releases is rounded to 2^-8 to 2^-7 of its noise
    assert disagreement(plan, table, found) < (0.05 if plan.clipped else cells if plan.formats.cells else 0.002)


def test_a_shard_that_is_left_out_or_counts_twice_is_noticed() -> None:
    """Broken on purpose: the sum of partial sums forgets one of them, or takes one again."""
    plan = plan_of("owners", scheme="rep3")
    table, plus = random_table(plan), PartialSum.plus
    for broken in (lambda a, b: a, lambda a, b: plus(plus(a, b), b)):
        with fixed_noise(SEED), mock.patch.object(PartialSum, "plus", broken):
            found = released(sharded(plan, table, "rep3", 2))
        assert disagreement(plan, table, found) > 0.05


def test_every_shard_foresees_its_own_squares() -> None:
    plan = plan_of("clipped", scheme="rep3")
    table = random_table(plan)
    with fixed_noise(SEED), foreseeing():
        found = released(sharded(plan, table, "rep3", 2))
    assert disagreement(plan, table, found) < 0.05


@pytest.mark.parametrize(("kind", "scheme"), also_slow(ROUNDS, *LONG_ROUNDS))
def test_a_step_takes_as_many_rounds_as_without_shards(kind: str, scheme: str) -> None:
    plan = plan_of(kind, scheme=form(scheme).spec.name)
    table = random_table(plan)
    owners, holders = contributed(plan, table)
    with fixed_noise(SEED):
        alone = run_local(
            lambda party: party.open(program.descend(party, plan, holders, COIN), reason="a test of shards"),
            **local(scheme),
            owners=owners,
            timeout=120,
        )
        run = sharded(plan, table, scheme, 2)
    waited = [[c.rounds for name, c in t.items() if name.startswith("epoch/")] for t in alone.traffic.values()]
    assert run.rounds("epoch/") == max(map(sum, waited)) > 0


def sent(counts: Iterable[Counts]) -> int:
    """What the busiest of some sends in all steps."""
    return max(sum(one.bytes_sent for name, one in each.items() if name.startswith("epoch/")) for each in counts)


@pytest.mark.parametrize("scheme", also_slow(["rep3", "semi2k"], "rep4", "shamir"))
def test_bytes_of_a_shard_fall_with_their_number_and_those_of_a_head_do_not_depend_on_the_rows(scheme: str) -> None:
    shards, heads = {}, set()
    for rows, count in ((2048, 1), (2048, 4), (512, 4)):
        plan = plan_of("pure", rows=rows, scheme=scheme)
        with fixed_noise(SEED):
            run = sharded(plan, random_table(plan), scheme, count)
        shards[rows, count] = sent(counts for of_party in run.shards.values() for counts in of_party) / plan.epochs
        heads.add(sent(run.heads.values()) / plan.epochs)
    assert len(heads) == 1, heads
    assert shards[2048, 4] == pytest.approx(shards[2048, 1] / 4, rel=0.02)
    assert shards[512, 4] == pytest.approx(shards[2048, 4] / 4, rel=0.05)


class Kept:
    """A checkpoint in memory: what every party has of it. ``stop``: the step after which a session ends."""

    def __init__(self, stop: int) -> None:
        self.stop: int | None = stop
        self.values: dict[str, dict[str, Shared]] = {}

    def of(self, party: Party) -> _Keeper:
        return _Keeper(self)


class _Keeper:
    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def resume(self, party: Party) -> tuple[int, dict[str, SecretArray]] | None:
        if self._kept.stop is not None:
            return None
        return 7, {name: value.at(party) for name, value in self._kept.values[party.name].items()}

    def reached(self, party: Party, step: int, values: Mapping[str, SecretArray]) -> None:
        if step == self._kept.stop:
            self._kept.values[party.name] = {name: shared(party.refreshed(one)) for name, one in values.items()}
            party.barrier("kept")
            raise InterruptedRunError(party.name)


def test_a_descent_goes_on_from_a_checkpoint_with_fresh_shards() -> None:
    """Verdicts go back to the shards they came from; neither are they made again, nor is noise."""
    plan = plan_of("owners", scheme="rep3")
    table, kept = random_table(plan), Kept(stop=7)
    with fixed_noise(SEED), pytest.raises(InterruptedRunError):
        sharded(plan, table, "rep3", 2, kept.of)
    kept.stop = None
    with (
        mock.patch.object(noisy, "_draws", side_effect=AssertionError("noise is drawn again")),
        mock.patch.object(program, "checked", side_effect=AssertionError("rows are checked again")),
    ):
        found = released(sharded(plan, table, "rep3", 2, kept.of))
    assert disagreement(plan, table, found) < 0.002
