"""Secret arrays made of other secrets: of bits, of binary digits, of several arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cofit.arithmetic import FixedPoint, IntegerRing
from cofit.errors import InvalidInputError, parameter_error
from cofit.secret.array import SecretArray
from cofit.secret.bits import SecretBits
from cofit.sharing.shares import PlacedBits


def bits_to_array(bits: SecretBits, ring: IntegerRing) -> SecretArray:
    """Return secret bits as integers 0 and 1 of shape (width, \\*shape)."""
    return SecretArray(bits._scheme, bits.to_ring(ring), FixedPoint(0, ring), 1)


def looked_up(one_hot: SecretBits, tables: Sequence[Sequence[int]], ring: IntegerRing) -> list[SecretArray]:
    """Return, for each of some public tables, the entry at the one bit of every element that is 1, and 0 without any.

    That at most one is, the caller must have proved. By sums of the bits times the entries, all at once.
    """
    scheme, shape = one_hot._scheme, one_hot.shape
    weights = ring.from_int(np.array(tables, dtype=object))
    share = scheme.weighed_bits(one_hot._share, weights, ring)
    found = []
    for i, table in enumerate(tables):
        row = share.linear(lambda part, i=i: np.reshape(part[i], shape))  # type: ignore[misc]
        found.append(SecretArray(scheme, row, FixedPoint(0, ring), max(map(abs, table))))
    return found


def numbers_to_array(numbers: Sequence[tuple[int, SecretBits]], ring: IntegerRing) -> SecretArray:
    """Return the sum of numbers given by a place and their binary digits, lowest first, as integers of their shape.

    Every number is its digits' times 2^place. What it costs: ``sharing/numbers.py``.
    """
    scheme, shape = numbers[0][1]._scheme, numbers[0][1].shape
    share = scheme.from_numbers([PlacedBits(place, bits._share) for place, bits in numbers], ring)
    largest = sum(((1 << bits.width) - 1) << place for place, bits in numbers)
    return SecretArray(scheme, share.map(lambda part: np.reshape(part, shape)), FixedPoint(0, ring), largest)


def concatenate(arrays: Sequence[SecretArray], axis: int = 0) -> SecretArray:
    """Join secret arrays of one format along an axis."""
    if not arrays:
        raise parameter_error("arrays", "concatenate", "at least one array", arrays)
    first = arrays[0]
    for other in arrays[1:]:
        first._same_format(other, "concatenate")
    try:
        share = first._scheme.concatenate([array._share for array in arrays], axis)
    except ValueError:
        shapes = [array.shape for array in arrays]
        raise InvalidInputError(f"Cannot concatenate shapes {shapes} along axis {axis}.") from None
    return first._like(share, max(array._limit for array in arrays))
