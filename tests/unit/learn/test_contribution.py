"""What an owner refuses to share, because the noise would not cover it: values and means outside the agreed ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cofit.errors import RangeError
from cofit.learn.contribution import prepared_features, refuse_low_values
from cofit.learn.facts import training_facts
from cofit.learn.plan import DescentPlan, plan_training
from cofit.roles.owner_tables import OwnerTable, contributions_of

ROWS, COLS = 2000, 20
BOUNDS = (1e-9, 1e-3, 1.0, 1e9)


def plan_of(bound: float, lower: float, **facts: Any) -> DescentPlan:
    given = {"epsilon": 1.0, "feature_bound": bound, "feature_lower": lower, "fit_intercept": False, "clip_rows": False}
    given |= facts
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
    refuse_low_values(symmetric, x)


def test_a_small_bound_is_fine_with_an_intercept() -> None:
    assert plan_of(0.5, 0.0, fit_intercept=True).layout.intercept
