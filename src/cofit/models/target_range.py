"""The public range of a real target: from its own units to [-1, 1], and back."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError, parameter_error

TargetRange = tuple[float, float]
Reals = npt.NDArray[np.float64]


def checked_range(given: Any, owner: str) -> TargetRange:
    """Return a lower and an upper end as floats, or raise InvalidInputError. owner: what has the parameter."""
    sound = isinstance(given, tuple | list) and len(given) == 2
    sound = sound and all(isinstance(end, Real) and not isinstance(end, bool | np.bool_) for end in given)
    if sound:
        lower, upper = (float(end) for end in given)
        if lower < upper and math.isfinite(upper - lower):
            return lower, upper
    must_be = "a pair of finite numbers, the lower and the upper end of what the target can be, agreed on beforehand"
    raise parameter_error("target_range", owner, must_be, given)


def unscaled(scores: Reals, target_range: TargetRange) -> Reals:
    """Return scores in the units of the target, within its range."""
    lower, upper = target_range
    return np.asarray(np.clip((lower + upper) / 2 + (upper - lower) / 2 * scores, lower, upper))


def refuse_threshold(threshold: float | None) -> None:
    """Raise unless it is None: a regressor decides nothing."""
    if threshold is not None:
        raise InvalidInputError("A threshold is for classes, and this model predicts numbers. Leave it out.")
