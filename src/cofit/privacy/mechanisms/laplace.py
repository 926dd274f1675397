"""Independent discrete Laplace noise on the grid: P(k) proportional to exp(-|k| / t) for the noise k 2^-g.

Weights live on the same grid (they are truncated to it first, which the sensitivity counts). Two weight vectors at
Euclidean distance Delta are at most sqrt(d) Delta apart in the 1-norm, so with t 2^-g = sqrt(d) Delta / epsilon the
probabilities of any outcome differ by a factor of at most exp(sqrt(d) Delta / (t 2^-g)) = e^epsilon: pure, and exact,
because the noise is an integer multiple of the grid. The sampler's distance is that of d discrete Laplace draws; it
works with as many bits as keep it small beside e^-epsilon, as far as there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import FixedPoint
from cofit.privacy.accountant import at_epsilon
from cofit.privacy.events import LaplaceEvent, laplace_event
from cofit.privacy.mechanisms.grid import grid_for
from cofit.privacy.mechanisms.mechanism import EventMaker, Mechanism, Wanted, rounded_up
from cofit.privacy.safe_rounding import EXACT_BITS, root_up
from cofit.sampling.discrete_laplace import discrete_laplace, tv_distance
from cofit.secret import Party, SecretArray

_PRECISIONS = (64, 96, 128, 192, 256)
_SMALL_DELTA = Fraction(1, 1 << 30)


@dataclass(frozen=True)
class Laplace(Mechanism):
    """Independent discrete Laplace noise in every coordinate. ``precision``: the bits of the sampler."""

    precision: int

    name: ClassVar[str] = "laplace"
    scale_name: ClassVar[str] = "scale"
    pure: ClassVar[bool] = True
    law: ClassVar[str] = "laplace"
    title: ClassVar[str] = "Laplace"

    @classmethod
    def calibrated(cls, wanted: Wanted) -> Mechanism:
        return calibrate_laplace(wanted.dimension, wanted.sensitivity, wanted.epsilon, wanted.weights, wanted.radius)

    @classmethod
    def event_in(cls, norm: str) -> EventMaker:
        return LaplaceEvent if norm == "L1" else laplace_event

    @classmethod
    def deviation(cls, dimension: int) -> float:
        del dimension
        return math.sqrt(2)

    @classmethod
    def squared_epsilon(cls, sensitivity: Fraction, scale: Fraction, dimension: int) -> Fraction:
        """In the 1-norm the sensitivity is sqrt(d) times as large."""
        return dimension * (sensitivity / scale) ** 2

    @property
    def expected_norm(self) -> float:
        """Root mean square; the mean is a little smaller."""
        return float(self.scale) * math.sqrt(2 * self.dimension)

    @property
    def distribution(self) -> str:
        return f"independent discrete Laplace noise of scale {float(self.scale):.6g} in every coordinate"

    def in_the_clear(self, draws: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        return rng.laplace(0.0, float(self.scale), (draws, self.dimension))

    def _noisy(self, party: Party, weights: SecretArray, count: int) -> SecretArray:
        del count  # coordinates are independent
        steps = self.scale * (1 << self.grid_bits)
        noise = discrete_laplace(party, weights.shape, steps, weights.format.ring, precision=self.precision)
        return weights.truncate(self.weight_bits) + noise.ldexp(-self.grid_bits)


def calibrate_laplace(
    dimension: int, sensitivity: Fraction, epsilon: Fraction, weights: FixedPoint, radius: Fraction
) -> Laplace:
    """Calibrate for weights in that format, of Euclidean norm at most ``radius``."""
    root = root_up(Fraction(dimension), EXACT_BITS)
    grid_bits, sensitivity = grid_for(root * sensitivity / epsilon, dimension, sensitivity, weights, radius)
    scale = rounded_up(root * sensitivity / epsilon)
    for precision in _PRECISIONS:
        distance = rounded_up(tv_distance(scale * (1 << grid_bits), dimension, precision=precision))
        event = laplace_event("weights", sensitivity, scale, dimension, distance)
        if at_epsilon([event], epsilon).delta <= _SMALL_DELTA:
            break
    return Laplace(
        dimension, sensitivity, epsilon, Fraction(0), scale, grid_bits, grid_bits, distance, precision=precision
    )
