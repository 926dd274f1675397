"""The K-norm mechanism of the paper (pi_DP): noise of density proportional to exp(-||eta|| / beta).

beta = sensitivity / epsilon.

Pure: for two weight vectors at distance at most beta epsilon, the densities of w + eta at any point differ by a factor
of at most exp(||w - w'|| / beta) <= e^epsilon (triangle inequality).

**What is published is a rounding of w + eta**, so it is as private (post-processing), and no lattice of low-order bits
is left that w could be read from: the sum is formed with ``fine_bits`` fractional bits, in the ring of the weights, and
then truncated to the grid. The truncation adds a dither that is independent of everything secret, and of which parties
may know their part: for every value of it the result is a function of w + eta alone.

**Distance of the sampler.** Outside an event of probability ``knorm.tv_distance + knorm.exception`` every coordinate of
the unit noise is within ``knorm.coupling_error`` of an exact draw. Times beta (a dyadic number, multiplied exactly),
with the truncation to ``fine_bits``, each coordinate of the sum is within e = beta coupling + 2^-fine of an exact one;
both fall into the same cell of the grid unless the exact one lies within e of the border of two cells. The marginal
density of a coordinate is unimodal and at most 1 / (2 beta) (d = 1: Laplace; larger d: sqrt(d / 2 pi) / ((d - 1) beta)
or less), so an interval of length 2 e around each multiple of the cell width 2^-g is hit with probability at most
2 e 2^g + 2 e / (2 beta). Over d coordinates: d (2 e 2^g + e / beta).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Z128, FixedPoint, reals
from cofit.errors import RangeError, parameter_error
from cofit.privacy.events import KNormEvent
from cofit.privacy.mechanisms.mechanism import EventMaker, Mechanism, Wanted, rounded_up, square_root_up
from cofit.sampling import exponential, knorm, sphere
from cofit.sampling.parameters import PRECISION
from cofit.secret import Party, SecretArray

_SAMPLE = FixedPoint(52, Z128)
_GRID_PER_DEVIATION = 8  # the grid is 2^-8 of the noise's standard deviation in a coordinate, or finer
_HEADROOM = 1  # bits, beyond that of the ring


@dataclass(frozen=True)
class KNorm(Mechanism):
    """Noise in a uniform direction with Gamma(d, beta) length."""

    fine_bits: int

    name: ClassVar[str] = "knorm"
    scale_name: ClassVar[str] = "beta"
    pure: ClassVar[bool] = True
    law: ClassVar[str] = "knorm"
    title: ClassVar[str] = "K-norm"
    truncates: ClassVar[bool] = False  # the sum is rounded after the noise

    @classmethod
    def calibrated(cls, wanted: Wanted) -> Mechanism:
        return calibrate_knorm(wanted.dimension, wanted.sensitivity, wanted.epsilon, wanted.weights, wanted.radius)

    @classmethod
    def event_in(cls, norm: str) -> EventMaker:
        del norm
        return KNormEvent

    @classmethod
    def deviation(cls, dimension: int) -> float:
        return math.sqrt(dimension + 1)

    @property
    def expected_norm(self) -> float:
        return self.dimension * float(self.scale)

    @property
    def distribution(self) -> str:
        return (
            f"a uniformly random direction in {self.dimension} dimensions, times a Gamma({self.dimension}, "
            f"{float(self.scale):.6g}) length"
        )

    def in_the_clear(self, draws: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        noise = rng.standard_normal((draws, self.dimension))
        lengths = rng.gamma(self.dimension, float(self.scale), draws)
        return np.asarray(noise * (lengths / np.linalg.norm(noise, axis=1))[:, np.newaxis])

    def _noisy(self, party: Party, weights: SecretArray, count: int) -> SecretArray:
        unit = knorm.knorms(party, count, self.dimension, _SAMPLE).reshape(*weights.shape)
        bits = self.scale.denominator.bit_length() - 1
        exact = (unit * self.scale.numerator).ldexp(-bits)
        finer = exact.format.fraction_bits >= self.fine_bits
        noise = exact.truncate(self.fine_bits) if finer else exact.widen(self.fine_bits)
        if weights.format.ring is not noise.format.ring:
            noise = noise.narrow(weights.format.ring)
        return (weights.truncate(self.weight_bits).widen(self.fine_bits) + noise).truncate(self.grid_bits)


def calibrate_knorm(
    dimension: int, sensitivity: Fraction, epsilon: Fraction, weights: FixedPoint, radius: Fraction
) -> KNorm:
    """Calibrate for weights in that format, of Euclidean norm at most ``radius``."""
    if dimension > sphere.LARGEST_DIMENSION:
        raise parameter_error(
            "cols",
            "the knorm mechanism",
            f"at most {sphere.LARGEST_DIMENSION}, the intercept included (use mechanism 'laplace')",
            dimension,
        )
    largest = Fraction(dimension << exponential.integer_digits(PRECISION)) * Fraction(4097, 4096)
    first = rounded_up(sensitivity / epsilon)
    room = weights.ring.value_bits - _HEADROOM
    integer_bits = max(reals.ceil_log2(2 * first * largest + radius), 0)
    fine_bits = min(room - integer_bits, _SAMPLE.ring.bits // 2 + 32)
    if fine_bits < 1 or first.denominator.bit_length() + _SAMPLE.fraction_bits > _SAMPLE.ring.value_bits - _HEADROOM:
        raise RangeError(
            f"Noise of scale {float(first):.3g} in {dimension} dimensions does not fit {weights.ring.name}. Use "
            f"another mechanism, or an epsilon, an l2 and a number of rows that are less extreme."
        )
    weight_bits = min(weights.fraction_bits, fine_bits)
    sensitivity += (
        2 * square_root_up(Fraction(dimension)) / (1 << weight_bits)
    )  # of the truncation, also if there is none
    scale = rounded_up(sensitivity / epsilon)
    deviation = float(scale) * math.sqrt(dimension + 1)
    grid_bits = max(0, _GRID_PER_DEVIATION - reals.floor_log2(deviation))
    error = scale * knorm.coupling_error(dimension, _SAMPLE) + Fraction(1, 1 << fine_bits)
    borders = dimension * (2 * error * (1 << grid_bits) + error / scale)
    distance = rounded_up(knorm.tv_distance(dimension, _SAMPLE) + knorm.exception(dimension, Z128) + borders)
    return KNorm(
        dimension, sensitivity, epsilon, Fraction(0), scale, weight_bits, grid_bits, distance, fine_bits=fine_bits
    )
