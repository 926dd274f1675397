"""Rings of integers: the integers modulo M, each read as the signed integer nearest to zero that it stands for.

Everything above this layer asks the ring for what it needs to know of it, and assumes no particular one:

- **Range.** ``lowest`` to ``highest`` are all signed integers there are. A value may have those of magnitude at most
  ``capacity`` = 2^``value_bits`` - 1: one bit is for the sign, and one is headroom. Truncation needs the headroom: a
  value z is opened under a uniform mask r, as c = z + 2^value_bits + r, and with it the top bits of r and of c alone
  tell whether that sum wrapped (``sharing/rep3/proof.md`` for Z_2^k, ``mersenne.py`` for F_p).
- **Truncation.** ``sar`` is floor(x / 2^s) of a signed integer, for s up to ``value_bits``.
- **Digits.** Every signed integer has ``bits`` binary digits in two's complement (``arithmetic/bits.py``).
- **Reduction.** ``reduces``: whether x modulo 2^m, for any m up to ``bits``, is a homomorphism of rings. Then shares of
  x modulo 2^m are shares of x, reduced, and a short sum of digits gives the sign of a value that is known to be small.
"""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cofit.arithmetic.ring import Ring, RingArray
from cofit.errors import InvalidInputError, RangeError, RingMismatchError

Words: TypeAlias = npt.NDArray[np.uint64]
HEADROOM = 1
_WORD = 1 << 63


class IntegerRing(Ring):
    """The integers modulo ``modulus``; an element is one or two 64-bit ``words``, the low one first."""

    def __init__(self, name: str, modulus: int, words: int) -> None:
        self.name = name
        self.modulus = modulus
        self.words = words
        self.dtype = np.dtype("<u8") if words == 1 else np.dtype([("lo", "<u8"), ("hi", "<u8")])
        self.bits = (modulus - 1).bit_length()
        self.lowest, self.highest = -(modulus // 2), (modulus - 1) // 2
        self.value_bits = self.bits - 1 - HEADROOM
        self.capacity = (1 << self.value_bits) - 1
        self.reduces = modulus == 1 << self.bits

    # --- signed integers ---------------------------------------------------------------------------------

    def from_int(self, values: object) -> RingArray:
        array = np.asarray(values)
        if array.dtype.kind in "bui" and self._fits(array):
            return self._from_int64(array.astype(np.int64))
        if array.dtype.kind not in "buiO" or not all(isinstance(v, int | np.integer) for v in array.flat):
            raise InvalidInputError(f"Only integers can become elements of {self.name}; got dtype {array.dtype}.")
        integers = [int(v) for v in array.flat]
        with contextlib.suppress(OverflowError):  # most are signed words, which need not be packed one by one
            words = np.array(integers, np.int64).reshape(array.shape)
            if self._fits(words):
                return self._from_int64(words)
        for position, value in enumerate(integers):
            if not self.lowest <= value <= self.highest:
                raise RangeError(
                    f"The integer at flat position {position} is outside the signed range of {self.name}, "
                    f"-2^{self.bits - 1}{'' if self.reduces else ' + 1'} to 2^{self.bits - 1} - 1."
                )
        raw = b"".join((v % self.modulus).to_bytes(self.element_bytes, "little") for v in integers)
        return np.frombuffer(raw, dtype=self.dtype).reshape(array.shape).copy()

    def _fits(self, array: npt.NDArray[Any]) -> bool:
        """Whether all are signed words, and in range."""
        if not array.size or (array.dtype != np.uint64 and self.highest >= _WORD - 1):  # most calls
            return True
        return max(self.lowest, -_WORD) <= int(array.min()) and int(array.max()) <= min(self.highest, _WORD - 1)

    @abstractmethod
    def _from_int64(self, array: npt.NDArray[np.int64]) -> RingArray:
        """Encode integers that are in range."""

    @abstractmethod
    def magnitude(self, array: RingArray) -> tuple[RingArray, npt.NDArray[np.bool_]]:
        """Return |x| (as an unsigned element) and whether x is negative, reading x as a signed integer."""

    def largest_magnitude(self, array: RingArray) -> int:
        """Return max |x| over an array, reading x as signed; 0 for an empty one."""
        if not array.size:
            return 0
        magnitude, _ = self.magnitude(array)
        if self.words == 1:
            return int(magnitude.max())
        high = magnitude["hi"].max()
        return (int(high) << 64) + int(magnitude["lo"][magnitude["hi"] == high].max())

    def largest_sum(self, array: RingArray, axis: int) -> int:
        """Return the largest sum of |x| along an axis, as an exact integer; 0 where there is nothing to add."""
        if not array.size:
            return 0
        magnitude, _ = self.magnitude(array)
        limbs = np.ascontiguousarray(magnitude).view(np.uint32).reshape(*array.shape, 2 * self.words)
        sums = np.add.reduce(limbs, axis=axis % array.ndim, dtype=np.uint64).reshape(-1, 2 * self.words)
        return max(sum(int(limb) << (32 * i) for i, limb in enumerate(row)) for row in sums)

    # --- floating point ----------------------------------------------------------------------------------

    def to_float(self, array: RingArray) -> npt.NDArray[np.float64]:
        """Return signed integers as ``float64``: exact up to 53 significant bits, else off by less than a unit."""
        magnitude, negative = self.magnitude(self.check(array))
        if self.words == 1:
            real = magnitude.astype(np.float64)
        else:
            real = np.ldexp(magnitude["hi"].astype(np.float64), 64) + magnitude["lo"].astype(np.float64)
        return np.where(negative, -real, real)

    def from_float(self, whole: npt.NDArray[np.float64]) -> RingArray:
        """Encode floats that are integers in the signed range; nothing is checked."""
        if self.words == 1:
            return self._from_int64(whole.astype(np.int64))
        # Split the magnitude, not the signed number: whole + 2^64 would need more bits than a float has.
        magnitude = np.abs(whole)
        high = np.floor(np.ldexp(magnitude, -64))
        out = self.empty(whole.shape)
        out["hi"] = high.astype(np.uint64)
        out["lo"] = (magnitude - np.ldexp(high, 64)).astype(np.uint64)
        return np.where(whole < 0, self.neg(out), out)

    # --- shifts ------------------------------------------------------------------------------------------

    @abstractmethod
    def shl(self, a: RingArray, bits: int) -> RingArray:
        """Return a * 2^bits."""

    @abstractmethod
    def sar(self, a: RingArray, bits: int) -> RingArray:
        """Return floor(a / 2^bits), reading a as a signed integer."""

    # --- digits ------------------------------------------------------------------------------------------

    @abstractmethod
    def to_words(self, a: RingArray) -> Words:
        """Return the signed integers of all elements in two's complement, flat, ``words`` for each."""

    @abstractmethod
    def from_words(self, words: Words) -> RingArray:
        """Return the elements of unsigned integers below 2^bits, given flat, ``words`` for each."""

    # --- reduction ---------------------------------------------------------------------------------------

    def reduces_to(self, ring: IntegerRing) -> bool:
        """Whether reduction modulo the other modulus is a homomorphism: exactly where that one divides ours."""
        return self.modulus % ring.modulus == 0

    def narrow(self, a: RingArray, ring: IntegerRing) -> RingArray:
        """Return the elements modulo the modulus of ``ring``; raise RingMismatchError where that is no homomorphism."""
        if ring is not self:
            raise RingMismatchError(f"Elements of {self.name} cannot be reduced to those of {ring.name}.")
        return self.check(a)
