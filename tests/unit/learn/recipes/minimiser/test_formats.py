"""Formats: what fits, what is refused, and that a plan is the only thing that public facts can lead to."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cofit import Party, run_local
from cofit.arithmetic import Z64, Z128
from cofit.errors import InvalidInputError, RangeError
from cofit.learn.losses import loss_named
from cofit.learn.recipes.minimiser.formats import Geometry, choose_formats, encoding_error
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from cofit.learn.recipes.minimiser.program import _point, _times
from cofit.learn.recipes.minimiser.solvers import accelerated, gradient_descent, with_learning_rate
from support.facts import paper_facts
from support.training import planned

SETTINGS = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)


@st.composite
def any_facts(draw: st.DrawFn) -> dict[str, Any]:
    """Facts over their whole domains, sensible or not."""

    def power(low: float, high: float) -> float:
        return float(10 ** draw(st.floats(low, high)))

    mechanism = draw(st.sampled_from(["knorm", "laplace", "gaussian"]))
    chosen: dict[str, Any] = {
        "rows": max(2, int(power(0, draw(st.sampled_from([2, 6, 12]))))),
        "cols": int(power(0, draw(st.sampled_from([1, 3, 5])))),
        "l2": power(*draw(st.sampled_from([(-2, 1), (-6, 6), (-11, 11)]))),
        "epsilon": min(1024.0, power(*draw(st.sampled_from([(-1, 1), (-9, 3)])))),
        "mechanism": mechanism,
        "delta": power(-40, -1) if mechanism == "gaussian" else 0.0,
        "loss": draw(st.sampled_from(["logistic", "huber_hinge"])),
        "partition": draw(st.sampled_from(["horizontal", "vertical"])),
        "fit_intercept": draw(st.booleans()),
        "feature_bound": power(0, 4),
        "norm_floor": min(1.0, power(-5, 0)),
        "tolerance": draw(st.sampled_from([1e-3, 1e-9, 0.1])),
        "solver": draw(st.sampled_from(["auto", "gradient_descent", "accelerated"])),
    }
    if draw(st.integers(0, 3)) == 0:
        chosen |= {
            "learning_rate": power(-11, 4),
            "momentum": draw(st.sampled_from([0.0, 0.5, 0.9, 0.999])),
            "initial": draw(st.sampled_from(["zeros", "glorot"])),
            "epochs": draw(st.sampled_from([5, "auto"])),
            "allow_unproven": draw(st.booleans()),
        }
    return chosen


def assert_runs(plan: MinimiserPlan) -> None:
    """The parts of a run that depend on formats alone, with weights that may be as long as the plan allows."""

    def program(party: Party) -> None:
        format = plan.formats.of(plan.formats.weights)
        largest = format.limit(plan.formats.radius)
        weights = party.constant(np.zeros(plan.geometry.cols), format)
        weights = (weights + Fraction(largest, 1 << format.fraction_bits)).with_integer_limit(largest)
        point = _point(plan, weights, weights)
        plus = _times(point, plan.solver.shrink, plan)
        if plan.solver.momentum:
            plus = plus + _times(weights - weights, plan.solver.momentum, plan)
        plan.mechanism.perturb(party, weights)

    run_local(program, scheme="clear", parties=1)


@SETTINGS
@given(any_facts())
def test_facts_lead_to_a_plan_that_runs_or_to_a_refusal(chosen: dict[str, Any]) -> None:
    try:
        plan = plan_minimiser(paper_facts(**chosen))
    except InvalidInputError as error:
        assert len(str(error)) > 30
        return
    assert plan.proven or chosen.get("allow_unproven")
    if plan.proven:
        assert plan.tau is not None
        assert plan.tau <= 0.2501 * float(plan.objective.sensitivity) / 2
    assert plan.mechanism.sampler_distance <= Fraction(1, 1 << 20)
    assert len(plan.hash) == 64
    if plan.geometry.cols <= 100:
        assert_runs(plan)


@pytest.mark.slow
@pytest.mark.timeout(900)
@settings(SETTINGS, max_examples=250)
@given(any_facts())
def test_facts_lead_to_a_plan_that_runs_or_to_a_refusal_long(chosen: dict[str, Any]) -> None:
    test_facts_lead_to_a_plan_that_runs_or_to_a_refusal.hypothesis.inner_test(chosen)  # type: ignore[attr-defined]


def test_a_million_rows_take_the_wide_ring() -> None:
    assert planned(1_000_000, 5).formats.ring is Z128
    for epsilon in (0.1, 1.0, 10.0):
        assert_runs(planned(1_000_000, 5, epsilon=epsilon))
    assert planned(1_000, 5).formats.ring is Z64


def test_too_many_rows_for_a_ring_are_refused_with_the_remedy() -> None:
    solver = gradient_descent(Fraction(1), Fraction(1, 4), 1 << 39)
    with pytest.raises(RangeError, match=r"need more than 64 bits.*larger ring, a larger l2, or fewer rows"):
        choose_formats(Z64, Geometry(1 << 39, 5), solver, loss_named("logistic"))


def test_a_norm_floor_beyond_the_precision_is_refused() -> None:
    solver = gradient_descent(Fraction(1), Fraction(1, 4), 100)
    with pytest.raises(RangeError):
        choose_formats(Z64, Geometry(100, 5, Fraction(1, 1 << 20)), solver, loss_named("logistic"))


@pytest.mark.parametrize("floor", [None, Fraction(1, 16), Fraction(3, 10), Fraction(1)])
@pytest.mark.parametrize("name", ["logistic", "huber_hinge"])
@pytest.mark.parametrize("l2", [1e-3, 0.05, 1.0, 300.0])
@pytest.mark.parametrize("ring", [Z64, Z128], ids=lambda r: r.name)
def test_every_format_and_range_fits_its_ring(floor: Fraction | None, name: str, l2: float, ring: Any) -> None:
    loss = loss_named(name)
    exact = Fraction(l2)
    smooth = loss.smoothness * Fraction(65, 64)
    for solver in (
        gradient_descent(exact, smooth, 100),
        accelerated(exact, smooth, 100),
        with_learning_rate(exact, smooth, 100, 1 / (exact + smooth), Fraction(9, 10), Fraction(5, 2)),
    ):
        formats = choose_formats(ring, Geometry(100, 7, floor), solver, loss)
        radius, most = math.log2(formats.radius), ring.bits - 2
        longest = math.log2(Geometry(100, 7, floor).longest_row + formats.eta)
        assert formats.weights + formats.data + radius + longest <= most
        assert formats.argument + math.log2(formats.argument_radius) <= most
        assert formats.data + formats.scaled + solver.exponent + radius <= most
        assert max(formats.data + formats.scaled, formats.weights, formats.argument) <= most
        assert not solver.extrapolation or formats.weights + formats.extrapolation <= most
        if formats.product is not None and formats.inverse_norm is not None:
            assert formats.product + formats.inverse_norm + math.log2(formats.argument_radius) <= most
        assert formats.weights + solver.exponent >= 0
        assert 0 < formats.eta <= 2.0**-8
        assert formats.step_error > 0
        assert encoding_error(formats, Fraction(1), solver) > 0


def test_more_bits_for_the_data_are_less_error() -> None:
    """The choice is the best one, so a wider ring is never worse."""
    loss, solver = loss_named("logistic"), gradient_descent(Fraction(1), Fraction(1, 4), 100)
    narrow, wide = (choose_formats(ring, Geometry(100, 7), solver, loss) for ring in (Z64, Z128))
    assert wide.step_error < narrow.step_error
    assert wide.eta <= narrow.eta
