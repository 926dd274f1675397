"""Bits packed 64 to a word along the last axis, and the bit planes of ring elements.

An array of bits of shape (..., n) is stored as ``uint64`` words of shape (..., ceil(n / 64)): bit j of word w is
element 64 w + j. The planes of n elements of a k-bit ring are k such rows: plane b holds bit b of every element, so
that one word operation works on 64 elements at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cofit import kernels
from cofit.arithmetic.integers import IntegerRing, Words
from cofit.arithmetic.power_of_two import PowerOfTwoRing
from cofit.arithmetic.ring import Ring, RingArray
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


def to_planes(ring: IntegerRing, array: RingArray) -> Words:
    """Return the bit planes, shape (k, ceil(n / 64)), of a flat array of n elements, in two's complement."""
    out = np.empty((64 * ring.words, packed_length(array.size)), dtype=np.uint64)
    kernels.to_planes(ring.to_words(array), out, ring.words)
    return out[: ring.bits]


def from_planes(ring: IntegerRing, planes: Words, count: int) -> RingArray:
    """Return the ``count`` unsigned numbers whose lowest bit planes these are; those that are missing are zero."""
    all_planes = planes
    if len(planes) < 64 * ring.words:
        all_planes = np.zeros((64 * ring.words, planes.shape[1]), dtype=np.uint64)
        all_planes[: len(planes)] = planes
    words = np.empty(count * ring.words, dtype=np.uint64)
    kernels.from_planes(np.ascontiguousarray(all_planes), words, ring.words)
    return ring.from_words(words)


def bits_less(ring: Ring, bits: Words, minus: RingArray) -> RingArray:
    """Return b - minus, for bits b that are packed along the rows of ``minus``."""
    if isinstance(ring, PowerOfTwoRing):
        return _signed_by_bits(ring, bits, [], [minus], adds_bits=True)
    return ring.sub(ring.from_int(unpack(bits, minus.shape[-1])), minus)


def flipped_by_bits(
    ring: Ring, bits: Words, a: RingArray, *, adds_bits: bool, minus: RingArray | None = None
) -> RingArray:
    """Return (1 - 2 b) a, plus b if ``adds_bits``, less ``minus``, for bits b that are packed along the rows of a."""
    if isinstance(ring, PowerOfTwoRing):
        return _signed_by_bits(ring, bits, [a], [] if minus is None else [minus], adds_bits=adds_bits)
    ones = ring.from_int(unpack(bits, a.shape[-1]))
    flipped = ring.sub(a, ring.mul(ring.add(ones, ones), a))
    flipped = ring.add(flipped, ones) if adds_bits else flipped
    return flipped if minus is None else ring.sub(flipped, minus)


def _signed_by_bits(
    ring: PowerOfTwoRing, bits: Words, a: Sequence[RingArray], minus: Sequence[RingArray], *, adds_bits: bool
) -> RingArray:
    rows, count = (*a, *minus)[0].shape
    out = ring.empty((rows, count))
    target = ring.to_words(out).reshape(rows, count * ring.words)
    given, subtracted = ([ring.to_words(x) for x in arrays] for arrays in (a, minus))
    kernels.signed_by_bits(_rows(bits, bits.shape[-1]), given, adds_bits, subtracted, target, ring.words)
    return out


def _rows(array: npt.NDArray[T], width: int) -> npt.NDArray[T]:
    return np.ascontiguousarray(array).reshape(int(np.prod(array.shape[:-1])), width)
