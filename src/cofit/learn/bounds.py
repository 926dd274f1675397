"""Bounds that owners agreed on, with room for the rounding of floating point.

A value beyond a bound by no more than ``TOLERANCE`` of the range is taken for one on the bound that was rounded, as
1.0000000000000002 for 1, or the 32-bit float nearest to 0.1. It is accepted and *clipped* to the bound, never
stretched, and the bound stays what was agreed: what is shared is within the bounds exactly, as every proof takes it to
be. Anything further beyond is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
TOLERANCE = 2.0**-20
"""Of the range, upper - lower: about a millionth."""


def beyond(values: Reals, lower: Any, upper: Any) -> npt.NDArray[np.bool_]:
    """Return which values are below ``lower`` or above ``upper`` by more than rounding; NaN is not."""
    slack = TOLERANCE * upper - TOLERANCE * lower  # in this order it cannot overflow
    return np.asarray((values < lower - slack) | (values > upper + slack))


def scaled_by_bounds(values: Reals, lower: Any, upper: Any) -> Reals:
    """Return numbers mapped linearly from [lower, upper] to [-1, 1]; what is beyond a bound counts as the bound."""
    return np.asarray(np.clip((np.clip(values, lower, upper) - lower) / (upper - lower) * 2.0 - 1.0, -1.0, 1.0))
