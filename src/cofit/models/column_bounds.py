"""Public bounds of a model's columns, with which it takes rows in the units that the owners have them in.

A model without bounds takes rows that whoever calls it has prepared as for training. One with bounds scales every
column from them to [-1, 1] itself, as a study does with its numbers, so that nobody needs to know the preparation.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cofit.errors import parameter_error
from cofit.study.document import Feature

Reals = npt.NDArray[np.float64]
Bounds = tuple[tuple[float, float], ...]


def checked_bounds(bounds: object, columns: int) -> Bounds:
    """Return bounds as pairs of floats, one for each column; or raise InvalidInputError."""
    must_be = f"None, or {columns} pairs of finite numbers, each with the lower one first"
    pairs = bounds if isinstance(bounds, list | tuple) else ()
    if len(pairs) != columns or not all(map(_sound, pairs)):
        raise parameter_error("bounds", "a LinearModel", must_be, bounds)
    return tuple((float(lower), float(upper)) for lower, upper in pairs)


def _sound(pair: object) -> bool:
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        return False
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) and abs(v) < math.inf for v in pair)
    return numbers and pair[0] < pair[1] and math.isfinite(float(pair[1]) - float(pair[0]))


def far_from_bounds(x: Reals, lower: Reals, upper: Reals) -> int:
    """Return how many rows have most of their values beyond the bounds."""
    return int(np.count_nonzero(((x < lower) | (x > upper)).mean(axis=1) > 0.5))


def warn_of_other_bounds(far: int, rows: int) -> None:
    """Warn whoever called ``predict`` where most rows are far: they are hardly in the units of the bounds."""
    if far > rows / 2:
        warnings.warn(
            f"{far:,} of {rows:,} rows have most of their values beyond the bounds of the columns. Give the columns as "
            f"they are, in their own units and order: the model scales them itself.",
            UserWarning,
            stacklevel=6,
        )


def bounded_features(names: Sequence[str], bounds: Bounds) -> tuple[Feature, ...]:
    """Return the columns as a study would have them: numbers, and what is beyond a bound counts as the bound."""
    return tuple(
        Feature(name, "number", lower, upper, clip=True) for name, (lower, upper) in zip(names, bounds, strict=True)
    )
