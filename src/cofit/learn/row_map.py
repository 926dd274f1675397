"""What recipe "best" does to a row before its score is taken: in the clear, for predictions, owners and comparisons.

    y = x / bound                        features within [-1, 1], where the parties scale
    y = y - c                            c: the row's own mean a, or (a + level) / 2 with the released level
    z = y / max(||y||, floor)            a row of length at most 1
    z = (z - M) / max(||z - M||, 1/4)    with the released centre M

A row of zeros stays zero, up to the centre. In the L1 geometry nothing is centred, and ||.|| is the sum of absolute
values. The score of a row is <coef, z> + intercept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
NORMS = ("l1", "l2")
CENTRED_FLOOR = 1 / 4


@dataclass(frozen=True)
class RowMap:
    """The public numbers of the map. ``level`` and ``centre`` are None where they were not released."""

    norm: str
    bound: float
    floor: float
    level: float | None = None
    centre: tuple[float, ...] | None = None

    def __call__(self, values: npt.ArrayLike) -> Reals:
        """Return the rows as they were meant in training, shape (n, d)."""
        x = np.asarray(values, dtype=np.float64) / self.bound
        if self.norm == "l1":
            return _divided(x, 1, self.floor)
        means = _means(x)
        offsets = means if self.level is None else (means + self.level) / 2
        z = _divided(x - offsets[:, np.newaxis], 2, self.floor)
        if self.centre is not None:
            z = _divided(z - np.asarray(self.centre), 2, CENTRED_FLOOR)
        return z


def _means(x: Reals) -> Reals:
    """Return the mean of each row; huge values neither overflow on the way."""
    return np.asarray((x / max(1, x.shape[1])).sum(axis=1))


def _divided(x: Reals, order: int, floor: float) -> Reals:
    largest = np.abs(x).max(axis=1, keepdims=True, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)  # so that squares neither overflow nor vanish
    scaled = x / unit
    lengths = np.linalg.norm(scaled, ord=order, axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        divisors = np.maximum(lengths, floor / unit)
    return np.asarray(np.divide(scaled, divisors, out=np.zeros_like(x), where=divisors > 0))
