"""Calibration of discrete Laplace noise, computed once more from its formula."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from cofit.arithmetic import Z64, FixedPoint
from cofit.privacy.mechanisms.laplace import Laplace, calibrate_laplace
from cofit.sampling.discrete_laplace import tv_distance
from unit.privacy.mechanisms.cases import CASES


@pytest.mark.parametrize(("dimension", "sensitivity", "epsilon", "weights"), CASES, ids=str)
def test_the_noise_covers_the_sensitivity_in_the_1_norm_and_hardly_more(
    dimension: int, sensitivity: Fraction, epsilon: Fraction, weights: FixedPoint
) -> None:
    """scale = sqrt(d) (sensitivity + 2 sqrt(d) 2^-g) / epsilon."""
    made = calibrate_laplace(dimension, sensitivity, epsilon, weights, Fraction(1))
    added = made.sensitivity - sensitivity
    assert float(added) == pytest.approx(2 * math.sqrt(dimension) * 2.0**-made.grid_bits, rel=1e-9)
    needed = dimension * (made.sensitivity / epsilon) ** 2
    assert needed <= made.scale**2 <= needed * Fraction(1_000_001, 1_000_000)
    assert Laplace.squared_epsilon(made.sensitivity, made.scale, dimension) <= epsilon**2
    assert made.delta == 0 and made.weight_bits == made.grid_bits


@pytest.mark.parametrize(("dimension", "sensitivity", "epsilon", "weights"), CASES, ids=str)
def test_the_distance_is_that_of_all_coordinates_and_small(
    dimension: int, sensitivity: Fraction, epsilon: Fraction, weights: FixedPoint
) -> None:
    made = calibrate_laplace(dimension, sensitivity, epsilon, weights, Fraction(1))
    exact = tv_distance(made.scale * (1 << made.grid_bits), dimension, precision=made.precision)
    assert exact <= made.sampler_distance <= exact * Fraction(1_000_001, 1_000_000)
    assert made.total_delta < Fraction(1, 1 << 20)


def test_deviation_and_length() -> None:
    made = calibrate_laplace(8, Fraction(1, 100), Fraction(1), FixedPoint(30, Z64), Fraction(1))
    assert Laplace.deviation(8) == math.sqrt(2)
    assert made.expected_norm == pytest.approx(4 * float(made.scale))
