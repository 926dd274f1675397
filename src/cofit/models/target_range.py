"""The public range of a target that is a number."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from cofit.errors import InvalidInputError, parameter_error
from cofit.learn.targets import NUMBER, Target

TargetRange = tuple[float, float]


def checked_range(given: Any, owner: str, target: Target = NUMBER) -> TargetRange:
    """Return a lower and an upper end as floats, or raise InvalidInputError. owner: what has the parameter; target:
    what it is the range of."""
    sound = isinstance(given, tuple | list) and len(given) == 2
    sound = sound and all(isinstance(end, Real) and not isinstance(end, bool | np.bool_) for end in given)
    must_be = "a pair of finite numbers, the lower and the upper end of what the target can be, agreed on beforehand"
    if sound and all(math.isfinite(end) for end in given):
        lower, upper = (float(end) for end in given)
        refused = target.refused_range(lower, upper)
        if refused is None:
            return lower, upper
        must_be = f"a pair of {refused}, agreed on beforehand" if target.counted else must_be
    raise parameter_error("target_range", owner, must_be, given)


def refuse_threshold(threshold: float | None) -> None:
    """Raise unless it is None: a regressor decides nothing."""
    if threshold is not None:
        raise InvalidInputError("A threshold is for classes, and this model predicts numbers. Leave it out.")
