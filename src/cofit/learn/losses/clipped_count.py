"""The clipped residual of a count: what noisy descent takes of a record whose target is a count.

    e(y, s) = clip((y - rate(s)) / c, -1, 1),    rate(s) = exp(middle + half clip(s, -1, 1))

with the count y, the score s = <w, z>, and c the power of two nearest to a tenth of the largest count, at least 1. Up
to c it is minus the derivative of the Poisson deviance, divided by 2 c, in the logarithm of the rate. It does not
increase with s, so that a step along it goes down a convex function, as of any clipped residual.

**On secrets**, for a score of a proven range, with b = 12 fractional bits:

    t = clip(s, -1, 1)         exactly: by the scheme's clip of a sum, or by two comparisons
    p = P(t)                   a polynomial near rate(t) / c on [-1, 1], with b fractional bits
    e = 2 r(p - y / c) - 1     r(m) = clip(1/2 - m / 2, 0, 1), exactly, by two comparisons; y / c is exact

**The bound.** |e| <= 1 holds because r is clipped, by comparisons that are exact for every p - y / c in their range,
|p - y / c| <= largest / c + 1: |P| <= largest / c + ``rate_error`` on all of [-1, 1], where t is whatever the score
was; and 0 <= y / c <= largest / c, of a record that failed the check y = 0 exactly (``prepared`` multiplies it by the
verdict). So the bound rests neither on the polynomial being near the exponential, nor on an owner's honesty, nor on the
score: only the accuracy does. What a privacy proof takes of it is point 5 of ``recipes/descent/proof.md``.

**The error.** For the score as it was truncated, |p - rate(t) / c| <= ``rate_error``, and so is |e' - e|, because r is
1/2-Lipschitz and doubled: below 2^-11, always. The polynomial: rate(t) / c is entire; in the ellipse of parameter rho
its magnitude is at most exp(middle + half (rho + 1 / rho) / 2) / c, which ``protocols.chebyshev`` makes a degree of.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import IntegerRing, reals
from cofit.learn.batches import in_batches
from cofit.learn.losses.clipped_difference import ClippedDifference
from cofit.learn.losses.clipped_residual import Reals
from cofit.learn.targets.count import COUNT_BITS, LEAST_RATE, Count
from cofit.protocols.chebyshev import REALS, Approximation, approximate, required_degree
from cofit.protocols.clamp import clamp
from cofit.protocols.working import tighten, working_bits
from cofit.secret import SecretArray
from cofit.secret.sums import Sum

_DISTANCE = Fraction(1, 1 << 14)
_ELLIPSES = range(3, 33)
_COMPARED = 28  # shared elements that two comparisons hold for a row


@dataclass(frozen=True)
class ClippedCount(ClippedDifference):
    """largest: the largest count. least, distance: the constants of its rates, stated so that hashes have them."""

    slope: Fraction = Fraction(1, 2)
    largest: int = 1
    least: Fraction = LEAST_RATE
    distance: Fraction = _DISTANCE

    def __str__(self) -> str:
        difference = "y - exp(z)" if self.unit == 1 else f"(y - exp(z)) / {self.unit}"
        return f"clip({difference}, -1, 1)"

    def evaluated(self, ring: IntegerRing) -> str:
        degree = self.rates(working_bits(ring)).degree
        return f"{self} by four comparisons and a polynomial of degree {degree}, for any z"

    @property
    def unit_bits(self) -> int:
        """c = 2^unit_bits: the nearest to largest / 10, by ratio."""
        bits = 0
        while 100 * 4 ** (bits + 1) <= 2 * self.largest**2:
            bits += 1
        return bits

    @property
    def unit(self) -> int:
        """c."""
        return 1 << self.unit_bits

    @property
    def clip(self) -> Fraction:
        """1/4: near the rate c, a score that is off by 1 / half, about 1/4, is a residual of 1. Steps are as long as
        for a number whose difference from its score is clipped there. 1/2 where c is 1, and most rates are far below:
        there residuals change less with the score."""
        return Fraction(1, 4) if self.unit_bits else Fraction(1, 2)

    @property
    def largest_target(self) -> Fraction:
        """That of a count over c."""
        return Fraction(self.largest, self.unit)

    @property
    def meaning(self) -> str:
        return f"what a record counts; y: its count, z: the logarithm of its rate, from {self.least} to {self.largest}"

    def rates(self, ring_bits: int) -> Approximation:
        """Return the polynomial near rate(t) / c. ring_bits: W of the ring (``working_bits``)."""
        return _polynomial(self.largest, self.unit, self.distance, ring_bits)

    def rate_error(self, ring_bits: int, fraction_bits: int) -> Fraction:
        """Return a bound of |p - rate(t) / c|."""
        return self.rates(ring_bits).error(fraction_bits)

    def prepared(self, labels: SecretArray, passed: SecretArray) -> tuple[SecretArray, SecretArray | None]:
        """The verdicts, and the counts over c times them: 0 for a record that failed, whatever its owner put in."""
        return super().prepared(labels.ldexp(COUNT_BITS - self.unit_bits), passed)

    def linked(self, scores: Sum, data: int) -> SecretArray:
        bits = scores.format.fraction_bits
        if scores.clips(-(1 << bits), 1 << bits):
            cut = scores.clipped(-(1 << bits), 1 << bits)
        else:
            cut = in_batches(lambda s: clamp(s, Fraction(-1), Fraction(1)), [scores.value()], _COMPARED, data)
        inner = working_bits(cut.format.ring)
        rates = self.rates(inner)
        found = in_batches(lambda t: rates.evaluate(t.widen(inner), bits), [cut], 4 * rates.formed, data)
        return tighten(found, self.largest_target + self.rate_error(inner, bits))

    def signed(self, labels: npt.NDArray[Any], scores: Reals) -> Reals:
        """labels: counts, scaled from 0 to largest to [-1, 1]."""
        counts = (np.asarray(labels, dtype=np.float64) + 1) / 2 * self.largest
        rates = Count(self.largest).predicted(scores, (0.0, float(self.largest)))
        return np.asarray(np.clip((counts - rates) / self.unit, -1, 1))


@cache
def _polynomial(largest: int, unit: int, distance: Fraction, bits: int) -> Approximation:
    middle, half = Count(largest).predictor((0.0, float(largest)))
    magnitudes = {rho: math.ceil(reals.exp(middle + half * (rho + 1 / rho) / 2) / unit * 1.001) for rho in _ELLIPSES}
    best = min(magnitudes, key=lambda rho: (required_degree(rho, magnitudes[rho], distance), rho))

    def rate(t: Any) -> Any:
        least = REALS.mpf(LEAST_RATE.numerator) / LEAST_RATE.denominator
        return least ** ((1 - t) / 2) * REALS.mpf(largest) ** ((1 + t) / 2) / unit

    return approximate(rate, best, magnitudes[best], distance, bits)
