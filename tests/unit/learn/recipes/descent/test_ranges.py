"""Plans of noisy descent: refused, or every value fits. Many facts on a meter; the worst data and noise in runs.

``plan_training`` may refuse with its reason; what it plans runs from end to end, on shares without values that check
every public bound. With ``clear`` every value is held against its bound, with the largest noise that can be drawn.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from cofit.errors import InvalidInputError, PartyFailedError, RangeError
from cofit.learn.facts import training_facts
from cofit.learn.forecast import forecast
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent.clip import STRETCH_BITS
from cofit.learn.recipes.descent.formats import MEAN_BITS, reach
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.planning import plan_descent
from cofit.sampling import discrete_gaussian
from support.descent import FEW, KINDS, TABLES, extreme_noise, integers, plan_of, seen, table_of, truncating
from support.training import checked_ranges

FAST = settings(
    max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)


@st.composite
def facts(draw: st.DrawFn, most_rows: int) -> dict[str, Any]:
    rows = round(10 ** draw(st.floats(np.log10(2), np.log10(most_rows))))
    cols = round(10 ** draw(st.floats(0, 5)))
    chosen: dict[str, Any] = {
        "rows": max(2, rows),
        "cols": cols,
        "epsilon": 10 ** draw(st.floats(-2, np.log10(500))),
        "delta": draw(st.sampled_from([0.0, 1e-12, 1e-5, 1e-5, 0.1])),
        "partition": draw(st.sampled_from(["horizontal", "vertical"])),
        "fit_intercept": draw(st.booleans()),
        "norm_floor": draw(st.sampled_from([1 / 16, 1 / 16, 0.1, 1 / 3, 0.99, 1.0, 0.003, 1e-4, 1e-5, 1e-9, 1e-60])),
    }
    if draw(st.booleans()):
        bound = draw(st.sampled_from([1.0, 3.3, 1e6]))
        lower = draw(st.sampled_from([None, 0.0, -0.3, 0.99]))
        chosen |= {"feature_bound": bound, "feature_lower": lower and lower * bound}
    if not chosen["delta"]:
        chosen |= {"partition": "horizontal", "row_nonzeros": max(1, cols // 3)}
    elif draw(st.booleans()):
        chosen["normalised_by"] = "parties"
    if chosen["delta"] and draw(st.booleans()):
        shares = {"centre": draw(st.sampled_from([0, 0.0001, 0.01, 0.4]))}
        if chosen["partition"] == "vertical" or "normalised_by" in chosen:
            shares["level"] = draw(st.sampled_from([0, 0.0001, 0.4]))
        chosen["budget_shares"] = shares
    elif chosen["delta"]:
        chosen["clip_rows"] = draw(st.sampled_from([True, True, None, False]))
    return chosen


def assert_refused_or_fits(given_facts: dict[str, Any]) -> None:
    """A plan that is refused for its range says so; no other error, and no error of a party, is a refusal."""
    checked = training_facts(**given_facts)
    assume(checked.method == "descent")
    try:
        plan = plan_training(checked)
    except InvalidInputError as refusal:
        assert "Use " in str(refusal), f"no remedy: {refusal}"
        return
    forecast(plan)


@FAST
@given(facts(most_rows=10**6))
def test_a_plan_is_refused_or_its_program_fits(given_facts: dict[str, Any]) -> None:
    assert_refused_or_fits(given_facts)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(FAST, max_examples=100)
@given(facts(most_rows=10**9))
def test_a_plan_is_refused_or_its_program_fits_long(given_facts: dict[str, Any]) -> None:
    assert_refused_or_fits(given_facts)


@pytest.mark.parametrize(
    "case",
    [
        {"rows": 10**9, "cols": 10, "epsilon": 1.0, "delta": 1e-5},  # forecasts hold nothing for a row
        {"rows": 10**7, "cols": 50, "epsilon": 10.0, "delta": 1e-5},  # centred, in the wide ring
        pytest.param(
            {"rows": 10**4, "cols": 10**5, "epsilon": 10.0, "delta": 0.1, "partition": "vertical"},
            marks=pytest.mark.slow,
        ),
        {  # many rows, in the narrow ring, whose offsets are far from 0
            **{"rows": 30_306_839, "cols": 2237, "delta": 1e-5, "partition": "vertical", "feature_bound": 1.0},
            **{"norm_floor": 1 / 3, "budget_shares": {"centre": 0.4, "level": 0.0001}},
        },
        {  # centred, and far more rows than columns: the two factors of a row have limits far apart
            **{"rows": 13_736_630, "cols": 3, "epsilon": 1.7256, "feature_bound": 0.3, "feature_lower": 0.0},
            **{"normalised_by": "parties", "clip_rows": False, "norm_floor": 0.09026},
        },
        {
            **{"rows": 392_536, "cols": 93, "epsilon": 12.13, "delta": 1e-4, "feature_bound": 1.0, "clip_rows": False},
            **{"normalised_by": "parties", "norm_floor": 0.0015343747993075282, "calibrate_intercept": True},
        },
        {"rows": 3000, "cols": 3, "epsilon": 50.0, "delta": 0.0, "row_nonzeros": 1, "fit_intercept": False},
        {"rows": 2, "cols": 5, "delta": 1e-5, "feature_bound": 2.0, "budget_shares": {"level": 0.001, "centre": 0.002}},
        {"rows": 100, "cols": 4, "epsilon": 30.0, "delta": 1e-5},  # needs a finer grid
        {"rows": 200_000, "cols": 64, "feature_bound": 1.0},  # clipped, in the narrow ring
        {"rows": 500_000, "cols": 128, "epsilon": 3.0},
        {"rows": 1_000_000, "cols": 50},
        {"rows": 346, "cols": 17, "epsilon": 38.5, "clip_rows": True},
        {"rows": 100, "cols": 4, "epsilon": 8.0, "delta": 1e-5, "partition": "vertical", "norm_floor": 1e-6},
    ],
    ids=str,
)
def test_these_facts_are_planned_and_fit(case: dict[str, Any]) -> None:
    plan = plan_training(training_facts(**case))
    assert isinstance(plan, DescentPlan)
    forecast(plan)


@pytest.mark.parametrize("rows", [3, 5, 7, 1001])
def test_means_of_the_largest_noise_are_within_what_the_plan_claims(rows: int) -> None:
    """1 / n is rounded to 17 significant bits; where a release is nearly all noise, that counts."""
    shares = {"level": 0.0001, "centre": 0.0001}
    given: dict[str, Any] = {"epsilon": 0.5, "delta": 1e-5, "feature_bound": 1.0, "feature_lower": -1.0}
    plan = plan_descent(training_facts(rows, 4, budget_shares=shares, **given))
    shift = math.ceil(math.log2(rows)) + 16
    inverse = Fraction(round(Fraction(1 << shift, rows)), 1 << shift)
    assert plan.level is not None
    assert plan.centre is not None
    largest = {
        event.name: discrete_gaussian.largest_draw(event.scale, precision=plan.precision)
        for event in (plan.level, plan.centre)
    }
    level = inverse * (rows + Fraction(largest["level"], 1 << MEAN_BITS))
    assert plan.layout.width - 1 >= (3 + 5 * level) / 8
    centre = inverse * (rows + 2 * Fraction(largest["centre"], 1 << plan.formats.grid))
    assert plan.formats.centre is not None
    assert plan.formats.centre >= centre


def test_facts_that_no_ring_holds_are_refused_with_the_remedy() -> None:
    with pytest.raises(RangeError, match="larger norm_floor"):
        plan_of("parties", norm_floor=1e-60)
    with pytest.raises(RangeError, match="larger norm_floor"):
        plan_of("parties, level, centred", norm_floor=1e-9)
    with pytest.raises(InvalidInputError, match="smaller epsilon"):
        plan_of("owners", epsilon=400.0)


def test_one_column_is_warned_of() -> None:
    assert "one column" in plan_of("owners", cols=1).warnings[0]
    assert plan_of("owners", cols=2).warnings == ()


# --- runs ------------------------------------------------------------------------------------------------


def lengths_of_contributions(rows: Any, residuals: Any, exact: int, plan: DescentPlan) -> list[float]:
    """The length of every record's part in a step's sum, from exact integers; beta e included. exact: the bits of
    residuals."""
    formats, layout = plan.formats, plan.layout
    y, e = integers(rows.x), residuals
    tilted = None
    unit = Fraction(1, 1 << (formats.data + formats.scaled))
    p = (integers(rows.scale) * e) >> (rows.scale.format.fraction_bits + exact - formats.scaled)
    if rows.mean is not None:  # stretched: so many bits more
        y, unit = (y - integers(rows.mean)) * integers(rows.stretch), unit / (1 << STRETCH_BITS)
    if rows.offset is not None:
        y = y - integers(rows.offset)[:, None] * (1 if rows.mean is None else 1 << STRETCH_BITS)
    parts = p[:, None] * y
    if rows.tilt is not None:
        tilted = (integers(rows.tilt) * e) >> (formats.inverse_norm + exact - formats.scaled)
        parts = parts - tilted[:, None] * integers(rows.centre)[None, :]
    beta = [formats.constant * Fraction(int(v), 1 << exact) for v in e * integers(rows.signs)]
    if layout.norm == "l1":
        return [float(unit * int(np.abs(part).sum()) + abs(b)) for part, b in zip(parts, beta, strict=True)]
    squares = [unit**2 * int((part * part).sum()) + b * b for part, b in zip(parts, beta, strict=True)]
    return [float(square) ** 0.5 for square in squares]


def assert_ranges(plan: DescentPlan, kind: str, labels: str, signs: int, seed: int) -> tuple[float, float]:
    """Check all bounds in a run; return the largest share of the radius, and of the reach, that it used."""
    formats = plan.formats
    with extreme_noise(plan, signs), checked_ranges() as used:
        run = seen(plan, table_of(kind, plan, np.random.default_rng(seed), labels))
    assert len(used) > 20
    unit = 2.0**-formats.weights
    weights = [float(np.linalg.norm(after.astype(np.float64))) * unit for after in run.after]
    margins = max(int(np.abs(values).max()) for values in run.margins)
    residuals = max(int(np.abs(values).max()) for values in run.residuals)
    assert Fraction(margins, 1 << formats.argument) <= formats.argument_radius
    (exact,) = run.residual_bits
    assert Fraction(residuals, 1 << exact) <= formats.factor <= formats.largest_residual
    both = zip(run.rows, run.residuals, strict=True)
    longest = max(max(lengths_of_contributions(rows, e, exact, plan)) for rows, e in both)
    shares = max(weights) / float(formats.radius), longest / float(reach(formats, plan.layout))
    assert max(shares) <= 1
    return shares


SIGNS = [1, *(pytest.param(sign, marks=pytest.mark.slow) for sign in (-1, 0))]


@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize("kind", [k if k in FEW else pytest.param(k, marks=pytest.mark.slow) for k in KINDS])
def test_every_value_is_within_its_proven_range(kind: str, signs: int) -> None:
    plan = plan_of(kind)
    cases = [(table, labels) for table in TABLES for labels in ("random", "all 1")]
    shares = [
        assert_ranges(plan, name, labels, signs, seed)
        for seed, (name, labels) in enumerate(cases if signs == 1 else cases[1::4])
    ]
    if signs == 1:
        assert max(weights for weights, _ in shares) > 0.4, "the radius is far from what noise and rows can do"
        assert max(part for _, part in shares) > 0.9, "the reach is far from what a record adds"


@pytest.mark.parametrize("kind", [k if k in FEW else pytest.param(k, marks=pytest.mark.slow) for k in KINDS])
def test_every_value_is_within_its_proven_range_with_truncated_weights(kind: str) -> None:
    plan = truncating(plan_of(kind))
    for seed, table in enumerate(("random", "extremes", "signs")):
        assert_ranges(plan, table, "all 1", 1 - seed, seed)


@pytest.mark.parametrize(
    "norm_floor", [1 / 3, 1e-6, *(pytest.param(floor, marks=pytest.mark.slow) for floor in (0.1, 0.003, 1e-4))]
)
@pytest.mark.parametrize("kind", ["parties", "parties, level, centred"])
def test_every_value_is_within_its_proven_range_for_any_floor(kind: str, norm_floor: float) -> None:
    plan = plan_of(kind, norm_floor=norm_floor)
    for table in ("zeros", "equal", "random"):
        assert_ranges(plan, table, "all 1", 1, 5)


@pytest.mark.slow
@pytest.mark.parametrize("cols", [1, 2])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "pure"])
def test_every_value_is_within_its_proven_range_for_few_columns(kind: str, cols: int) -> None:
    plan = plan_of(kind, cols=cols)
    for table in ("zeros", "largest", "extremes"):
        assert_ranges(plan, table, "all 1", -1, 6)


def test_a_bound_that_is_too_small_is_noticed() -> None:
    plan = plan_of("parties, level, centred")
    narrow = replace(plan, formats=replace(plan.formats, radius=plan.formats.radius / 2))
    with pytest.raises((AssertionError, PartyFailedError)):
        assert_ranges(narrow, "extremes", "all 1", 1, 0)
    short = replace(plan, formats=replace(plan.formats, eta=Fraction(-1, 4)))
    with pytest.raises((AssertionError, PartyFailedError)):
        assert_ranges(short, "extremes", "all 1", 1, 0)
