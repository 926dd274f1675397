"""What a party does between two messages, in one pass of C++: for words, and for bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cofit import kernels
from cofit.arithmetic.ring import Ring, RingArray


class FusedRing(Ring):
    """A ring whose sums and products of shares are kernels. ``words``: of an element; 0 where a word is 64 bits."""

    words: int

    def signed_sum(self, plus: Sequence[RingArray], minus: Sequence[RingArray] = ()) -> RingArray:
        out = self.empty(plus[0].shape)
        kernels.signed_sum(self._solid(plus), self._solid(minus), out, self.words)
        return out

    def cross_product(
        self,
        a: Sequence[RingArray],
        b: Sequence[RingArray],
        plus: Sequence[RingArray] = (),
        minus: Sequence[RingArray] = (),
    ) -> RingArray:
        shape = a[0].shape
        if b[0].shape != shape:
            return super().cross_product(a, b, plus, minus)
        out = self.empty(shape)
        kernels.cross_product(self._solid(a), self._solid(b), self._solid(plus), self._solid(minus), out, self.words)
        return out

    def squared_distances(
        self,
        a: Sequence[RingArray],
        row: Sequence[RingArray],
        plus: Sequence[RingArray],
        minus: Sequence[RingArray],
        out: RingArray,
    ) -> None:
        """No difference is stored."""
        if not self.words or not out.flags.c_contiguous:
            super().squared_distances(a, row, plus, minus, out)
            return
        kernels.squared_distances(
            self._solid(a), self._solid(row), self._solid(plus), self._solid(minus), self.check(out), self.words
        )

    def combined(self, arrays: Sequence[RingArray], coefficients: RingArray) -> tuple[RingArray, ...]:
        shape = arrays[0].shape
        outs = [np.empty(shape, self.dtype) for _ in range(len(coefficients))]
        (factors,) = self._solid((coefficients,))
        kernels.combine(self._solid(arrays), factors, outs, self.words)
        return tuple(outs)

    def bilinear(
        self,
        a: Sequence[RingArray],
        b: Sequence[RingArray],
        coefficients: RingArray,
        plus: Sequence[RingArray] = (),
        minus: Sequence[RingArray] = (),
    ) -> RingArray:
        shape = a[0].shape
        if b[0].shape != shape:
            return super().bilinear(a, b, coefficients, plus, minus)
        out = self.empty(shape)
        (factors,) = self._solid((coefficients,))
        kernels.bilinear(
            self._solid(a),
            self._solid(b),
            factors,
            self._solid(plus),
            self._solid(minus),
            out,
            self.words,
        )
        return out

    def _solid(self, arrays: Sequence[RingArray]) -> list[RingArray]:
        """Return arrays for kernels that take any shape."""
        dtype = self.dtype
        return [x if x.dtype == dtype and x.flags.c_contiguous else self._copied(x) for x in arrays]

    def _copied(self, a: RingArray) -> RingArray:
        return np.ascontiguousarray(self.check(a))
