"""The mechanisms, one file each, and the choice among them."""

from __future__ import annotations

from fractions import Fraction

from cofit.arithmetic import FixedPoint
from cofit.errors import parameter_error
from cofit.privacy.mechanisms.gaussian import Gaussian, calibrate_gaussian
from cofit.privacy.mechanisms.knorm import KNorm, calibrate_knorm
from cofit.privacy.mechanisms.laplace import Laplace, calibrate_laplace
from cofit.privacy.mechanisms.mechanism import Mechanism

MECHANISMS = ("knorm", "laplace", "gaussian")


def calibrate(
    name: str,
    *,
    dimension: int,
    sensitivity: Fraction,
    epsilon: Fraction,
    delta: Fraction,
    weights: FixedPoint,
    radius: Fraction,
) -> Mechanism:
    """Calibrate the mechanism of that name."""
    if name == "gaussian":
        if delta <= 0:
            raise parameter_error("delta", "the gaussian mechanism", "above 0 (for example 1e-6)", float(delta))
        return calibrate_gaussian(dimension, sensitivity, epsilon, delta, weights, radius)
    if name == "knorm":
        return calibrate_knorm(dimension, sensitivity, epsilon, weights, radius)
    if name == "laplace":
        return calibrate_laplace(dimension, sensitivity, epsilon, weights, radius)
    raise parameter_error("mechanism", "a plan", f"one of {list(MECHANISMS)}, or None", name)


__all__ = ["MECHANISMS", "Gaussian", "KNorm", "Laplace", "Mechanism", "calibrate"]
