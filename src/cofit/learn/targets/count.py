"""A count: a whole number from 0 to a public largest one. What is predicted is its rate, through a log link.

A score s from -1 to 1 stands for the rate exp(middle + half s), geometrically from ``LEAST_RATE`` at s = -1 to the
largest count at s = 1; scores beyond are cut to that. So no prediction is below the least rate: counts that are
rarer than once in twenty records want a longer time, or a larger district, for each.

Owners share the integer itself, in units of 2^-15: there is no other number that a count could be shared as, so that
nobody can lie about being whole. The parties check 0 <= y <= largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import reals
from cofit.errors import InvalidInputError
from cofit.learn.targets.target import Range, Reals, Target
from cofit.secret import SecretArray

COUNT_BITS = 15
MOST_COUNT = 1 << COUNT_BITS
"""The largest count that can be agreed on."""
LEAST_RATE = Fraction(1, 20)
_ROUNDING = 2.0**-20
"""How far from a whole number a count may be, for the way from its range to [-1, 1] and back."""


@dataclass(frozen=True)
class Count(Target):
    """Whole numbers from 0 to ``largest``. Labels come scaled from that range to [-1, 1], as those of a number do."""

    largest: int
    name: ClassVar[str] = "a count"
    fraction_bits: ClassVar[int] = COUNT_BITS
    bound: ClassVar[float] = 1.0
    ranged: ClassVar[bool] = True
    counted: ClassVar[bool] = True
    agreed: ClassVar[str] = "largest count"
    chance: ClassVar[str] = "always naming the mean rate"
    measure: ClassVar[str] = "D squared"

    def encoded(self, labels: npt.NDArray[Any]) -> Reals:
        counts = (np.asarray(labels, dtype=np.float64) + 1) / 2 * self.largest
        whole = np.rint(counts)
        sound = ~self.not_whole(counts) & (whole >= 0) & (whole <= self.largest)
        if not sound.all():  # not a number is not either
            raise InvalidInputError(f"Targets must be whole numbers from 0 to {self.largest}, one for each row.")
        return np.asarray(np.ldexp(whole, -COUNT_BITS))

    def not_negative(self, labels: SecretArray) -> tuple[SecretArray, ...]:
        """y >= 0 and largest - y >= 0."""
        return labels, -labels + self.largest

    def refused_range(self, lower: float, upper: float) -> str | None:
        if lower == 0 and upper == int(upper) and 1 <= upper <= MOST_COUNT:
            return None
        return f"0 and the largest count that there can be, a whole number from 1 to {MOST_COUNT}"

    def not_whole(self, values: Reals) -> npt.NDArray[np.bool_]:
        finite = np.where(np.isfinite(values), values, 0.0)
        return np.asarray(np.abs(finite - np.rint(finite)) > _ROUNDING)

    def predictor(self, target_range: Range) -> tuple[float, float]:
        """Of the logarithm of the rate."""
        lowest, highest = reals.log(float(LEAST_RATE)), reals.log(target_range[1])
        return (lowest + highest) / 2, (highest - lowest) / 2

    def predicted(self, scores: Reals, target_range: Range) -> Reals:
        """The rate."""
        middle, half = self.predictor(target_range)
        return np.asarray(np.exp(middle + half * np.clip(scores, -1, 1)))

    def error_of(self, score_error: float, target_range: Range) -> float:
        """Of the largest rate: that of the exponent, and e^x - 1 of it."""
        return target_range[1] * math.expm1(self.predictor(target_range)[1] * score_error)

    def explained(self, truth: Reals, predicted: Reals) -> Reals:
        """1 less the Poisson deviance over that of the mean of these rows."""
        constant = np.full((len(truth), 1), truth.mean() if len(truth) else 1.0)
        return np.asarray(1 - _deviance(truth, predicted) / _deviance(truth, constant)[0])


def _deviance(truth: Reals, rates: Reals) -> Reals:
    """Return the mean of 2 (y log(y / rate) - y + rate) over the first axis; 0 log 0 = 0."""
    y = truth.reshape(-1, 1)
    seen = np.where(y > 0, y, 1.0)
    logs = np.where(y > 0, y * np.log(seen / rates.reshape(len(y), -1)), 0.0)
    return np.asarray(2 * (logs - y + rates.reshape(len(y), -1)).mean(axis=0))
