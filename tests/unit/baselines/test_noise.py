"""The calibration of the continuous noise, and what it refuses."""

from __future__ import annotations

import pytest
from dp_accounting import gaussian_mechanism

from cofit.baselines.noise import GaussianNoise, KNormNoise, calibrated, check_budget, gaussian_delta, gaussian_sigma
from cofit.errors import InvalidInputError


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.1])
def test_the_normal_noise_is_the_smallest_that_is_enough(epsilon: float, delta: float) -> None:
    sigma = gaussian_sigma(epsilon, delta)
    assert gaussian_delta(sigma, epsilon) <= delta < gaussian_delta(sigma * 0.999, epsilon)
    assert sigma == pytest.approx(gaussian_mechanism.get_sigma_gaussian(epsilon, delta), rel=1e-6)


def test_the_noise_grows_with_the_sensitivity() -> None:
    assert calibrated("knorm", 0.5, 0.25, 0.0) == KNormNoise(2.0)
    assert calibrated("gaussian", 3.0, 1.0, 1e-5) == GaussianNoise(3 * gaussian_sigma(1.0, 1e-5))


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "delta", "named"),
    [
        ("knorm", 0.0, 0.0, "epsilon"),
        ("knorm", float("nan"), 0.0, "epsilon"),
        ("knorm", float("inf"), 0.0, "epsilon"),
        ("knorm", 1.0, 1e-5, "delta"),
        ("gaussian", 1.0, 0.0, "delta"),
        ("gaussian", 1.0, 1.0, "delta"),
        ("cauchy", 1.0, 0.0, "mechanism"),
    ],
)
def test_a_budget_without_a_mechanism_is_refused(mechanism: str, epsilon: float, delta: float, named: str) -> None:
    with pytest.raises(InvalidInputError, match=named):
        check_budget("a test", mechanism, epsilon, delta)
