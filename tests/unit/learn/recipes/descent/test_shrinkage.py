from __future__ import annotations

import math

import numpy as np
import pytest

from cofit.learn.recipes.descent.shrinkage import (
    ERRORS,
    MEDIAN,
    PART,
    THRESHOLDS,
    Reals,
    believed_shrinkage,
    gain_of,
    shrunk_weights,
)


def sparse(cols: int = 500, large: int = 5, size: float = 12.0, seed: int = 0) -> Reals:
    y = np.random.default_rng(seed).standard_normal(cols)
    y[:large] += size
    return y


def test_the_threshold_by_hand() -> None:
    y = np.array([4.0, -2.0, 1.0, -0.25, 0.0])
    np.testing.assert_array_equal(shrunk_weights(y, 1.0), [3.75, -1.5, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(shrunk_weights(y, 0.0), y)
    np.testing.assert_array_equal(shrunk_weights(y, 5.0), np.zeros(5))


def test_gain_and_error_by_hand() -> None:
    """s = (2, 0), s' = (1 + 8/16, 0): P = 2 * 4 - 1.5 = 6.5, over 2; against (17 - 2) / sqrt(17)."""
    gain, error = gain_of(np.array([4.0, 1.0]), math.sqrt(8))
    root = math.sqrt(17)
    assert gain == pytest.approx(6.5 / 2 - 15 / root)
    direction = (1 - 4 / root) ** 2 + (1 / root) ** 2
    slopes = (1.5 / 2 - 1 / root) ** 2 + 1 / 17
    assert error == pytest.approx(math.sqrt(direction + slopes))


def test_nothing_left_is_no_gain() -> None:
    assert gain_of(np.array([0.1, -0.2]), 1.0) == (0.0, math.inf)


def test_few_large_weights_are_believed_and_half_of_the_threshold_is_used() -> None:
    y = sparse()
    y /= np.median(np.abs(y)) / MEDIAN
    bounds = {t: gain_of(y, t)[0] - ERRORS * gain_of(y, t)[1] for t in THRESHOLDS}
    best = max(bounds, key=lambda t: bounds[t])
    assert bounds[best] > 0
    assert believed_shrinkage(y, 1.0) == pytest.approx(PART * best)


def test_noise_is_not_taken_for_larger_than_the_weights_allow() -> None:
    """The public level may be far above: the threshold is in its units, and stays where it was."""
    y = sparse()
    least = float(np.median(np.abs(y))) / MEDIAN
    exact = believed_shrinkage(y, least) * least
    assert exact > 0
    for level in (1.5, 4.0, 100.0):
        assert believed_shrinkage(y, level) * level == pytest.approx(exact)
    assert believed_shrinkage(y, 0.5) * 0.5 < exact, "nor for larger than the public level"


@pytest.mark.parametrize("size", [0.0, 0.3, 3.0])
def test_many_alike_are_left_as_they_are(size: float) -> None:
    y = np.random.default_rng(1).standard_normal(800) + size
    assert believed_shrinkage(y, 1.0) == 0.0


def test_it_does_not_depend_on_units_order_or_signs() -> None:
    y = sparse()
    rng = np.random.default_rng(2)
    other = 1e-4 * rng.permutation(y) * 1.0
    other *= rng.choice([-1.0, 1.0], len(y))
    assert believed_shrinkage(other, 1e-4) == pytest.approx(believed_shrinkage(y, 1.0))
    assert believed_shrinkage(y, 1.0) > 0


@pytest.mark.parametrize("weights", [np.zeros(4), np.zeros(0), np.array([2.0]), np.eye(9)[0]])
def test_nothing_to_go_by_is_no_shrinkage(weights: Reals) -> None:
    assert believed_shrinkage(weights, 1.0) == 0.0


def test_without_noise_nothing_is_shrunk() -> None:
    assert believed_shrinkage(sparse(), 0.0) == 0.0
