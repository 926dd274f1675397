"""SecretArray: NumPy's operators over secret shares.

The fixed-point format and a public bound travel with the value. Every operation computes, in exact integers, how large
its result can be by those bounds, and refuses what could overflow: nothing wraps silently.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from cofit.arithmetic import FixedPoint, IntegerRing, RingArray
from cofit.errors import RangeError, parameter_error
from cofit.secret.bits import SecretBits
from cofit.secret.constants import encoded, factor_format
from cofit.secret.ranges import Bound, checked, product_format, product_limit
from cofit.secret.value import SecretValue
from cofit.sharing import Share
from cofit.sharing.operands import check_plus

Public: TypeAlias = int | float | Fraction | np.integer[Any] | np.floating[Any] | np.ndarray[Any, Any] | Sequence[Any]
Operand: TypeAlias = "SecretArray | Public"


class SecretArray(SecretValue):
    """An array nobody sees, with the operators of a NumPy array.

    ``+ - * @``, unary minus, ``sum``, slicing, ``reshape``, ``T`` and broadcasting work with other secret arrays and
    with public numbers or arrays. A product of two values with f fractional bits is truncated back to f bits (error
    below one unit in the last place, 2^-f); a product with an integer (public ``int``, or secret with f = 0) is exact.

    Created by a ``Party``; opened only by ``Party.open``.
    """

    __slots__ = ()

    # --- sums --------------------------------------------------------------------------------------------

    def __add__(self, other: Operand) -> SecretArray:
        if isinstance(other, SecretArray):
            self._same_format(other, "+")
            return self._like(self._scheme.add(self._share, other._share), self._limit + other._limit)
        values, limit = encoded(other, self._format)
        return self._like(self._scheme.add_public(self._share, values), self._limit + limit)

    __radd__ = __add__

    def __neg__(self) -> SecretArray:
        return self._like(self._scheme.neg(self._share), self._limit)

    def __sub__(self, other: Operand) -> SecretArray:
        if isinstance(other, SecretArray):
            self._same_format(other, "-")
            return self._like(self._scheme.sub(self._share, other._share), self._limit + other._limit)
        values, limit = encoded(other, self._format)
        negated = self.format.ring.neg(values)
        return self._like(self._scheme.add_public(self._share, negated), self._limit + limit)

    def __rsub__(self, other: Public) -> SecretArray:
        return -self + other

    def sum(self, axis: int | None = None) -> SecretArray:
        """Return the sum over one axis, or over all elements."""
        if axis is not None and not -self.ndim <= axis < self.ndim:
            raise parameter_error("axis", "sum", f"a dimension of shape {self.shape}, or None", axis)
        terms = self.size if axis is None else self.shape[axis]
        return self._like(self._scheme.sum(self._share, axis), max(terms, 1) * self._limit)

    # --- products ----------------------------------------------------------------------------------------

    def multiply(
        self,
        other: Operand,
        fraction_bits: int | None = None,
        *,
        proven_bound: Bound | None = None,
        plus: SecretArray | None = None,
    ) -> SecretArray:
        """Return self * other + plus, element-wise, with ``fraction_bits`` fractional bits in the result.

        By default as ``*`` does. More (up to the sum of both operands') defers the truncation: with all of them the
        product is exact and costs no truncation; call ``truncate`` later.

        ``plus`` has the shape of the product and the format it has before its truncation (the fractional bits of both
        operands together). It is added there: exactly, and for free.

        ``proven_bound``: a bound of the product (with ``plus``) that the caller has proved, where that of the operands
        is too pessimistic (as for a number times the power of two that normalises it).
        """
        if isinstance(other, SecretArray):
            result, shift, limit = self._product_rules(other.format, other._limit, fraction_bits, proven_bound, plus)
            share = self._scheme.mul(self._share, other._share, shift, _share_of(plus))
            return SecretArray(self._scheme, share, result, limit)
        format, values, largest = self._public_factor(other)
        result, shift, limit = self._product_rules(format, largest, fraction_bits, proven_bound, plus)
        return self._finish(self._scheme.mul_public(self._share, values), result, shift, limit, plus)

    def __mul__(self, other: Operand) -> SecretArray:
        return self.multiply(other)

    __rmul__ = __mul__

    def matmul(
        self,
        other: Operand,
        fraction_bits: int | None = None,
        *,
        proven_bound: Bound | None = None,
        plus: SecretArray | None = None,
    ) -> SecretArray:
        """Return self @ other + plus; everything else as in ``multiply``."""
        if isinstance(other, SecretArray):
            largest = (self.shape[-1] if self.shape else 1) * other._limit
            result, shift, limit = self._product_rules(other.format, largest, fraction_bits, proven_bound, plus)
            share = self._scheme.matmul(self._share, other._share, shift, _share_of(plus))
            return SecretArray(self._scheme, share, result, limit)
        format, values, _ = self._public_factor(other)
        largest = values.ndim and format.ring.largest_sum(values, axis=0)
        result, shift, limit = self._product_rules(format, largest, fraction_bits, proven_bound, plus)
        return self._finish(self._scheme.matmul_public(self._share, values), result, shift, limit, plus)

    def __matmul__(self, other: Operand) -> SecretArray:
        return self.matmul(other)

    def inner(
        self, other: SecretArray, fraction_bits: int | None = None, *, proven_bound: Bound | None = None
    ) -> SecretArray:
        """Return the sum of self * other over the last axis, for two secret arrays of one shape.

        As (self * other).sum(-1), with messages for the sums and not for the products, and one truncation of each sum:
        x.inner(x) are the squared norms of the rows of x. ``fraction_bits`` and ``proven_bound`` as in ``multiply``.
        """
        if not isinstance(other, SecretArray):
            raise parameter_error("other", "inner", "a SecretArray", type(other).__name__)
        largest = (self.shape[-1] if self.shape else 1) * other._limit
        result, shift, limit = self._product_rules(other.format, largest, fraction_bits, proven_bound)
        share = self._scheme.inner(self._share, other._share, shift)
        return SecretArray(self._scheme, share, result, limit)

    def squared_distances(self, row: SecretArray, distance: Bound) -> SecretArray:
        """Return (self - row)^2 element-wise for every row of a table, exactly: with twice the fractional bits.

        As (self - row).multiply(self - row, ...), without a table of the differences. ``distance``: a bound of them
        that the caller has proved.
        """
        self._same_format(row, "-")
        apart = min(checked(self._limit + row._limit, self._format, "A difference"), self._format.limit(distance))
        result, _ = product_format(self._format, self._format, 2 * self._format.fraction_bits)
        limit = product_limit(apart * apart, result, 0, Fraction(distance) ** 2)
        share = self._scheme.squared_distances(self._share, row._share)
        return SecretArray(self._scheme, share, result, limit)

    def __rmatmul__(self, other: Public) -> SecretArray:
        return self.weighted_by(other)

    def weighted_by(self, weights: Public) -> SecretArray:
        """Return weights @ self; the same as the operator, which type checkers take for NumPy's."""
        format, values, _ = self._public_factor(weights)
        largest = values.ndim and format.ring.largest_sum(values, axis=-1)
        result, shift, limit = self._product_rules(format, largest, None)
        return self._finish(self._scheme.rmatmul_public(values, self._share), result, shift, limit)

    def __truediv__(self, other: Public) -> SecretArray:
        if isinstance(other, SecretArray):
            raise TypeError("Dividing by a secret takes a protocol: cofit.protocols.divide(a, b, quotient_bound=...).")
        return self.multiply(1.0 / np.asarray(other, dtype=np.float64))

    def __pow__(self, exponent: int) -> SecretArray:
        if exponent != 2:
            raise TypeError("Only the square, x ** 2, is an operator; multiply for other powers.")
        return self.multiply(self)

    def mean(self, axis: int | None = None) -> SecretArray:
        """Return the mean over one axis, or over all elements: the sum times 1/n, rounded to the format."""
        total = self.sum(axis)
        terms = self.size if axis is None else self.shape[axis]
        if not terms:
            raise parameter_error("axis", "mean", "an axis with at least one element", axis)
        return total.multiply(Fraction(1, terms))

    def truncate(self, fraction_bits: int) -> SecretArray:
        """Return the value with fewer fractional bits; the error is below one unit of the new last place."""
        shift = self.format.fraction_bits - fraction_bits
        if shift < 0:
            raise parameter_error("fraction_bits", "truncate", f"at most {self.format.fraction_bits}", fraction_bits)
        format = FixedPoint.cached(fraction_bits, self._format.ring)
        limit = (self._limit >> shift) + 1 if shift else self._limit
        return SecretArray(self._scheme, self._scheme.truncate(self._share, shift), format, limit)

    def widen(self, fraction_bits: int) -> SecretArray:
        """Return the same value with more fractional bits. Exact and local."""
        more = fraction_bits - self.format.fraction_bits
        if more < 0:
            raise parameter_error("fraction_bits", "widen", f"at least {self.format.fraction_bits}", fraction_bits)
        format = FixedPoint.cached(fraction_bits, self._format.ring)
        limit = checked(self._limit << more, format, "A widened value")
        factor, _ = encoded(1 << more, FixedPoint.cached(0, format.ring))
        return SecretArray(self._scheme, self._scheme.mul_public(self._share, factor), format, limit)

    def narrow(self, ring: IntegerRing) -> SecretArray:
        """Return the same value, with as many fractional bits, in a smaller ring that its bound fits. Exact and local.

        Every party reduces its shares modulo the smaller power of two: that is a homomorphism of rings.
        """
        own = self.format.ring
        if not isinstance(ring, IntegerRing) or not own.reduces_to(ring):
            raise parameter_error("ring", "narrow", f"a ring to which {own.name} reduces", ring)
        if self.format.fraction_bits > ring.value_bits:
            allowed = f"a ring that holds {self.format.fraction_bits} fractional bits; truncate() first"
            raise parameter_error("ring", "narrow", allowed, ring, RangeError)
        format = FixedPoint(self.format.fraction_bits, ring)
        limit = checked(self._limit, format, "A narrowed value")
        return SecretArray(self._scheme, self._scheme.narrow(self._share, ring), format, limit)

    def ldexp(self, exponent: int) -> SecretArray:
        """Return self * 2^exponent, exactly and for free: only the number of fractional bits changes."""
        format = FixedPoint.cached(self._format.fraction_bits - exponent, self._format.ring)
        return SecretArray(self._scheme, self._share, format, self._limit)

    # --- bits --------------------------------------------------------------------------------------------

    def bits(self, count: int | None = None) -> SecretBits:
        """Return the bits of the encoded integers (two's complement), least significant first: all, or ``count``."""
        return SecretBits(self._scheme, self._scheme.to_bits(self._share, count), self.shape)

    def sign_bits(self, low: int = 0) -> SecretBits:
        """Return one bit for every element: 1 where it is negative, whatever the ring holds: no bound is relied on.

        low: for less traffic, of an integer that is below the element's by less than ``summands`` 2^low, modulo the
        ring.
        """
        return SecretBits(self._scheme, self._scheme.sign_bits(self._share, low), self.shape)

    def bounded_sign_bits(self) -> SecretBits:
        """Return the same bit for less: as many bits are added as ``integer_limit`` takes, with its sign.

        If the bound is wrong, so is the bit. What comes from rows that were not checked has no bound to rely on. In a
        ring that does not reduce to fewer bits it is ``sign_bits``.
        """
        ring = self.format.ring
        bits = min(self._limit.bit_length() + 1, ring.bits) if ring.reduces else None
        return SecretBits(self._scheme, self._scheme.sign_bits(self._share, bits=bits), self.shape)

    def top_bits(self, low: int = 0) -> SecretBits:
        """Return the two top bits of every element, or of an integer below it as in ``sign_bits``; the lower first."""
        return SecretBits(self._scheme, self._scheme.top_bits(self._share, low), self.shape)

    @property
    def summands(self) -> int:
        """How many summands a shared value has at most."""
        return self._scheme.summands

    @property
    def weighs_bits(self) -> bool:
        """Whether sums of bits are made without an element for each of them. Public."""
        return self._scheme.weighs_bits

    def high_squares(self, shift: int, proven_bound: Bound) -> SecretArray:
        """Return the sum, over the last axis, of the squares of high parts: of the integers over 2^shift, rounded down,
        less a number below ``summands``, modulo 2^(k - shift).
        """
        share, integers = self._scheme.high_squares(self._share, shift), FixedPoint(0, self.format.ring)
        largest = self.shape[-1] * ((self._limit >> shift) + self._scheme.summands) ** 2
        return SecretArray(self._scheme, share, integers, product_limit(largest, integers, 0, proven_bound))

    # --- helpers -----------------------------------------------------------------------------------------

    def _public_factor(self, values: Public) -> tuple[FixedPoint, RingArray, int]:
        """Integers multiply exactly (f = 0), reals in our own format."""
        format = factor_format(values, self._format)
        return format, *encoded(values, format)

    def _product_rules(
        self,
        other: FixedPoint,
        other_limit: int,
        fraction_bits: int | None,
        proven: Bound | None = None,
        plus: SecretArray | None = None,
    ) -> tuple[FixedPoint, int, int]:
        """Return the format of (self * other + plus), by how many bits it is truncated, and its limit after that."""
        if plus is not None and not isinstance(plus, SecretArray):
            raise parameter_error("plus", "a product", "a SecretArray", type(plus).__name__)
        result, shift = product_format(self.format, other, fraction_bits, None if plus is None else plus.format)
        total = self._limit * other_limit + (0 if plus is None else plus._limit)
        return result, shift, product_limit(total, result, shift, proven)

    def _finish(
        self, product: Share, result: FixedPoint, shift: int, limit: int, plus: SecretArray | None = None
    ) -> SecretArray:
        """Add ``plus`` to a local product, and truncate."""
        if plus is not None:
            check_plus(result.ring, product.shape, plus._share)
            product = self._scheme.add(product, plus._share)
        return SecretArray(self._scheme, self._scheme.truncate(product, shift), result, limit)


def _share_of(value: SecretArray | None) -> Share | None:
    return None if value is None else value._share
