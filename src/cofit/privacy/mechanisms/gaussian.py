"""Independent discrete Gaussian noise on the grid: P(k) proportional to exp(-k^2 / (2 s^2)) for the noise k 2^-g.

Weights live on the same grid (they are truncated to it first, which the sensitivity counts). (epsilon, delta) by zero-
concentrated differential privacy: see ``zcdp.py`` and its note. A thousandth of delta is kept for the distance of the
sampler, which works with as many bits as that takes; so the whole guarantee is (epsilon, delta), nothing added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from cofit.arithmetic import FixedPoint
from cofit.errors import parameter_error
from cofit.privacy.mechanisms.grid import grid_for
from cofit.privacy.mechanisms.mechanism import Mechanism, rounded_up
from cofit.privacy.zcdp import gaussian_sigma, total_delta
from cofit.sampling.discrete_gaussian import discrete_gaussian, tv_distance
from cofit.secret import Party, SecretArray

_KEPT = Fraction(1, 1024)
_PRECISIONS = (64, 96, 128, 192, 256)


@dataclass(frozen=True)
class Gaussian(Mechanism):
    """Independent discrete Gaussian noise in every coordinate. ``precision``: the bits of the sampler."""

    precision: int

    name: ClassVar[str] = "gaussian"
    scale_name: ClassVar[str] = "sigma"
    pure: ClassVar[bool] = False

    @property
    def expected_norm(self) -> float:
        half = self.dimension / 2
        return float(self.scale) * math.sqrt(2) * math.exp(math.lgamma(half + 0.5) - math.lgamma(half))

    @property
    def distribution(self) -> str:
        return f"independent discrete Gaussian noise of standard deviation {float(self.scale):.6g} in every coordinate"

    @property
    def total_delta(self) -> Fraction:
        """The delta that was asked for covers the sampler's distance already."""
        return self.delta

    def _noisy(self, party: Party, weights: SecretArray, count: int) -> SecretArray:
        del count  # coordinates are independent
        steps = self.scale * (1 << self.grid_bits)
        noise = discrete_gaussian(party, weights.shape, steps, weights.format.ring, precision=self.precision)
        return weights.truncate(self.weight_bits) + noise.ldexp(-self.grid_bits)


def calibrate_gaussian(
    dimension: int, sensitivity: Fraction, epsilon: Fraction, delta: Fraction, weights: FixedPoint, radius: Fraction
) -> Gaussian:
    """Calibrate for weights in that format, of Euclidean norm at most ``radius``."""
    kept = delta * _KEPT
    per_unit = gaussian_sigma(Fraction(1), epsilon, delta - kept)
    grid_bits, sensitivity = grid_for(per_unit * sensitivity, dimension, sensitivity, weights, radius)
    scale = gaussian_sigma(sensitivity, epsilon, delta - kept)
    steps = scale * (1 << grid_bits)
    for precision in _PRECISIONS:
        distance = rounded_up(tv_distance(steps, dimension, precision=precision))
        if total_delta(Fraction(0), distance, epsilon) <= kept:
            return Gaussian(
                dimension, sensitivity, epsilon, delta, scale, grid_bits, grid_bits, distance, precision=precision
            )
    raise parameter_error(
        "epsilon",
        "the gaussian mechanism",
        f"smaller: its noise cannot be sampled closely enough for e^epsilon and delta = {float(delta):g}",
        float(epsilon),
    )
