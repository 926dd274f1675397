"""Rows in fewer columns, where there are more columns than rows: exact, and much faster.

The rows of length 1, n of them in d columns, are an n x d matrix U of rank n at most. With U^T = Q R (Q: d x n with
orthonormal columns) the rows of R^T are the same rows in the coordinates of Q: lengths and inner products are equal. A
method that treats all directions alike - a penalty ||w||^2, gradients clipped by their length, normal or K-norm noise -
gives in these coordinates what it would give in all d, turned: scores of the rows have the same law. What it would have
outside the span of the rows changes no score, and is not made (``Part.unseen`` says how many directions that are).

All rows take part, also those held out, so that no noise that they would meet is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class UnitRows:
    """All rows of a data set at length 1; ``unseen``: how many directions of the features they have nothing in."""

    rows: Reals
    unseen: int


def unit_rows(features: npt.NDArray[Any]) -> Reals:
    """Return each row divided by its length; an all-zero row stays zero."""
    rows = features.astype(np.float64)
    _, powers = np.frexp(np.abs(rows).max(axis=1, keepdims=True, initial=0.0))
    rows = np.ldexp(rows, -powers)  # exact, so that squares neither overflow nor vanish
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, lengths, out=rows, where=lengths > 0))


def as_they_are(features: npt.NDArray[Any]) -> UnitRows:
    """Return all rows at length 1, with all columns: for methods that do not treat all directions alike."""
    return UnitRows(unit_rows(features), 0)


def in_coordinates(features: npt.NDArray[Any]) -> UnitRows:
    """Return all rows at length 1, in coordinates of their own where there are more columns than rows."""
    count, columns = features.shape
    if columns <= count:
        return as_they_are(features)
    triangle = np.asarray(np.linalg.qr(unit_rows(features).T, mode="r"))
    return UnitRows(np.ascontiguousarray(triangle.T), columns - count)
