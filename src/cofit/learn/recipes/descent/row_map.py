"""What recipe "best" does to a row before its score is taken: in the clear, for predictions, owners and comparisons.

    x = values / bound                   features within [-1, 1], where the parties scale
    x = x - c                            c = (3 a + 5 level) / 8, or a / 2 without a level; a: the mean of the row
    z = x / max(||x||, floor)            a row of length at most 1
    z = (z - M) / max(||z - M||, 1/4)    with the released centre M

or, where rows are clipped (``clip.py``), with the released mean m, stretch t and radius r:

    x = values / bound                   divided by its length where that is above 1
    b = t (x - m) - c                    c: half of the mean of t (x - m)
    z = b / max(||b||, R)                R = (3/4) sqrt(d) r

Rows that a public reference has mapped (``reference``) are centred already: c is 0 then. Where the parties have mapped
them, bound and floor are those of the rows before, and mapped rows have a floor of their own (``public_map``).

With K-norm noise and few columns c is 0 too (``pure``).

A row of zeros stays zero, up to the centre. In the L1 geometry nothing is centred, and ||.|| is the sum of absolute
values. The score of a row is <coef, z> + intercept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cofit.learn.recipes.descent.budget import CENTRED_FLOOR, LEVEL_PARTS, OWN_PARTS
from cofit.learn.recipes.descent.clip import OWN_MEAN, RADIUS_SQUARED
from cofit.learn.recipes.descent.public_map import MAP_FLOOR

Reals = npt.NDArray[np.float64]
NORMS = ("l1", "l2")


@dataclass(frozen=True)
class RowMap:
    """The public numbers of the map; None where they were not released. ``mean``, ``stretch`` and ``radius`` are those
    of clipped rows, and ``bound`` is the limit of a row's length then. ``mapped``: by a public reference, before.
    ``plain``: c is 0."""

    norm: str
    bound: float
    floor: float
    level: float | None = None
    centre: tuple[float, ...] | None = None
    mean: tuple[float, ...] | None = None
    stretch: tuple[float, ...] | None = None
    radius: float | None = None
    mapped: bool = False
    plain: bool = False

    def __call__(self, values: npt.ArrayLike) -> Reals:
        """Return the rows as they were meant in training, shape (n, d)."""
        bound, least = self.bound, self.floor
        if self.mapped:
            bound, least = 1.0, float(MAP_FLOOR) if least else 0.0
        x = np.asarray(values, dtype=np.float64) / bound
        if self.mean is not None and self.stretch is not None and self.radius is not None:
            return clipped(cut(x), np.asarray(self.mean), np.asarray(self.stretch), self.radius)
        level = 0.0 if self.level is None else self.level
        unit = np.abs(x).max(axis=1, keepdims=True, initial=abs(level))
        unit = np.where(unit > 0, unit, 1.0)  # so that sums and squares neither overflow nor vanish
        x = x / unit
        with np.errstate(over="ignore"):
            floor = least / unit
        if self.norm == "l1":
            return _divided(x, 1, floor)
        centred = not (self.mapped or self.plain)
        means = x.mean(axis=1, keepdims=True) if x.size and centred else np.zeros_like(unit)
        z = _divided(x - offsets(means, None if self.level is None else level / unit), 2, floor)
        if self.centre is not None:
            z = _divided(z - np.asarray(self.centre), 2, float(CENTRED_FLOOR))
        return z


def cut(x: Reals) -> Reals:
    """Return rows as they are, but those longer than 1 divided by their length."""
    unit = np.maximum(np.abs(x).max(axis=1, keepdims=True, initial=0.0), 1.0)  # so that squares do not overflow
    lengths = unit * np.linalg.norm(x / unit, axis=1, keepdims=True)
    return np.asarray(np.where(lengths > 1, x / unit / np.maximum(lengths / unit, np.finfo(float).tiny), x))


def clipped(x: Reals, mean: Reals, stretch: Reals, radius: float | Reals) -> Reals:
    """Return rows x of length at most 1, centred, stretched and clipped."""
    apart = stretch * (x - mean)
    if apart.size:
        apart = apart - float(OWN_MEAN) * apart.mean(axis=1, keepdims=True)
    return _divided(apart, 2, math.sqrt(float(RADIUS_SQUARED) * x.shape[1]) * radius)


def offsets(means: Reals, level: Reals | float | None) -> Reals:
    """Return what is subtracted from rows with these means."""
    return np.asarray(means / 2 if level is None else (OWN_PARTS * means + LEVEL_PARTS * level) / 8)


def _divided(x: Reals, order: int, floor: float | Reals) -> Reals:
    divisors = np.maximum(np.linalg.norm(x, ord=order, axis=1, keepdims=True), floor)
    return np.asarray(np.divide(x, divisors, out=np.zeros_like(x), where=divisors > 0))
