"""Public numbers as ring elements. A party program multiplies by the same few numbers in every step of training, so
single numbers are encoded once.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from cofit.arithmetic import FixedPoint, RingArray

Encoded: TypeAlias = tuple[RingArray, int]
_REMEMBERED = 4096


def encoded(values: Any, format: FixedPoint) -> Encoded:
    """Return public values in ``format``, and the largest magnitude among their integers."""
    kind = type(values)
    if kind is int or kind is float or kind is Fraction:
        return _encoded_number(values, format)
    return _encoded(values, format)


@lru_cache(maxsize=_REMEMBERED, typed=True)  # 1 and 1.0 are equal, and encoded each in its own way
def _encoded_number(value: int | float | Fraction, format: FixedPoint) -> Encoded:
    element, limit = _encoded(value, format)
    element.flags.writeable = False
    return element, limit


def _encoded(values: Any, format: FixedPoint) -> Encoded:
    elements = format.encode(values)
    return elements, format.ring.largest_magnitude(elements)


def factor_format(values: Any, format: FixedPoint) -> FixedPoint:
    """Return the format in which public factors of a value in ``format`` are encoded: that one, or that of integers."""
    if type(values) is int:
        return FixedPoint.cached(0, format.ring)
    array = np.asarray(0.0 if isinstance(values, Fraction) else values)
    exact = array.dtype.kind in "bui" or (array.dtype.kind == "O" and all(isinstance(v, int) for v in array.flat))
    return FixedPoint.cached(0, format.ring) if exact else format
