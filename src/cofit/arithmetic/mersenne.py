"""The prime field F_p of p = 2^61 - 1, a Mersenne prime, in NumPy: an element is a ``uint64`` below p.

Reduction is cheap, because 2^61 = 1 modulo p: the bits from 61 on are added to those below. A product of two elements
is made of halves a = a_1 2^32 + a_0: with 2^64 = 8, all partial sums stay below 2^63.

**Why one bit of headroom is enough for a truncation that never fails**, as in Z_2^k. Let z' = z + 2^59, so that
0 <= z' < 2^60, r uniform in the field, and c = z' + r modulo p, which is uniform. If the sum wrapped, c = z' + r - p <
2^60, and r >= p - z' > p - 2^60 = 2^60 - 1, so r >= 2^60. Conversely, if r >= 2^60 > c, the sum wrapped, because c >= r
otherwise. So it wrapped (w = 1) exactly where r has its top bit, bit 60, and c has not. Then
z' = c - r + w (2^61 - 1), and for a shift of s bits

    (c >> s) - (r >> s) + w 2^(61-s) - floor(z' / 2^s) = 0 or 1,

because the low parts, c mod 2^s - r mod 2^s - w, are at least -2^s and below 2^s.

**Uniform elements**: of every 8 bytes the low 61 bits, unless they are p, once in 2^61; then the next 8. That is exact,
and the stream is read element by element, so that it does not matter in which pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic.integers import IntegerRing, Words
from cofit.arithmetic.ring import Ring, RingArray, Shape, Source, broadcast_shape, matmul_shape
from cofit.errors import RangeError, ShapeError

_EXPONENT = 61
_P = np.uint64((1 << _EXPONENT) - 1)
_TOP = np.uint64(_EXPONENT)
_HALF, _LOW_HALF = np.uint64(32), np.uint64((1 << 32) - 1)
_REST, _LOW_REST = np.uint64(_EXPONENT - 32), np.uint64((1 << (_EXPONENT - 32)) - 1)
_EIGHT = np.uint64(3)


class Mersenne61(IntegerRing):
    """The integers modulo 2^61 - 1. Elements of arguments are below p, and so are those of results."""

    every_pattern = False
    chunk_bytes = 1 << 17  # a product has several temporaries

    def __init__(self) -> None:
        super().__init__("F_(2^61-1)", int(_P), 1)

    def __reduce__(self) -> tuple[Callable[[], Ring], tuple[()]]:
        return _the_field, ()

    def admits(self, array: RingArray) -> bool:
        return super().admits(array) and bool((array < _P).all())

    def uniform(self, source: Source, shape: Shape) -> RingArray:
        count = int(np.prod(shape, dtype=np.int64))
        found = self._accepted(source, count)
        while len(found) < count:
            found = np.concatenate([found, self._accepted(source, count - len(found))])
        return found.reshape(shape)

    def _accepted(self, source: Source, count: int) -> Words:
        words = source(count * self.element_bytes).view(np.uint64) & _P
        return words if (words != _P).all() else words[words != _P]

    # --- signed integers ---------------------------------------------------------------------------------

    def _from_int64(self, array: npt.NDArray[np.int64]) -> RingArray:
        return np.where(array < 0, array + np.int64(_P), array).astype(np.uint64)

    def to_int(self, array: RingArray) -> npt.NDArray[Any]:
        signed = self.check(array).astype(np.int64)
        return np.asarray(np.where(signed > self.highest, signed - np.int64(_P), signed))

    def magnitude(self, array: RingArray) -> tuple[RingArray, npt.NDArray[np.bool_]]:
        negative = np.asarray(self.check(array) > np.uint64(self.highest))
        return np.where(negative, _P - array, array), negative

    def to_words(self, a: RingArray) -> Words:
        return self.to_int(a).reshape(-1).view(np.uint64)

    def from_words(self, words: Words) -> RingArray:
        return _reduced(words)

    # --- element-wise ------------------------------------------------------------------------------------

    def add(self, a: RingArray, b: RingArray) -> RingArray:
        self._check_both(a, b)
        return _once(np.add(a, b))

    def sub(self, a: RingArray, b: RingArray, out: RingArray | None = None) -> RingArray:
        shape = self._check_both(a, b)
        difference = _once(np.add(a, np.subtract(_P, b)))
        if out is None:
            return difference
        if out.shape != shape:
            raise ShapeError(f"The result has shape {shape}; 'out' must have it too, not {out.shape}.")
        out[...] = difference
        return out

    def neg(self, a: RingArray) -> RingArray:
        return _once(np.subtract(_P, self.check(a)))

    def mul_sum(self, lhs: Sequence[RingArray], rhs: Sequence[RingArray]) -> RingArray:
        total = self._product(lhs[0], rhs[0])
        for a, b in zip(lhs[1:], rhs[1:], strict=True):
            total = self.add(total, self._product(a, b))
        return total

    def _product(self, a: RingArray, b: RingArray) -> RingArray:
        self._check_both(a, b)
        a_0, a_1, b_0, b_1 = a & _LOW_HALF, a >> _HALF, b & _LOW_HALF, b >> _HALF
        low, middle = a_0 * b_0, a_1 * b_0 + a_0 * b_1  # below 2^64 and 2^62
        total = ((a_1 * b_1) << _EIGHT) + _times_half(middle)
        return _reduced(total + (low & _P) + (low >> _TOP))

    def sum(self, a: RingArray, axis: int | None = None) -> RingArray:
        self.check(a)
        if axis is None:
            a, axis = a.reshape(-1), 0
        if a.shape[axis] >= 1 << 32:
            raise RangeError(f"Cannot sum {a.shape[axis]} elements at once: at most 2^32 - 1.")
        low, high = (np.add.reduce(half, axis=axis) for half in (a & _LOW_HALF, a >> _HALF))
        return _reduced(np.asarray((low & _P) + (low >> _TOP) + _times_half(high)))

    def shl(self, a: RingArray, bits: int) -> RingArray:
        return self.mul(a, np.array(pow(2, bits, self.modulus), dtype=self.dtype))

    def sar(self, a: RingArray, bits: int) -> RingArray:
        return self._from_int64(self.to_int(a) >> np.int64(bits))

    # --- matrices ----------------------------------------------------------------------------------------

    def matmul_sum(self, lhs: Sequence[RingArray], rhs: Sequence[RingArray]) -> RingArray:
        shape = matmul_shape(lhs[0].shape, rhs[0].shape)
        rows = [a if a.ndim == 2 else a.reshape(1, -1) for a in lhs]
        columns = [b.T if b.ndim == 2 else b.reshape(1, -1) for b in rhs]
        out = self.empty((rows[0].shape[0], columns[0].shape[0]))
        step = max(1, self.chunk_bytes // (self.element_bytes * max(1, rows[0].shape[1])))
        for start in range(0, len(out), step):
            block = slice(start, start + step)
            for j in range(out.shape[1]):
                out[block, j] = self.sum(self.mul_sum([a[block] for a in rows], [b[j] for b in columns]), axis=1)
        return out.reshape(shape)

    def _check_both(self, a: RingArray, b: RingArray) -> Shape:
        self.check(a)
        self.check(b)
        return a.shape if a.shape == b.shape else broadcast_shape(a.shape, b.shape)


def _times_half(x: Words) -> Words:
    """Return x 2^32 modulo p, below 2^61 + 2^35: the bits of x from 29 on land on 2^61 = 1."""
    return np.asarray(((x & _LOW_REST) << _HALF) + (x >> _REST))


def _reduced(x: Words) -> Words:
    """Return any word modulo p: folded it is below p + 8."""
    return _once(np.asarray((x & _P) + (x >> _TOP)))


def _once(x: Words) -> Words:
    """Return a number below 2 p modulo p."""
    return np.asarray(np.minimum(x, np.subtract(x, _P)))  # which wraps to a larger word where x is below p


F61 = Mersenne61()


def _the_field() -> Ring:
    return F61
