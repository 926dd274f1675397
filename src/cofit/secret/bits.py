"""SecretBits: a vector of secret bits for every element of an array, with Python's bit operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

import numpy as np

from cofit.arithmetic import Ring, Shape
from cofit.errors import ShapeError, parameter_error
from cofit.sharing import BitShare, Scheme, Share
from cofit.sharing.bit_forms import BitForm


class SecretBits:
    """``width`` secret bits for each element of an array of shape ``shape``; bit 0 is the least significant.

    ``^ & | ~`` work bit by bit; ``bits[j]`` and ``bits[i:j]`` select bits. XOR and NOT are local, AND and OR take one
    product.
    """

    __slots__ = ("_scheme", "_share", "shape")

    def __init__(self, scheme: Scheme, share: BitShare, shape: Shape) -> None:
        self._scheme = scheme
        self._share = share
        self.shape = shape

    @property
    def width(self) -> int:
        """The number of bits for each element (public)."""
        return self._share.rows

    def __repr__(self) -> str:
        return f"<SecretBits shape={self.shape}, width {self.width}>"

    def __bool__(self) -> bool:
        raise TypeError("SecretBits have no visible value. Open them with party.open(bits, reason=...).")

    def _like(self, share: BitShare) -> SecretBits:
        return SecretBits(self._scheme, share, self.shape)

    def _refuse_comparison(self, _other: object) -> NoReturn:
        raise TypeError("Comparing secret bits takes a protocol; use ^, & and ~, and open the result.")

    __eq__ = __ne__ = _refuse_comparison
    __hash__ = None  # type: ignore[assignment]

    def _same_shape(self, other: SecretBits, operator: str) -> None:
        if not isinstance(other, SecretBits):
            raise parameter_error("other", f"'{operator}'", "SecretBits", type(other).__name__)
        if self.shape != other.shape or (self.width != other.width and 1 not in (self.width, other.width)):
            raise ShapeError(
                f"'{operator}' needs the same shape and width; got {self.shape} x {self.width} "
                f"and {other.shape} x {other.width}."
            )

    def __xor__(self, other: SecretBits) -> SecretBits:
        self._same_shape(other, "^")
        return self._like(self._scheme.boolean.xor(self._share, other._share))

    def __and__(self, other: SecretBits) -> SecretBits:
        self._same_shape(other, "&")
        return self._like(self._scheme.boolean.and_(self._share, other._share))

    def bilinear(self, other: SecretBits, form: BitForm) -> SecretBits:
        """Return a public bilinear form of both, which may be of different widths. 1 round."""
        if self.shape != other.shape:
            raise ShapeError(f"A bilinear form needs bits of one shape; got {self.shape} and {other.shape}.")
        return self._like(self._scheme.boolean.bilinear(self._share, other._share, form))

    def __or__(self, other: SecretBits) -> SecretBits:
        return (self & other) ^ self ^ other

    def __invert__(self) -> SecretBits:
        return self._like(self._scheme.boolean.not_(self._share))

    def __iter__(self) -> Iterator[SecretBits]:
        return (self[j] for j in range(self.width))

    def __getitem__(self, index: int | slice | list[int]) -> SecretBits:
        if isinstance(index, int | np.integer):
            if not -self.width <= index < self.width:
                raise parameter_error("index", "SecretBits", f"a bit position below {self.width}", index)
            position = int(index) % self.width
            index = slice(position, position + 1)
        return self._like(self._scheme.boolean.select_rows(self._share, index))

    def join(self, *others: SecretBits) -> SecretBits:
        """Return the bits of this and of all others, in order, for every element."""
        for other in others:
            if self.shape != other.shape:
                raise ShapeError(f"Only bits of one shape can be joined; got {self.shape} and {other.shape}.")
        return self._like(self._scheme.boolean.stack_rows([self._share, *(other._share for other in others)]))

    def ones(self) -> SecretBits:
        """Return one bit for each element, which is 1 (and public)."""
        return ~(self[0] ^ self[0])

    def folded(self) -> SecretBits:
        """Return the bits of a shape (groups, count) as those of shape (count,), ``groups`` times as many for each.

        ``count`` is a multiple of 64. Local.
        """
        groups, count = self.shape
        return SecretBits(self._scheme, self._scheme.boolean.fold(self._share, groups), (count,))

    def every(self) -> SecretBits:
        """Return one bit for each element: 1 where all its bits are. ceil(log2(width)) ANDs deep."""
        bits = self
        while bits.width > 1:
            half = bits.width // 2
            both = bits[:half] & bits[half : 2 * half]
            bits = both if bits.width == 2 * half else both.join(bits[2 * half :])
        return bits

    def to_ring(self, ring: Ring) -> Share:
        """Return the bits as shared ring elements 0 and 1, shape (width, *shape)."""
        shape = (self.width, *self.shape)
        return self._scheme.from_bits(self._share, ring).map(lambda part: np.reshape(part, shape))
