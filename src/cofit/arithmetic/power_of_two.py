"""Z_2^64 and Z_2^128 over the C++ kernels.

An element of Z_2^64 is a ``uint64``; one of Z_2^128 is a pair of ``uint64`` (lo, hi), little end first, as a
structured dtype, so that an array of either ring has the shape of its values. Signed integers are stored in two's
complement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit import kernels
from cofit.arithmetic.fused import FusedRing
from cofit.arithmetic.integers import IntegerRing, Words
from cofit.arithmetic.narrow import Narrow
from cofit.arithmetic.ring import Ring, RingArray, Shape, broadcast_shape, matmul_shape
from cofit.errors import InvalidInputError, RangeError, ShapeError

SUBSETS = 56
"""How many sums of chosen rows are made at once."""
_LOW_HALF = np.uint64(0xFFFFFFFF)
_SMALL = 1 << 15


class PowerOfTwoRing(FusedRing, IntegerRing):
    """The ring of integers modulo 2^(64 * words)."""

    def __init__(self, words: int) -> None:
        super().__init__(f"Z_2^{64 * words}", 1 << (64 * words), words)

    def __reduce__(self) -> tuple[Callable[[int], Ring], tuple[int]]:
        return ring_of_bits, (self.bits,)

    # --- integers ----------------------------------------------------------------------------------------

    def _from_int64(self, array: npt.NDArray[np.int64]) -> RingArray:
        if self.words == 1:
            return array.view(np.uint64)
        out = self.empty(array.shape)
        out["lo"] = array.view(np.uint64)
        out["hi"] = (array >> 63).view(np.uint64)
        return out

    def to_int(self, array: RingArray) -> npt.NDArray[Any]:
        array = self.check(array)
        if self.words == 1:
            return array.view(np.int64)
        high = array["hi"].view(np.int64).astype(object)
        return np.asarray(high * (1 << 64) + array["lo"].astype(object), dtype=object)

    def magnitude(self, array: RingArray) -> tuple[RingArray, npt.NDArray[np.bool_]]:
        top = self.check(array) if self.words == 1 else self.check(array)["hi"]
        negative = (top >> np.uint64(63)).astype(bool)
        return np.where(negative, self.neg(array), array), negative

    def to_words(self, a: RingArray) -> Words:
        """The elements as they lie in memory."""
        return self._flat(a)

    def from_words(self, words: Words) -> RingArray:
        return words.view(self.dtype)

    # --- element-wise ------------------------------------------------------------------------------------

    # Small arrays of words go to NumPy, whose unsigned integers are this ring: a kernel's call would cost more than its
    # work.

    def _is_small(self, *arrays: RingArray) -> bool:
        """Whether all are arrays of words of one small shape; the others may also be single words."""
        shape, dtype = arrays[0].shape, self.dtype
        if self.words != 1 or not shape or arrays[0].size > _SMALL:
            return False
        for x in arrays:  # noqa: SIM110 (a generator would take longer than the rest)
            if x.dtype != dtype or (x.shape != shape and x.shape):
                return False
        return True

    def add(self, a: RingArray, b: RingArray) -> RingArray:
        return np.asarray(np.add(a, b)) if self._is_small(a, b) else self._binary(kernels.add, a, b)

    def sub(self, a: RingArray, b: RingArray, out: RingArray | None = None) -> RingArray:
        if out is None and self._is_small(a, b):
            return np.asarray(np.subtract(a, b))
        return self._binary(kernels.sub, a, b, out)

    def neg(self, a: RingArray) -> RingArray:
        if self._is_small(a):
            return np.asarray(np.negative(a))
        out = self.empty(a.shape)
        kernels.neg(self._flat(a), self._flat(out), self.words)
        return out

    def mul_sum(self, lhs: Sequence[RingArray], rhs: Sequence[RingArray]) -> RingArray:
        if self._is_small(*lhs, *rhs):
            total = np.multiply(lhs[0], rhs[0])
            for a, b in zip(lhs[1:], rhs[1:], strict=True):
                total += np.multiply(a, b)
            return np.asarray(total)
        shape = broadcast_shape(*(x.shape for x in (*lhs, *rhs)))
        out = self.empty(shape)
        if len(lhs) == 1:
            a, b = self._stretch(lhs[0], shape), self._scalar_or_stretch(rhs[0], shape)
            kernels.mul(a, b, self._flat(out), self.words)
        else:
            kernels.mul_sum(
                [self._stretch(x, shape) for x in lhs],
                [self._stretch(x, shape) for x in rhs],
                self._flat(out),
                self.words,
            )
        return out

    def sum(self, a: RingArray, axis: int | None = None) -> RingArray:
        self.check(a)
        if axis is None:
            a, axis = a.reshape(-1), 0
        if self.words == 1:
            return np.asarray(np.add.reduce(a, axis=axis))
        if a.shape[axis] >= 1 << 32:
            raise RangeError(f"Cannot sum {a.shape[axis]} elements at once: at most 2^32 - 1.")
        # Each 32-bit limb is summed in 64 bits, which cannot overflow; then the carries move up.
        low, high = a["lo"], a["hi"]
        limbs = (low & _LOW_HALF, low >> np.uint64(32), high & _LOW_HALF, high >> np.uint64(32))
        sums = [np.asarray(np.add.reduce(limb, axis=axis)) for limb in limbs]
        for i in range(3):
            sums[i + 1] = sums[i + 1] + (sums[i] >> np.uint64(32))
        out = self.empty(sums[0].shape)
        out["lo"] = (sums[0] & _LOW_HALF) | (sums[1] << np.uint64(32))
        out["hi"] = (sums[2] & _LOW_HALF) | (sums[3] << np.uint64(32))
        return out

    def narrow(self, a: RingArray, ring: IntegerRing) -> RingArray:
        if ring.words < self.words and self.reduces_to(ring):
            return self.check(a)["lo"].copy(order="K")
        return super().narrow(a, ring)

    # --- shifts ------------------------------------------------------------------------------------------

    def shl(self, a: RingArray, bits: int) -> RingArray:
        return self._shift(kernels.shl, a, bits)

    def shr(self, a: RingArray, bits: int) -> RingArray:
        """Return floor(a / 2^bits), reading a as an unsigned integer."""
        return self._shift(kernels.shr, a, bits)

    def sar(self, a: RingArray, bits: int) -> RingArray:
        return self._shift(kernels.sar, a, bits)

    # --- truncation by a masked opening (``sharing/rep3/party.py`` says what for) --------------------------------

    def mask_parts(
        self, masks: Sequence[RingArray], share: RingArray, top: Narrow, shift: int
    ) -> tuple[RingArray, Narrow]:
        """Return, of the sum r of two masks, -(r >> shift) less ``share``, and the top bit of r less ``top``."""
        out, out_top = self.empty(share.shape), np.empty_like(top)
        r_0, r_1, less = self._solid((*masks, share))
        high = (top.view(np.uint64), shift, self._flat(out), out_top.view(np.uint64))
        kernels.mask_parts(r_0, r_1, less, *high, self.words)
        return out, out_top

    def open_masked(
        self, opened: Sequence[RingArray], top: Narrow, hidden: Narrow, shift: int
    ) -> tuple[RingArray, Narrow]:
        """With c = sum(opened) + 2^(k-2): return (c >> shift) - 2^(k-2-shift), and (1 - top bit of c) top - hidden."""
        out, out_high = self.empty(opened[0].shape), np.empty_like(top)
        high = (top.view(np.uint64), hidden.view(np.uint64), shift, self._flat(out), out_high.view(np.uint64))
        kernels.open_masked(self._solid(opened), *high, self.words)
        return out, out_high

    def add_high(self, values: RingArray, parts: Sequence[Narrow], shift: int) -> RingArray:
        """Return values + 2^(k-shift) (the sum of one or two arrays of narrow numbers)."""
        out = self.empty(values.shape)
        high = [part.view(np.uint64) for part in parts]
        kernels.add_high(self._flat(values), high, shift, self._flat(out), self.words)
        return out

    def to_narrow(self, values: RingArray, shift: int, mask: Narrow) -> Narrow:
        """Return values modulo 2^b, b = 8 ceil(shift / 8), as narrow numbers. ``mask``: those that the values have been
        masked with."""
        out = np.empty_like(mask)
        kernels.narrow(self._flat(values), -(-shift // 8), mask.view(np.uint64), out.view(np.uint64), self.words)
        return out

    def from_narrow(self, numbers: Narrow, shift: int, shape: Shape) -> RingArray:
        """Return narrow numbers as elements."""
        out = self.empty(shape)
        kernels.widen(numbers.view(np.uint64), -(-shift // 8), self._flat(out), self.words)
        return out

    def unmask(
        self,
        opened: Sequence[RingArray],
        share: RingArray,
        top: RingArray,
        out_mask: RingArray | None,
        shift: int,
        *,
        adds_opened: bool,
    ) -> RingArray:
        """With c = sum(opened) + 2^(k-2): return (1 - top bit of c) top 2^(k-shift) - share - out_mask; where
        ``adds_opened``, with (c >> shift) - 2^(k-2-shift) added.
        """
        out = self.empty(share.shape)
        r, t, o = self._solid((share, top, self.zeros(share.shape) if out_mask is None else out_mask))
        kernels.unmask(self._solid(opened), r, t, o, shift, adds_opened, out, self.words)
        return out

    # --- clipped sums (``sharing/rep3/clip.py`` says what for) ---------------------------------------------------

    def clip_deal(
        self, mask: RingArray, inside: Words, below: Words, hidden: Sequence[RingArray], shift: int
    ) -> RingArray:
        """Return bits i and n, and i q and (1 - i) q for q = mask >> shift and, unless shift is 0, for the top bit of
        the mask: a row each, less ``hidden``. inside, below: i and n, packed.
        """
        out = self.empty((len(hidden), *mask.shape))
        kernels.clip_deal(self._flat(mask), inside, below, self._solid(hidden), shift, self._flat(out), self.words)
        return out

    def clip_products(
        self,
        opened: RingArray,
        inside: Words,
        below: Words,
        dealt: Sequence[RingArray],
        out_mask: RingArray,
        ends: tuple[int, int],
        shift: int,
        *,
        first: bool,
    ) -> RingArray:
        """Return our summand of a clipped number, less ``out_mask``. opened: c. inside, below: what we know of i and n.
        dealt: our part of the rows of ``clip_deal``. ends: the lower and the upper one. first: whether we add what is
        public.
        """
        out = self.empty(opened.shape)
        given = (self._solid(dealt), self._flat(out_mask), self._flat(self.from_int(np.array(ends, dtype=object))))
        kernels.clip_products(self._flat(opened), inside, below, *given, shift, first, self._flat(out), self.words)
        return out

    # --- matrices ----------------------------------------------------------------------------------------

    def matmul_sum(self, lhs: Sequence[RingArray], rhs: Sequence[RingArray]) -> RingArray:
        shape = matmul_shape(lhs[0].shape, rhs[0].shape)
        if lhs[0].ndim == 1 and rhs[0].ndim == 2:  # x @ B = B^T @ x
            return self._matvec([b.T for b in rhs], lhs)
        if rhs[0].ndim == 1:
            rows = lhs if lhs[0].ndim == 2 else [a.reshape(1, -1) for a in lhs]
            return self._matvec(rows, rhs).reshape(shape)
        out = self.empty(shape)
        kernels.matmul([self._matrix(a) for a in lhs], [self._matrix(b) for b in rhs], self._matrix(out), self.words)
        return out

    def inner_sum(
        self,
        lhs: Sequence[RingArray],
        rhs: Sequence[RingArray],
        *,
        each: Callable[[RingArray], RingArray] | None = None,
    ) -> RingArray:
        """Those of vectors are products with a matrix of one row: no temporary."""
        if each is not None or lhs[0].ndim != 1:
            return super().inner_sum(lhs, rhs, each=each)
        return self._matvec([a.reshape(1, -1) for a in lhs], rhs).reshape(())

    def _matvec(self, mats: Sequence[RingArray], vecs: Sequence[RingArray]) -> RingArray:
        out = self.empty((mats[0].shape[0],))
        flat = [self._flat(v) for v in vecs]
        if all(m.T.flags.c_contiguous for m in mats) and not all(m.flags.c_contiguous for m in mats):
            kernels.matvec_t([self._matrix(m.T) for m in mats], flat, self._flat(out), self.words)
        else:
            kernels.matvec([self._matrix(m) for m in mats], flat, self._flat(out), self.words)
        return out

    def row_sums(self, chosen: Words, matrix: RingArray) -> RingArray:
        """Return the sum of the rows in which bit l of ``chosen`` is set, for each l below 56: shape (56, columns)."""
        out = self.empty((SUBSETS, matrix.shape[1]))
        if matrix.T.flags.c_contiguous and not matrix.flags.c_contiguous:
            kernels.project_t(chosen, self._matrix(matrix.T), self._matrix(out), self.words)
        else:
            kernels.project(chosen, self._matrix(matrix), self._matrix(out), self.words)
        return out

    def matvec_pairs(self, mats: Sequence[RingArray], vecs: Sequence[RingArray]) -> RingArray:
        """Every matrix is read once."""
        rows, cols = mats[0].shape
        right = self.empty((len(vecs), cols))
        for row, vec in zip(right, vecs, strict=True):
            row[...] = vec
        out = self.empty((len(vecs), rows))
        if all(m.T.flags.c_contiguous for m in mats) and not all(m.flags.c_contiguous for m in mats):
            kernels.matvec_t_pairs(
                [self._matrix(m.T) for m in mats], self._matrix(right), self._matrix(out), self.words
            )
        else:
            kernels.matvec_pairs([self._matrix(m) for m in mats], self._matrix(right), self._matrix(out), self.words)
        return out

    # --- to the kernels' view of memory ------------------------------------------------------------------

    def _flat(self, a: RingArray) -> Words:
        if self.words == 1 and a.ndim == 1 and a.flags.c_contiguous:  # most calls
            return self.check(a)
        flat: Words = np.ascontiguousarray(self.check(a)).reshape(-1).view(np.uint64)
        return flat

    def _matrix(self, a: RingArray) -> Words:
        rows, cols = a.shape
        return self._flat(a).reshape(rows, cols * self.words)

    def _stretch(self, a: RingArray, shape: Shape) -> Words:
        return self._flat(a if a.shape == shape else np.broadcast_to(a, shape))

    def _scalar_or_stretch(self, b: RingArray, shape: Shape) -> Words:
        return self._flat(b) if b.size == 1 else self._stretch(b, shape)

    def _binary(
        self,
        kernel: Callable[[Words, Words, Words, int], None],
        a: RingArray,
        b: RingArray,
        out: RingArray | None = None,
    ) -> RingArray:
        shape = a.shape if a.shape == b.shape else broadcast_shape(a.shape, b.shape)
        if out is None and self.words == 1 and 1 < b.size < a.size and a.shape == shape:
            operation = np.add if kernel is kernels.add else np.subtract
            return np.asarray(operation(self.check(a), self.check(b)))  # which repeats rows without a copy of them
        if out is None:
            out = self.empty(shape)
        elif out.shape != shape or not out.flags.c_contiguous:
            raise ShapeError(
                f"The result has shape {shape}; 'out' must be contiguous and have it too, not {out.shape}."
            )
        kernel(self._stretch(a, shape), self._scalar_or_stretch(b, shape), self._flat(out), self.words)
        return out

    def _shift(self, kernel: Callable[[Words, int, Words, int], None], a: RingArray, bits: int) -> RingArray:
        if 0 <= bits < self.bits and self._is_small(a):
            if kernel is kernels.sar:
                return np.asarray(a.view(np.int64) >> np.int64(bits)).view(np.uint64)
            return np.asarray(a << np.uint64(bits) if kernel is kernels.shl else a >> np.uint64(bits))
        out = self.empty(a.shape)
        kernel(self._flat(a), bits, self._flat(out), self.words)
        return out


Z64 = PowerOfTwoRing(1)
Z128 = PowerOfTwoRing(2)
_RINGS = {ring.bits: ring for ring in (Z64, Z128)}


def ring_of_bits(bits: int) -> PowerOfTwoRing:
    """Return the ring Z_2^bits."""
    try:
        return _RINGS[bits]
    except KeyError:
        raise InvalidInputError(f"There is no ring Z_2^{bits}; choose one of {sorted(_RINGS)} bits.") from None


def power_of_two(ring: Ring, what: str) -> PowerOfTwoRing:
    """Return ``ring``; raise InvalidInputError unless it is Z_2^k, without which ``what`` does not work."""
    if not isinstance(ring, PowerOfTwoRing):
        raise InvalidInputError(f"{what} needs a ring Z_2^k; got {ring.name}.")
    return ring


def shifting(ring: Ring, shift: int) -> Callable[[RingArray], RingArray]:
    """Return the map that shifts the summands of a value to the right; raise InvalidInputError unless they have 2^k."""
    words = power_of_two(ring, "Shifting the summands of a value")
    return lambda part: words.sar(part, shift)
