"""GF(2) in bit-sliced form, as a ring: a word is 64 independent bits, plus is XOR and times is AND.

With it, Boolean sharing is the same sharing as any other, over another ring.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from cofit.arithmetic.fused import FusedRing
from cofit.arithmetic.ring import Ring, RingArray, broadcast_shape
from cofit.errors import InvalidInputError


class BitWords(FusedRing):
    """GF(2)^64 with component-wise operations."""

    name = "GF(2)^64"
    bits = 1
    words = 0
    dtype = np.dtype("<u8")

    def __reduce__(self) -> tuple[Callable[[], Ring], tuple[()]]:
        return _the_ring, ()

    def from_int(self, values: object) -> RingArray:
        array = np.asarray(values)
        if array.dtype.kind == "O" and all(isinstance(v, int) and 0 <= v < 1 << 64 for v in array.flat):
            return array.astype(np.uint64)
        if array.dtype.kind not in "bui" or (array.size and int(array.min()) < 0):
            raise InvalidInputError(f"Words of bits must be unsigned integers; got dtype {array.dtype}.")
        return array.astype(np.uint64)

    def to_int(self, array: RingArray) -> npt.NDArray[np.uint64]:
        return self.check(array)

    def add(self, a: RingArray, b: RingArray) -> RingArray:
        return self.sub(a, b)

    def sub(self, a: RingArray, b: RingArray, out: RingArray | None = None) -> RingArray:
        _check_shapes(a, b)
        return np.asarray(np.bitwise_xor(self.check(a), self.check(b), out=out))

    def neg(self, a: RingArray) -> RingArray:
        return self.check(a)

    def mul_sum(self, lhs: Sequence[RingArray], rhs: Sequence[RingArray]) -> RingArray:
        total = self._and(lhs[0], rhs[0])
        for a, b in zip(lhs[1:], rhs[1:], strict=True):
            np.bitwise_xor(total, self._and(a, b), out=total)
        return total

    def _and(self, a: RingArray, b: RingArray) -> RingArray:
        _check_shapes(a, b)
        return np.asarray(np.bitwise_and(self.check(a), self.check(b)))

    def sum(self, a: RingArray, axis: int | None = None) -> RingArray:
        return np.asarray(np.bitwise_xor.reduce(self.check(a), axis=axis))

    def matmul_sum(self, lhs: Sequence[RingArray], rhs: Sequence[RingArray]) -> RingArray:
        raise InvalidInputError(f"Matrix products are not defined on {self.name}.")


def _check_shapes(a: RingArray, b: RingArray) -> None:
    if a.shape != b.shape:
        broadcast_shape(a.shape, b.shape)


BITS = BitWords()


def _the_ring() -> Ring:
    return BITS
