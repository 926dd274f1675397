"""Calibration of K-norm noise, computed once more from the formulas of its docstring."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from cofit.arithmetic import Z64, Z128, FixedPoint
from cofit.errors import InvalidInputError, RangeError
from cofit.privacy.mechanisms.knorm import calibrate_knorm
from cofit.sampling import knorm, sphere
from unit.privacy.mechanisms.cases import CASES

SAMPLE = FixedPoint(52, Z128)


@pytest.mark.parametrize(("dimension", "sensitivity", "epsilon", "weights"), CASES, ids=str)
def test_the_noise_covers_the_sensitivity_and_hardly_more(
    dimension: int, sensitivity: Fraction, epsilon: Fraction, weights: FixedPoint
) -> None:
    made = calibrate_knorm(dimension, sensitivity, epsilon, weights, Fraction(1))
    added = 2 * math.sqrt(dimension) * 2.0**-made.weight_bits
    assert float(made.sensitivity - sensitivity) == pytest.approx(added, rel=1e-6)
    assert made.sensitivity / epsilon <= made.scale <= made.sensitivity / epsilon * Fraction(1001, 1000)
    assert made.epsilon == epsilon and made.delta == 0


@pytest.mark.parametrize(("dimension", "sensitivity", "epsilon", "weights"), CASES, ids=str)
def test_the_distance_of_the_sampler(
    dimension: int, sensitivity: Fraction, epsilon: Fraction, weights: FixedPoint
) -> None:
    """d (2 e 2^g + e / beta) for e = beta coupling + 2^-fine, and the exceptions of the sampler."""
    made = calibrate_knorm(dimension, sensitivity, epsilon, weights, Fraction(1))
    error = made.scale * knorm.coupling_error(dimension, SAMPLE) + Fraction(1, 1 << made.fine_bits)
    border = dimension * (2 * error * (1 << made.grid_bits) + error / made.scale)
    exact = border + knorm.tv_distance(dimension, SAMPLE) + knorm.exception(dimension, Z128)
    assert exact <= made.sampler_distance <= exact * Fraction(1_000_001, 1_000_000)


@pytest.mark.parametrize(("dimension", "sensitivity", "epsilon", "weights"), CASES, ids=str)
def test_the_grid_is_fine_beside_the_noise_and_coarse_beside_the_sum(
    dimension: int, sensitivity: Fraction, epsilon: Fraction, weights: FixedPoint
) -> None:
    made = calibrate_knorm(dimension, sensitivity, epsilon, weights, Fraction(1))
    assert made.grid_bits <= made.weight_bits <= made.fine_bits
    deviation = float(made.scale) * math.sqrt(dimension + 1)
    assert 2**8 <= deviation * 2**made.grid_bits < 2**9, "cells beside the noise of a coordinate"


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(RangeError, match="does not fit"):
        calibrate_knorm(13, Fraction(10**12), Fraction(1, 1000), FixedPoint(30, Z64), Fraction(1))
    with pytest.raises(InvalidInputError, match="use mechanism 'laplace'"):
        calibrate_knorm(sphere.LARGEST_DIMENSION + 1, Fraction(1), Fraction(1), FixedPoint(30, Z64), Fraction(1))
