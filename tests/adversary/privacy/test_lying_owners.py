"""Owners with software of their own, against other owners' records: what the check of rows is there for.

Each attack runs on the real protocol twice: as the parties compute, where it must fail; and with every record passed
unseen, where it must succeed, or the first run would prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest

from cofit.arithmetic import FixedPoint, IntegerRing
from cofit.learn.base_plan import Plan
from cofit.learn.contribution import prepared_features
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent import noisy, program
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.roles.local.run import run_local
from cofit.secret import Party, SecretArray
from support.lies import COIN, all_checked, contributions, lying
from support.schemes import also_slow, form, local

SCHEMES = ("rep3", "semi2k", "rep4", "repn", "shamir/5")
ROWS, COLS = 400, 12
Reals = npt.NDArray[np.float64]


@contextmanager
def unchecked() -> Iterator[None]:
    """Inside, every record passes, whatever it is."""
    with mock.patch.object(program, "checked", all_checked):
        yield


@contextmanager
def without_noise() -> Iterator[None]:
    """Inside, all noise is 0: what is left is how far records move the sums."""

    def zeros(party: Party, laws: Sequence[tuple[Any, int]], ring: IntegerRing, precision: int) -> list[SecretArray]:
        del precision
        return [party.constant(np.zeros(size), FixedPoint(0, ring)) for _, size in laws]

    with mock.patch.object(noisy, "discrete_gaussians", zeros):
        yield


def released(plan: DescentPlan, scheme: str, blocks: list[Any], labels: list[Any]) -> Reals:
    """What a run opens, in units of weights."""
    given, holders = contributions(plan, blocks, labels)

    def whole(party: Party) -> npt.NDArray[Any]:
        return np.asarray(party.open(program.descend(party, plan, holders, COIN), reason="an attack"))

    with lying():
        run = run_local(whole, **local("clear/1" if scheme == "clear" else scheme), owners=given, timeout=120)
    return plan.opened.in_units(next(iter(run.results.values())))


def integers(plan: Plan, x: Reals) -> npt.NDArray[Any]:
    return np.rint(np.ldexp(prepared_features(plan, x), plan.formats.data)).astype(np.int64).astype(object)


# --- the owner of the labels reads a patient's row -------------------------------------------------------


def read_row(scheme: str) -> float:
    """The owner of the labels gives one patient a label that makes its part 60,001 times too large; return how well
    the released weights agree with the other owner's values of that patient."""
    plan = plan_training(training_facts(ROWS, COLS, partition="vertical", scheme=form(scheme).spec.name, epsilon=1.0))
    assert isinstance(plan, DescentPlan)
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (ROWS, COLS))
    labels = rng.integers(0, 2, ROWS).astype(object)
    victim = 17
    labels[victim] = (60_001 + 1) // 2
    rows = integers(plan, x)
    weights = released(plan, scheme, [rows[:, :2], rows[:, 2:]], [labels])[2:COLS]
    return abs(float(np.corrcoef(weights, x[victim, 2:])[0, 1]))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_owner_of_the_labels_cannot_read_a_row(scheme: str) -> None:
    assert read_row(scheme) < 0.97  # ten values: chance alone goes beyond once in a million runs


@pytest.mark.parametrize("scheme", ["rep3", *(pytest.param(scheme, marks=pytest.mark.slow) for scheme in SCHEMES[1:])])
def test_without_the_check_the_row_is_read(scheme: str) -> None:
    """In nearly every run: what the lie makes of later steps depends on the noise, and they may undo the first."""
    with unchecked():
        assert any(read_row(scheme) > 0.999 for _ in range(4))


# --- a lying row makes other records move the release ----------------------------------------------------


GEOMETRIES: dict[str, dict[str, Any]] = {
    "level and centre": {"feature_bound": 1.0, "clip_rows": False},
    "centre": {"clip_rows": False},
    "clipped": {"clip_rows": True},
    "clipped, bounds": {"clip_rows": True, "feature_bound": 1.0},
}


def moved(scheme: str, lie: int, geometry: str = "level and centre") -> float:
    """Return how far an honest record moves the weights, in sensitivities of a step, beside one lying row."""
    plan = plan_training(training_facts(ROWS, COLS, scheme=form(scheme).spec.name, epsilon=8.0, **GEOMETRIES[geometry]))
    assert isinstance(plan, DescentPlan)
    assert plan.clipped or plan.centre is not None
    rng = np.random.default_rng(6)
    x = rng.uniform(-1, 1, (ROWS, COLS))
    labels = rng.integers(0, 2, ROWS).astype(object)
    other, half = x.copy(), ROWS // 2
    other[3] = -x[3]
    found = []
    with without_noise():
        for table in (x, other):
            rows = integers(plan, table)
            rows[half + 5] = lie
            split = [labels[:half], labels[half:]]
            found.append(released(plan, scheme, [rows[:half], rows[half:]], split)[: plan.cols])
    step = float(plan.steps[0].sensitivity) * 2.0**-plan.formats.weights
    return float(np.linalg.norm(found[0] - found[1])) / step


LIES = (1 << 30, 1 << 44, (1 << 62) + 12345)


CASES = [(scheme, "level and centre") for scheme in SCHEMES[:-1]] + [("clear", other) for other in list(GEOMETRIES)[1:]]


@pytest.mark.parametrize(
    ("scheme", "geometry"),
    also_slow(
        [one for one in CASES if one[0] != "repn"], (SCHEMES[-1], "level and centre"), ("repn", "level and centre")
    ),
)
def test_a_lying_row_does_not_amplify_others(scheme: str, geometry: str) -> None:
    """Twenty steps, each moved by at most one sensitivity and by what earlier ones changed in the scores; and exactly
    as far whatever the lie is, because it counts as nothing."""
    found = {moved(scheme, lie, geometry) for lie in (LIES if scheme == "clear" else LIES[1:2])}
    assert max(found) < 40
    assert len(found) == 1


@pytest.mark.parametrize(("scheme", "geometry"), [case for case in CASES if case[0] in ("rep3", "clear")])
def test_without_the_check_it_does(scheme: str, geometry: str) -> None:
    with unchecked():
        assert max(moved(scheme, lie, geometry) for lie in (LIES if scheme == "clear" else LIES[1:2])) > 100
