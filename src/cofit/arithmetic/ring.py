"""Rings as objects: the only place that knows how an element lies in memory.

A ring element array is a NumPy array with ``dtype == ring.dtype`` and the shape of the values it stands for, so
that slicing, reshaping, transposing and concatenating are NumPy's own. Arithmetic goes through the ring, never
through NumPy's operators: ``ring.add(a, b)`` works the same for one word (Z_2^64), two words (Z_2^128), a prime
field and packed bits.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from cofit.errors import RingMismatchError, ShapeError

RingArray: TypeAlias = npt.NDArray[Any]
Shape: TypeAlias = tuple[int, ...]
Place: TypeAlias = tuple[slice, ...]
"""Where a block lies in an array: a slice of every axis."""
Source: TypeAlias = Callable[[int], npt.NDArray[np.uint8]]
"""Returns the next bytes of a stream, as many as it is asked for."""
_FEW = 8  # terms that a kernel adds at once


class Ring(ABC):
    """Arithmetic on arrays of ring elements. Every result is a new array; nothing is checked for overflow here.

    Refusing what could overflow is the business of the fixed-point format and of the bounds that travel with
    secret values; a ring wraps by definition.
    """

    name: str
    bits: int
    dtype: np.dtype[Any]
    every_pattern: ClassVar[bool] = True
    """Whether all patterns of bits are elements: then uniform bytes are uniform elements, as they are."""
    chunk_bytes: ClassVar[int] = 1 << 20
    """Of a temporary, where work is cut into pieces: what an operation needs stays in the cache."""

    @property
    def element_bytes(self) -> int:
        """Bytes of one element in memory and on the wire."""
        return self.dtype.itemsize

    def __repr__(self) -> str:
        return self.name

    # --- making arrays -----------------------------------------------------------------------------------

    def zeros(self, shape: Shape) -> RingArray:
        """Return an array of zeros."""
        return np.zeros(shape, dtype=self.dtype)

    def empty(self, shape: Shape) -> RingArray:
        """Return an array to be filled."""
        return np.empty(shape, dtype=self.dtype)

    def admits(self, array: RingArray) -> bool:
        """Whether all are elements, for what comes from outside: not all patterns of bits are, in every ring."""
        return array.dtype == self.dtype

    def uniform(self, source: Source, shape: Shape) -> RingArray:
        """Return uniform elements, made of the next uniform bytes of ``source``.

        Exactly uniform, and the same elements whether they are asked for at once or in pieces, one after the other.
        """
        return source(math.prod(shape) * self.element_bytes).view(self.dtype).reshape(shape)

    @abstractmethod
    def from_int(self, values: object) -> RingArray:
        """Encode signed integers (Python or NumPy) exactly; refuse what is outside the signed range."""

    @abstractmethod
    def to_int(self, array: RingArray) -> npt.NDArray[Any]:
        """Decode to signed integers: ``int64`` where they fit the ring, Python integers (object) otherwise."""

    def check(self, array: RingArray) -> RingArray:
        """Return ``array``; raise RingMismatchError unless its elements are of this ring."""
        if array.dtype != self.dtype:
            raise RingMismatchError(f"Expected elements of {self.name} (dtype {self.dtype}), got {array.dtype}.")
        return array

    # --- element-wise ------------------------------------------------------------------------------------

    @abstractmethod
    def add(self, a: RingArray, b: RingArray) -> RingArray:
        """Return a + b, broadcast."""

    @abstractmethod
    def sub(self, a: RingArray, b: RingArray, out: RingArray | None = None) -> RingArray:
        """Return a - b, broadcast; in ``out`` if given, which may be a or b and must have the shape of the result."""

    @abstractmethod
    def neg(self, a: RingArray) -> RingArray:
        """Return -a."""

    @abstractmethod
    def mul_sum(self, lhs: Sequence[RingArray], rhs: Sequence[RingArray]) -> RingArray:
        """Return sum_t lhs[t] * rhs[t], element-wise, broadcast."""

    def mul(self, a: RingArray, b: RingArray) -> RingArray:
        """Return a * b, broadcast."""
        return self.mul_sum([a], [b])

    def signed_sum(self, plus: Sequence[RingArray], minus: Sequence[RingArray] = ()) -> RingArray:
        """Return the sum of ``plus``, one array or more, less that of ``minus``; all of one shape."""
        total = plus[0]
        for x in plus[1:]:
            total = self.add(total, x)
        for x in minus:
            total = self.sub(total, x)
        return total

    def cross_product(
        self,
        a: Sequence[RingArray],
        b: Sequence[RingArray],
        plus: Sequence[RingArray] = (),
        minus: Sequence[RingArray] = (),
    ) -> RingArray:
        """Return a[0] (b[0] + b[1]) + a[1] b[0], broadcast, plus and minus arrays of the shape of that.

        It is what a party of three computes of a product of two values in replicated sharing.
        """
        product = self.mul_sum(a, (self.add(b[0], b[1]), b[0]))
        return self.signed_sum((product, *plus), minus)

    def squared_distances(
        self,
        a: Sequence[RingArray],
        row: Sequence[RingArray],
        plus: Sequence[RingArray],
        minus: Sequence[RingArray],
        out: RingArray,
    ) -> None:
        """Write ``cross_product`` of a - row with itself, plus and minus arrays, to ``out``; row: for all rows of a.

        It is what a party of three computes of the squares of a difference in replicated sharing.
        """
        apart = [self.sub(x, y) for x, y in zip(a, row, strict=True)]
        out[...] = self.cross_product(apart, apart, plus, minus)

    def combined(self, arrays: Sequence[RingArray], coefficients: RingArray) -> tuple[RingArray, ...]:
        """Return, for every row of ``coefficients``, the sum of the arrays times its elements; all of one shape."""
        rows = range(len(coefficients))
        terms = [[self.mul(x, coefficients[c, a, ...]) for a, x in enumerate(arrays)] for c in rows]
        return tuple(self.signed_sum(row) for row in terms)

    def bilinear(
        self,
        a: Sequence[RingArray],
        b: Sequence[RingArray],
        coefficients: RingArray,
        plus: Sequence[RingArray] = (),
        minus: Sequence[RingArray] = (),
    ) -> RingArray:
        """Return sum_(c, d) coefficients[c, d] a[c] b[d], broadcast, plus and minus arrays of the shape of that.

        The arrays of ``a`` have one shape, and so have those of ``b``. It is a coordinate of a product in an extension
        of the ring.
        """
        product = self.mul_sum(a, self.combined(b, coefficients))
        return self.signed_sum((product, *plus), minus)

    @abstractmethod
    def sum(self, a: RingArray, axis: int | None = None) -> RingArray:
        """Return the sum over one axis, or over all."""

    def inner_sum(
        self,
        lhs: Sequence[RingArray],
        rhs: Sequence[RingArray],
        *,
        each: Callable[[RingArray], RingArray] | None = None,
    ) -> RingArray:
        """Return sum_t sum_j lhs[t][..., j] * rhs[t][..., j] for arrays of one shape.

        Works in chunks of rows, so that no temporary is as large as an operand. Few columns are multiplied one by one.
        each: an element-wise map, of all operands first.
        """
        *leading, cols = lhs[0].shape
        out = self.zeros((int(np.prod(leading, dtype=np.int64)),))
        if not cols:
            return out.reshape(leading)
        if cols <= _FEW:
            columns = ([x[..., j] for x in side for j in range(cols)] for side in (lhs, rhs))
            left, right = (side if each is None else [each(x) for x in side] for side in columns)
            parts = [slice(i, i + _FEW) for i in range(0, len(left), _FEW)]
            return reduce(self.add, (self.mul_sum(left[part], right[part]) for part in parts))
        left, right = ([x.reshape(-1, cols) for x in side] for side in (lhs, rhs))
        step = max(1, self.chunk_bytes // (cols * self.element_bytes))
        for start in range(0, len(out), step):
            rows = slice(start, start + step)
            factors = ([x[rows] if each is None else each(x[rows]) for x in side] for side in (left, right))
            out[rows] = self.sum(self.mul_sum(*factors), axis=1)
        return out.reshape(leading)

    # --- matrices ----------------------------------------------------------------------------------------

    @abstractmethod
    def matmul_sum(self, lhs: Sequence[RingArray], rhs: Sequence[RingArray]) -> RingArray:
        """Return sum_t lhs[t] @ rhs[t] for one- and two-dimensional operands, with NumPy's shape rules."""

    def matmul(self, a: RingArray, b: RingArray) -> RingArray:
        """Return a @ b."""
        return self.matmul_sum([a], [b])

    def matvec_pairs(self, mats: Sequence[RingArray], vecs: Sequence[RingArray]) -> RingArray:
        """Return, as rows, mats[t] @ vecs[2 t] and mats[t] @ vecs[2 t + 1] for every t."""
        return np.stack([self.matmul(mats[i // 2], vec) for i, vec in enumerate(vecs)])


def matmul_shape(a: Shape, b: Shape) -> Shape:
    """Return the shape of a @ b for one- and two-dimensional operands, or raise ShapeError."""
    if len(a) not in (1, 2) or len(b) not in (1, 2) or a[-1] != b[0]:
        raise ShapeError(
            f"Cannot multiply shapes {a} and {b}: operands of '@' must have one or two dimensions and the last "
            f"dimension of the left one must equal the first of the right one."
        )
    return a[:-1] + b[1:]


def broadcast_shape(*shapes: Shape) -> Shape:
    """Return the common shape of several operands, or raise ShapeError."""
    if shapes.count(shapes[0]) == len(shapes):  # most calls
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(f"Cannot broadcast shapes {' and '.join(map(str, shapes))} together.") from None


def inner_shape(a: Shape, b: Shape) -> Shape:
    """Return the shape of the inner products of two arrays along their last axis, or raise ShapeError."""
    if a != b or not a:
        raise ShapeError(f"Inner products need two arrays of one shape, with one dimension or more; got {a} and {b}.")
    return a[:-1]
