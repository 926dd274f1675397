"""Sums of products of secrets, before they are computed: so that a scheme may add up first, and send once.

    total, along = sums(Sum([matrix(x, w), by_element(-c, s)], 20), Sum([by_rows(m, w)], 20))

costs the rounds of one product where the scheme joins sums, and those of three where it does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from cofit.arithmetic import FixedPoint
from cofit.errors import FormatMismatchError, parameter_error
from cofit.secret.array import SecretArray
from cofit.secret.ranges import Bound, exact_limit, product_format, product_limit
from cofit.sharing import Scheme
from cofit.sharing.operands import check_plus, check_shift
from cofit.sharing.sums import Clip, Kind, PartialSum, Product, ProductSum


@dataclass(frozen=True)
class Multiplied:
    """A product that is still to be computed: what it is of, and the limit of its integers."""

    kind: Kind
    lefts: tuple[SecretArray, ...]
    rights: tuple[SecretArray, ...]
    terms: int = 1

    @property
    def limit(self) -> int:
        """No integer of the product is larger."""
        pairs = zip(self.lefts, self.rights, strict=True)
        return self.terms * sum(a.integer_limit * b.integer_limit for a, b in pairs)

    @property
    def product(self) -> Product:
        """The same of shares."""
        lefts, rights = (tuple(value._share for value in side) for side in (self.lefts, self.rights))
        return Product(self.kind, lefts, rights)


def by_element(a: SecretArray, b: SecretArray) -> Multiplied:
    """a * b, element-wise."""
    return Multiplied(Kind.MUL, (a,), (b,))


def matrix(a: SecretArray, b: SecretArray) -> Multiplied:
    """a @ b."""
    return Multiplied(Kind.MATMUL, (a,), (b,), a.shape[-1])


def by_rows(a: SecretArray, b: SecretArray) -> Multiplied:
    """The sum of a * b over the last axis."""
    return Multiplied(Kind.INNER, (a,), (b,), a.shape[-1])


def by_pairs(lefts: Sequence[SecretArray], rights: Sequence[SecretArray]) -> Multiplied:
    """The sum of the products of several pairs of vectors, element-wise."""
    return Multiplied(Kind.PAIRS, tuple(lefts), tuple(rights))


class Sum:
    """A sum of products, each repeated to the shape of the first, and of ``plus``, with ``fraction_bits`` fractional
    bits. Nothing is computed until ``value``, ``sums`` or ``clipped``.

    All products and ``plus`` have as many fractional bits before the truncation. ``proven_bound``: of the sum.
    """

    def __init__(
        self,
        products: Sequence[Multiplied],
        fraction_bits: int,
        *,
        proven_bound: Bound | None = None,
        plus: SecretArray | None = None,
    ) -> None:
        first = products[0]
        left, right = first.lefts[0].format, first.rights[0].format
        self.format, shift = product_format(left, right, fraction_bits, None if plus is None else plus.format)
        self._exact = exact = fraction_bits + shift
        for a, b in ((a, b) for p in products for a, b in zip(p.lefts, p.rights, strict=True)):
            if a.format.fraction_bits + b.format.fraction_bits != exact:
                wanted = f"with {exact} fractional bits before the truncation, as the first"
                raise parameter_error("products", "Sum", wanted, f"{a.format} times {b.format}", FormatMismatchError)
        limit = sum(p.limit for p in products) + (0 if plus is None else plus.integer_limit)
        self.integer_limit = product_limit(limit, self.format, shift, proven_bound)
        self._exact_limit = exact_limit(limit, exact, proven_bound)
        self._products, self._plus = tuple(products), plus
        self._scheme = first.lefts[0]._scheme
        self._sum = ProductSum(tuple(p.product for p in products), shift, None if plus is None else plus._share)
        check_shift(self._sum.ring, shift)
        check_plus(self._sum.ring, self._sum.shape, self._sum.plus)

    def less(self, value: SecretArray, proven_bound: Bound) -> Sum | None:
        """Return this sum less a value of no more fractional bits; None where the ring has no room for both before the
        truncation. As if it were subtracted afterwards. ``proven_bound``: of what is left."""
        format = self.format
        if value.format.fraction_bits > format.fraction_bits:
            raise parameter_error("value", "Sum", f"of at most {format.fraction_bits} fractional bits", value.format)
        limits = (format.limit(proven_bound), value.integer_limit << format.fraction_bits - value.format.fraction_bits)
        if max(limits) << self._sum.shift > format.capacity:
            return None
        plus = -value.widen(self._exact)
        plus = plus if self._plus is None else self._plus + plus
        return Sum(self._products, format.fraction_bits, proven_bound=proven_bound, plus=plus)

    def value(self) -> SecretArray:
        """Return the sum."""
        return sums(self)[0]

    def partial(self) -> PartOfSum:
        """Return what we have of the sum before its truncation, to be added to that of other rows (``AddedSum``)."""
        return PartOfSum(self._scheme.partial_sum(self._sum), self.format, self._exact_limit)

    def clips(self, lower: int, upper: int) -> bool:
        """Whether the scheme clips this sum to these integers in one operation. Public."""
        room = self.format.ring.bits - self._sum.shift
        return self._scheme.clips and self.format.ring.reduces and self._clip(lower, upper).bits <= min(room, 64)

    def clipped(self, lower: int, upper: int) -> SecretArray:
        """Return the sum, truncated, and clipped to [lower, upper], in units of its last place; where it ``clips``."""
        share = self._scheme.clipped_sum(self._sum, self._clip(lower, upper))
        return SecretArray(self._scheme, share, self.format, max(abs(lower), abs(upper)))

    def _clip(self, lower: int, upper: int) -> Clip:
        farthest = self.integer_limit + max(abs(lower), abs(upper))
        return Clip(lower, upper, farthest.bit_length() + 1)

    def __repr__(self) -> str:
        return f"<Sum of {len(self._sum.products)} products, shape {self._sum.shape}, {self.format}>"


class PartOfSum(NamedTuple):
    """What a party has of a sum over some rows before its truncation; the format is that after it, the limit exact."""

    partial: PartialSum
    format: FixedPoint
    limit: int


class AddedSum:
    """The sum of such parts, over the rows of all: in the session of ``scheme``, still to be truncated by ``sums``."""

    def __init__(self, scheme: Scheme, parts: Sequence[PartOfSum]) -> None:
        self._scheme, self.format = scheme, parts[0].format
        self._sum = reduce(PartialSum.plus, (part.partial for part in parts))
        limit = sum(part.limit for part in parts)
        self.integer_limit = product_limit(limit, self.format, self._sum.shift, None)


def sums(*wanted: Sum | AddedSum) -> list[SecretArray]:
    """Return several sums; together, where the scheme joins them."""
    scheme = wanted[0]._scheme
    shares = scheme.product_sums([one._sum for one in wanted])
    return [
        SecretArray(scheme, share, one.format, one.integer_limit) for share, one in zip(shares, wanted, strict=True)
    ]
