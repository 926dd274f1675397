"""Bits packed 64 to a word along the last axis, and the bit planes of ring elements.

An array of bits of shape (..., n) is stored as ``uint64`` words of shape (..., ceil(n / 64)): bit j of word w is
element 64 w + j. The planes of n elements of a k-bit ring are k such rows: plane b holds bit b of every element, so
that one word operation works on 64 elements at once.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cofit import kernels
from cofit.arithmetic.power_of_two import PowerOfTwoRing, Words
from cofit.arithmetic.ring import RingArray
from cofit.errors import InvalidInputError

T = TypeVar("T", bound=np.generic)


def packed_length(count: int) -> int:
    """Return the number of words that hold ``count`` bits."""
    return -(-count // 64)


def pack(bits: npt.ArrayLike) -> Words:
    """Pack bits (0/1 or booleans) of shape (..., n); padding bits are zero."""
    array = np.asarray(bits)
    if array.dtype != np.bool_ and array.dtype.kind not in "ui":
        raise InvalidInputError(f"Bits must be booleans or the integers 0 and 1; got dtype {array.dtype}.")
    if array.dtype != np.uint8:
        if array.dtype != np.bool_ and not ((array == 0) | (array == 1)).all():
            raise InvalidInputError("Bits must be 0 or 1; the array holds other integers.")
        array = array.astype(np.uint8)
    count = array.shape[-1]
    out = np.empty((*array.shape[:-1], packed_length(count)), dtype=np.uint64)
    kernels.pack_bits(_rows(array, count), _rows(out, packed_length(count)))
    return out


def unpack(words: Words, count: int) -> npt.NDArray[np.uint8]:
    """Return the ``count`` bits of each row as 0 and 1."""
    out = np.empty((*words.shape[:-1], count), dtype=np.uint8)
    kernels.unpack_bits(_rows(words, packed_length(count)), _rows(out, count))
    return out


def to_planes(ring: PowerOfTwoRing, array: RingArray) -> Words:
    """Return the bit planes, shape (k, ceil(n / 64)), of a flat array of n elements."""
    out = np.empty((ring.bits, packed_length(array.size)), dtype=np.uint64)
    kernels.to_planes(np.ascontiguousarray(ring.check(array)).reshape(-1).view(np.uint64), out, ring.words)
    return out


def from_planes(ring: PowerOfTwoRing, planes: Words, count: int) -> RingArray:
    """Return the ``count`` elements whose bit planes these are."""
    out = ring.empty((count,))
    kernels.from_planes(np.ascontiguousarray(planes), out.view(np.uint64), ring.words)
    return out


def _rows(array: npt.NDArray[T], width: int) -> npt.NDArray[T]:
    return np.ascontiguousarray(array).reshape(int(np.prod(array.shape[:-1])), width)
