"""Which products are made by encryption, and which by transfers: the same at both parties, and in forecasts.

A product of two numbers takes about a kilobyte by transfers; encryption takes some hundred kilobytes at least.
"""

from __future__ import annotations

import math

from cofit.arithmetic import Shape

_FEWEST = 1 << 10


def by_encryption(shape: Shape) -> bool:
    """Return whether the squares of rows of this shape are summed under encryption."""
    return len(shape) == 2 and math.prod(shape) >= _FEWEST


def inner_by_encryption(shape: Shape) -> bool:
    """Return whether the inner product of two vectors of this length is taken under encryption."""
    return len(shape) == 1 and shape[0] >= _FEWEST


def matrix_by_encryption(left: Shape, right: Shape) -> bool:
    """Return whether a matrix that is not held is multiplied under encryption."""
    return len(left) == 2 and math.prod(left) * math.prod(right[1:]) >= _FEWEST
