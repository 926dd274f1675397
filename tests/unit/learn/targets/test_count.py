"""A count: what owners may put in, what the parties hold against it, and the rate that a score stands for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import d2_tweedie_score

from cofit import Party, run_local
from cofit.arithmetic import FixedPoint
from cofit.errors import InvalidInputError
from cofit.learn.bounds import scaled_by_bounds
from cofit.learn.targets import MOST_COUNT, NUMBER, Count


@pytest.mark.parametrize("largest", [1, 6, 41, 1000, MOST_COUNT])
def test_every_count_is_shared_as_its_integer(largest: int) -> None:
    given = np.arange(largest + 1)
    shared = Count(largest).encoded(scaled_by_bounds(given.astype(np.float64), 0.0, float(largest)))
    assert np.ldexp(shared, 15).tolist() == given.tolist()
    assert shared.max() <= Count.bound


@pytest.mark.parametrize("wrong", [2.5, 2.001, -1, 41, np.nan, np.inf])
def test_others_are_refused(wrong: float) -> None:
    with pytest.raises(InvalidInputError, match="whole numbers from 0 to 40"):
        Count(40).encoded(np.array([2.0, wrong]) / 40 * 2 - 1)


def test_the_check_tells_the_counts_from_everything_else() -> None:
    given = np.array([-1, 0, 17, 40, 41, 1 << 40])

    def program(party: Party) -> list[Any]:
        counts = party.constant(given, FixedPoint(0)).loosened(1 << 41)
        return [party.open(one, reason="test") for one in Count(40).not_negative(counts)]

    tests = next(iter(run_local(program, scheme="clear", parties=1).results.values()))
    passed = np.all([np.asarray(one) >= 0 for one in tests], axis=0)
    assert passed.tolist() == [False, True, True, True, False, False]


def test_a_score_stands_for_a_rate_on_a_logarithmic_scale() -> None:
    found = Count(40).predicted(np.array([-7.0, -1.0, 0.0, 1.0, 3.0]), (0.0, 40.0))
    assert found == pytest.approx([1 / 20, 1 / 20, math.sqrt(2), 40, 40])
    middle, half = Count(40).predictor((0.0, 40.0))
    assert found[2:4] == pytest.approx([math.exp(middle), math.exp(middle + half)])


def test_a_prediction_is_off_by_no_more_than_is_said() -> None:
    scores, error, ends = np.linspace(-1.5, 1.5, 301), 0.01, (0.0, 40.0)
    for target in (Count(40), NUMBER):
        moved = np.abs(target.predicted(scores + error, ends) - target.predicted(scores, ends)).max()
        assert 0.9 * target.error_of(error, ends) < moved <= target.error_of(error, ends) * (1 + 1e-9)


@pytest.mark.parametrize("bad", [(1, 40), (0, 2.5), (0, 0), (0, MOST_COUNT + 1), (-1, 3)])
def test_a_range_begins_at_zero_and_ends_at_a_whole_number(bad: tuple[float, float]) -> None:
    assert "a whole number from 1 to 32768" in str(Count(1).refused_range(*bad))
    assert Count(1).refused_range(0, 40) is None


def test_the_measure_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    rates = rng.gamma(2, 1.5, (200, 3))
    counts = rng.poisson(rates[:, 0]).astype(np.float64)
    found = Count(40).explained(counts, rates)
    assert found == pytest.approx([d2_tweedie_score(counts, column, power=1) for column in rates.T])


def test_only_numbers_have_a_range() -> None:
    assert NUMBER.refused_range(3, 2) == "two numbers, the first of them smaller"
    assert not NUMBER.not_whole(np.array([0.5])).any()
    assert Count(9).not_whole(np.array([0.5, 3.0])).tolist() == [True, False]
