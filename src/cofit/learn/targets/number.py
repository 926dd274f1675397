"""A number from -1 to 1: a real target, scaled linearly from its public range."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError
from cofit.learn.targets.target import Range, Reals, Target
from cofit.secret import SecretArray

NUMBER_BITS = 12
"""So many fractional bits, as scores have where they are compared: a target is off by at most 2^-13 of half its range,
far less than the noise of any release moves a prediction."""


class Number(Target):
    """Real targets in units of half their range, from its middle."""

    name: ClassVar[str] = "a number"
    fraction_bits: ClassVar[int] = NUMBER_BITS
    bound: ClassVar[float] = 1.0
    ranged: ClassVar[bool] = True
    agreed: ClassVar[str] = "range of the target"
    chance: ClassVar[str] = "always naming the mean"
    measure: ClassVar[str] = "R squared"

    def encoded(self, labels: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        values = np.asarray(labels, dtype=np.float64)
        if not (np.abs(values) <= 1).all():  # not a number is not either
            raise InvalidInputError("Targets must be numbers from -1 to 1, one for each row, once they are scaled.")
        return values

    def not_negative(self, labels: SecretArray) -> tuple[SecretArray, ...]:
        """y + 1 >= 0 and 1 - y >= 0, in units of the last bit."""
        one = 1 << NUMBER_BITS
        return labels + one, -labels + one

    def refused_range(self, lower: float, upper: float) -> str | None:
        if lower < upper and math.isfinite(upper - lower):
            return None
        return "two numbers, the first of them smaller"

    def not_whole(self, values: Reals) -> npt.NDArray[np.bool_]:
        """None should be."""
        return np.zeros(len(values), dtype=np.bool_)

    def predictor(self, target_range: Range) -> tuple[float, float]:
        lower, upper = target_range
        return (lower + upper) / 2, (upper - lower) / 2

    def predicted(self, scores: Reals, target_range: Range) -> Reals:
        middle, half = self.predictor(target_range)
        return np.asarray(np.clip(middle + half * scores, *target_range))

    def error_of(self, score_error: float, target_range: Range) -> float:
        return self.predictor(target_range)[1] * score_error

    def explained(self, truth: Reals, predicted: Reals) -> Reals:
        """1 less the mean square of errors over that of the mean of these rows."""
        errors = np.square(predicted.reshape(len(truth), -1) - truth.reshape(-1, 1))
        return np.asarray(1 - errors.mean(axis=0) / np.var(truth))


NUMBER = Number()
