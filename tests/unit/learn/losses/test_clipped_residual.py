"""The clipped residual of a loss: exact on secrets, trained with, in the plan's hash; a loss without one is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cofit import Party, run_local
from cofit.arithmetic import Z64, Z128, FixedPoint, PowerOfTwoRing
from cofit.errors import InvalidInputError
from cofit.learn.facts import training_facts
from cofit.learn.losses import LOSSES, ClippedResidual, HuberHinge
from cofit.learn.losses.clipped_margin import ClippedMargin
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.twin import descended, prepared_rows
from support.descent import fixed_noise, noise_of, opened
from support.training import checked_ranges

RESIDUALS = [
    ClippedResidual(),
    ClippedResidual(Fraction(1, 2), Fraction(3, 8)),
    ClippedResidual(Fraction(2), Fraction(5, 2)),
]
FACTS: list[dict[str, Any]] = [{}, {"feature_bound": 2.0, "calibrate_intercept": True}, {"clip_rows": True}]


@pytest.mark.parametrize("scheme", ["clear", "rep3"])
@pytest.mark.parametrize("ring", [Z64, Z128], ids=lambda r: r.name)
@pytest.mark.parametrize("residual", RESIDUALS, ids=str)
def test_it_is_exact_on_secrets(residual: ClippedResidual, ring: PowerOfTwoRing, scheme: str) -> None:
    evaluation = ClippedMargin(ring, Fraction(1), 20, 12, residual)
    m = np.ldexp(np.arange(-40_000, 40_000, 977), -12)

    def program(party: Party) -> Any:
        clipped = evaluation.clipped(party.constant(m, FixedPoint(12, ring)))
        assert clipped.format.fraction_bits == 12 + residual.slope_bits
        return party.open(clipped, reason="a test")

    with checked_ranges():
        run = run_local(program, scheme=scheme, parties=1 if scheme == "clear" else None)
    expected = np.clip(float(residual.edge) - float(residual.slope) * m, 0, 1)
    assert np.array_equal(next(iter(run.results.values())).astype(np.float64), expected)
    assert np.array_equal(residual(m), expected)


@pytest.mark.parametrize(
    "given",
    [
        {"edge": Fraction(0)},
        {"slope": Fraction(-1)},
        {"slope": Fraction(1, 3)},
        {"edge": 1.5},
        {"slope": Fraction(1, 512)},
    ],
)
def test_it_has_few_bits(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=f"The '{next(iter(given))}' parameter of ClippedResidual"):
        ClippedResidual(**given)


class _Steep(HuberHinge):
    name = "steep"
    clipped_residual = ClippedResidual(Fraction(5, 4), Fraction(7, 4))
    clipped_title = "a steep model"


class _NotForDescent(HuberHinge):
    name = "not for descent"
    clipped_residual = None


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for loss in (_Steep(), _NotForDescent()):
        monkeypatch.setitem(LOSSES, loss.name, loss)


def _plan(loss: str, **facts: Any) -> DescentPlan:
    plan = plan_training(training_facts(200, 4, loss=loss, scheme="clear", epsilon=3.0, **facts))
    assert isinstance(plan, DescentPlan)
    return plan


@pytest.mark.parametrize("facts", FACTS, ids=str)
def test_descent_trains_with_the_residual_of_the_loss(facts: dict[str, Any]) -> None:
    plan, other = _plan("steep", **facts), _plan("huber_hinge", **facts)
    assert plan.formats.evaluation.description == "clip(5/4 - 7/4 z, 0, 1) by two comparisons, for any z"
    rng = np.random.default_rng(3)
    x = rng.random((200, 4)) - 0.5
    labels = (x[:, 0] > 0.1 * rng.normal(size=200)).astype(np.int64)
    with fixed_noise(seed=5), checked_ranges():
        real = plan.opened.in_units(opened(plan, (x, labels)))
    noise = noise_of(plan, 5)

    def twin(plan: DescentPlan) -> Any:
        drawn = {name: values.astype(np.float64)[:, np.newaxis] for name, values in noise.items()}
        return descended(plan, prepared_rows(plan, x), labels, lambda event: drawn[event.name])[0]

    deviation = plan.noise_of_weights
    assert np.abs(real - twin(plan))[:4].max() < 0.02 * deviation
    assert np.abs(real - twin(other))[:4].max() > 0.2 * deviation, "both residuals train alike"


def test_the_hash_of_a_plan_has_it() -> None:
    plan = _plan("steep")
    same_name = replace(plan, formats=replace(plan.formats, residual=ClippedResidual()))
    assert same_name.hash != plan.hash


def test_a_loss_without_one_is_refused_when_a_run_is_planned() -> None:
    with pytest.raises(InvalidInputError, match=r"The 'loss' parameter of a plan must be one with a clipped residual"):
        _plan("not for descent")
    assert plan_training(training_facts(2000, 4, loss="not for descent", recipe="paper")).proven
