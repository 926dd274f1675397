"""What an owner refuses to share, because the noise would not cover it: values and means outside the agreed ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cofit.errors import RangeError
from cofit.learn.bounds import TOLERANCE, beyond
from cofit.learn.contribution import clipped_from_below, prepared_features
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.roles.local.tables import OwnerTable, contributions_of

ROWS, COLS = 2000, 20
BOUNDS = (1e-9, 1e-3, 1.0, 1e9)


def plan_of(bound: float, lower: float, **facts: Any) -> DescentPlan:
    given: dict[str, Any] = {"epsilon": 1.0, "feature_bound": bound, "feature_lower": lower, "fit_intercept": False}
    given |= {"clip_rows": False, **facts}
    plan = plan_training(training_facts(ROWS, COLS, **given))
    assert isinstance(plan, DescentPlan)
    assert plan.level is not None
    return plan


def moved(plan: DescentPlan, row: Any) -> float:
    """How far a row and one of the largest values are apart in the level, in units of its sensitivity."""
    assert plan.level is not None
    means = [
        prepared_features(plan, [values]).mean() for values in (row, np.full(COLS, float(plan.facts.feature_bound)))
    ]
    return float(abs(means[1] - means[0]) * 2**15 / plan.level.sensitivity)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("lower", [0.0, -0.5, 0.25])
def test_rows_that_are_accepted_move_the_level_by_no_more_than_its_sensitivity(bound: float, lower: float) -> None:
    plan = plan_of(bound, lower * bound)
    for slack in (0.0, 2.0**-21, 2.0**-20, 1e-5, 1e-3, 0.5):
        row = np.full(COLS, (lower - slack) * bound)
        try:
            share = moved(plan, row)
        except RangeError as error:
            assert slack > 2.0**-21, "a mean that is right but for rounding was refused"
            assert "feature_lower" in str(error)
            assert "row 0" in str(error)
        else:
            assert slack < 1e-4
            assert share <= 1


def test_the_row_that_is_refused_is_named() -> None:
    plan = plan_of(1.0, 0.0)
    x = np.zeros((10, COLS))
    x[7, 3] = -0.1
    with pytest.raises(RangeError, match="row 107"):
        prepared_features(plan, x, first_row=100)
    x[7, 4] = 0.1
    prepared_features(plan, x)  # one value below, and the mean is not


def test_owners_of_columns_refuse_every_value_below() -> None:
    plan = plan_of(1.0, 0.0, partition="vertical")
    x = np.zeros((ROWS, 3))
    contributions_of(plan, "clinic", OwnerTable(x, None))
    x[5, 1] = -1e-6
    with pytest.raises(RangeError, match=r"'clinic'.*[Rr]ow 5, column 1.*feature_lower"):
        contributions_of(plan, "clinic", OwnerTable(x, None))
    symmetric = plan_of(1.0, -1.0, partition="vertical")
    assert clipped_from_below(symmetric, x) is x


def test_a_small_bound_is_fine_with_an_intercept() -> None:
    assert plan_of(0.5, 0.0, fit_intercept=True).layout.intercept


# --- rounding --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [*BOUNDS, 0.1])
@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
@pytest.mark.parametrize("recipe", ["best", "paper"])
def test_values_beyond_the_bound_by_rounding_are_clipped_to_it(bound: float, partition: str, recipe: str) -> None:
    """On the border, one unit in the last place and half the tolerance beyond: shared as the border itself."""
    facts: dict[str, Any] = {"partition": partition, "recipe": recipe, "normalised_by": "parties"}
    facts |= {"feature_bound": bound, "fit_intercept": False, "l2": 1.0 if recipe == "paper" else None}
    plan = plan_training(training_facts(ROWS, COLS, epsilon=1.0, **facts))
    ((shared, _),) = prepared_features(plan, [[bound, 0.0]]).tolist()
    if plan.facts.row_limit is None:
        assert shared == 1
    else:  # clipped rows: in units of the longest row
        assert 0.999 * bound < shared * plan.facts.row_limit <= bound
    for value in (bound, float(np.nextafter(bound, np.inf)), bound * (1 + TOLERANCE)):
        for sign in (1, -1):
            assert prepared_features(plan, [[sign * value, 0.0]]).tolist() == [[sign * shared, 0.0]]
    for value in (bound * (1 + 3 * TOLERANCE), 1.001 * bound):
        for sign in (1, -1):
            with pytest.raises(RangeError, match=r"Row 0, column 1 .* larger in magnitude than the agreed"):
                prepared_features(plan, [[0.0, sign * value]])


def test_floats_of_32_bits_may_be_rounded_beyond_the_bound() -> None:
    single = np.full((1, 2), 0.1, dtype=np.float32)
    assert single.astype(np.float64).max() > 0.1
    plan = plan_training(
        training_facts(ROWS, COLS, epsilon=1.0, feature_bound=0.1, normalised_by="parties", clip_rows=False)
    )
    assert prepared_features(plan, single).tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("lower", [0.0, 0.25, -0.5])
def test_values_below_the_lower_bound_by_rounding_are_clipped_to_it(lower: float) -> None:
    plan = plan_of(1.0, lower, partition="vertical")
    for value in (lower, float(np.nextafter(lower, -1)), lower - TOLERANCE * (1 - lower) / 2):
        x = np.full((2, 3), value)
        assert clipped_from_below(plan, x).tolist() == np.full((2, 3), lower).tolist()
        (shared,) = contributions_of(plan, "clinic", OwnerTable(x, None)).values()
        assert np.asarray(shared.values).min() == lower
    with pytest.raises(RangeError, match="below the agreed feature_lower"):
        clipped_from_below(plan, np.full((2, 3), lower - 2 * TOLERANCE * (1 - lower)))


@pytest.mark.parametrize(("lower", "upper"), [(-3.0, -1.0), (0.0, 1.0), (-1e308, 1e308), (5.0, 5.5)])
def test_the_tolerance_is_a_part_of_the_range(lower: float, upper: float) -> None:
    room = TOLERANCE * upper - TOLERANCE * lower
    inside = [
        lower,
        upper,
        np.nextafter(lower, -np.inf),
        np.nextafter(upper, np.inf),
        lower - room / 2,
        upper + room / 2,
    ]
    assert not beyond(np.array([*inside, np.nan]), lower, upper).any()
    assert beyond(np.array([lower - 2 * room, upper + 2 * room, np.inf, -np.inf]), lower, upper).all()
