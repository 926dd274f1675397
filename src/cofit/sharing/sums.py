"""Sums of products as one operation: what a scheme may compute locally before anything travels.

A step of training needs X w - c S, or X^T p - <c, p> - M q: sums of products of different kinds. Where a party has a
summand of each product at hand, it adds them up first, so that the sum costs the rounds and messages of one product,
and independent sums travel together (``Costs.joins_sums``). Any other scheme computes the products one after the other.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np

from cofit.arithmetic import Ring, RingArray, Shape
from cofit.arithmetic.ring import broadcast_shape, inner_shape, matmul_shape
from cofit.errors import InvalidInputError
from cofit.sharing.operands import common_ring
from cofit.sharing.shares import Share


class Kind(Enum):
    """How two operands are multiplied: element by element; as ``@``; element by element, summed over the last axis; or
    several pairs element by element, summed over the pairs."""

    MUL = "mul"
    MATMUL = "matmul"
    INNER = "inner"
    PAIRS = "pairs"


class Product(NamedTuple):
    """A product of shares; one on either side, but for PAIRS."""

    kind: Kind
    lefts: tuple[Share, ...]
    rights: tuple[Share, ...]

    @property
    def shape(self) -> Shape:
        """The shape of the result."""
        left, right = self.lefts[0].shape, self.rights[0].shape
        if self.kind is Kind.MATMUL:
            return matmul_shape(left, right)
        return inner_shape(left, right) if self.kind is Kind.INNER else broadcast_shape(left, right)


class ProductSum(NamedTuple):
    """The sum of products, each repeated to the shape of the first, and of ``plus``, divided by 2^shift as ``truncate``
    does.
    """

    products: tuple[Product, ...]
    shift: int = 0
    plus: Share | None = None

    @property
    def shape(self) -> Shape:
        """The shape of the result."""
        return self.products[0].shape

    @property
    def ring(self) -> Ring:
        """The ring of all operands."""
        rings = {id(common_ring(a, b)): a.ring for p in self.products for a, b in zip(p.lefts, p.rights, strict=True)}
        if self.plus is not None:
            common_ring(self.plus, self.products[0].lefts[0])
        if len(rings) > 1:
            common_ring(self.products[0].lefts[0], self.products[-1].lefts[0])
        return next(iter(rings.values()))


class PartialSum(NamedTuple):
    """What a party has of a sum of products before it is divided by 2^shift: arrays that may be added to those of other
    rows. A scheme makes it of a ``ProductSum`` (``Scheme.partial_sum``), and ``Scheme.product_sums`` goes on with it,
    perhaps in another session of the same parties. What the arrays are, only the scheme knows.
    """

    ring: Ring
    parts: tuple[RingArray, ...]
    shift: int

    @property
    def shape(self) -> Shape:
        """The shape of the result."""
        return self.parts[0].shape

    def plus(self, other: PartialSum) -> PartialSum:
        """Return both sums together. Local."""
        if (self.ring, self.shape, self.shift) != (other.ring, other.shape, other.shift):
            raise InvalidInputError("Partial sums that are added have one ring, one shape and one shift.")
        added = zip(self.parts, other.parts, strict=True)
        return self._replace(parts=tuple(self.ring.add(a, b) for a, b in added))


class Clip(NamedTuple):
    """To which public integers a sum is clipped after its truncation, and with how many bits, at most, the differences
    from both are written, sign included: which the caller has proved.
    """

    lower: int
    upper: int
    bits: int


def repeated_to(share: Share, shape: Shape) -> Share:
    """Return a share whose elements are repeated to this shape, without a copy."""
    return share if share.shape == shape else share.linear(lambda part: np.broadcast_to(part, shape))
