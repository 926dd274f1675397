"""SecretArray: NumPy's operators over secret shares.

The fixed-point format and a public bound travel with the value. Every operation computes, in exact integers, how large
its result can be by those bounds, and refuses what could overflow: nothing wraps silently.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NoReturn, TypeAlias

import numpy as np

from cofit.arithmetic import FixedPoint, PowerOfTwoRing, RingArray, Shape
from cofit.arithmetic.fixed import as_bound
from cofit.errors import FormatMismatchError, InvalidInputError, RangeError, RingMismatchError, parameter_error
from cofit.secret.bits import SecretBits
from cofit.sharing import Scheme, Share

Public: TypeAlias = int | float | Fraction | np.integer[Any] | np.floating[Any] | np.ndarray[Any, Any] | Sequence[Any]
Operand: TypeAlias = "SecretArray | Public"
Bound: TypeAlias = float | int | Fraction


class SecretArray:
    """An array nobody sees, with the operators of a NumPy array.

    ``+ - * @``, unary minus, ``sum``, slicing, ``reshape``, ``T`` and broadcasting work with other secret arrays and
    with public numbers or arrays. A product of two values with f fractional bits is truncated back to f bits (error
    below one unit in the last place, 2^-f); a product with an integer (public ``int``, or secret with f = 0) is exact.

    Created by a ``Party``; opened only by ``Party.open``.
    """

    __slots__ = ("_format", "_limit", "_scheme", "_share")
    __array_ufunc__ = None  # let NumPy arrays on the left defer to us
    __hash__ = None  # type: ignore[assignment]  # == compares secrets, not identities

    def __init__(self, scheme: Scheme, share: Share, format: FixedPoint, limit: int) -> None:
        self._scheme = scheme
        self._share = share
        self._format = format
        self._limit = _checked(limit, format, "This value")

    @property
    def format(self) -> FixedPoint:
        """The ring and the number of fractional bits (public)."""
        return self._format

    # --- public facts ------------------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        """The shape (public)."""
        return self._share.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions (public)."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements (public)."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def bound(self) -> float:
        """A public number that no element exceeds in magnitude (rounded up where a float cannot hold it exactly)."""
        nearest = self._limit / (1 << self.format.fraction_bits)
        exact = Fraction(self._limit, 1 << self.format.fraction_bits)
        return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("A SecretArray without dimensions has no length.")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<SecretArray shape={self.shape}, {self.format}, bound {self.bound:g}>"

    @property
    def integer_limit(self) -> int:
        """A public integer that no encoded element exceeds in magnitude: bound * 2^f, exactly."""
        return self._limit

    def with_integer_limit(self, limit: int) -> SecretArray:
        """As ``with_bound``, for the encoded integers."""
        if limit > self._limit:
            raise parameter_error("limit", "with_integer_limit", f"at most {self._limit}", limit, RangeError)
        return self._like(self._share, limit)

    def with_bound(self, bound: float | int | Fraction) -> SecretArray:
        """Return the same value with a tighter public bound, which the caller has proved.

        If the bound is wrong, later results are wrong; nothing can detect it without looking.
        """
        limit = self.format.limit(bound)
        if limit > self._limit:
            raise parameter_error("bound", "with_bound", f"at most the known bound {self.bound:g}", bound, RangeError)
        return self._like(self._share, limit)

    # --- refused: what would need the value --------------------------------------------------------------

    def _refuse_conversion(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError(
            "A SecretArray has no visible value, so Python's and NumPy's functions cannot take it. Compute with its "
            "own operators and methods (+, -, *, @, sum, mean ...), and open only the result: "
            "party.open(result, reason=...)."
        )

    __array__ = __bool__ = __float__ = __int__ = __complex__ = __index__ = _refuse_conversion

    def _refuse_comparison(self, _other: object) -> NoReturn:
        raise TypeError("Comparing secrets takes a protocol; Python's comparison operators do not run one.")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse_comparison

    # --- sums --------------------------------------------------------------------------------------------

    def __add__(self, other: Operand) -> SecretArray:
        if isinstance(other, SecretArray):
            self._same_format(other, "+")
            return self._like(self._scheme.add(self._share, other._share), self._limit + other._limit)
        values, limit = self._encode(other, self.format)
        return self._like(self._scheme.add_public(self._share, values), self._limit + limit)

    __radd__ = __add__

    def __neg__(self) -> SecretArray:
        return self._like(self._scheme.neg(self._share), self._limit)

    def __sub__(self, other: Operand) -> SecretArray:
        if isinstance(other, SecretArray):
            self._same_format(other, "-")
            return self._like(self._scheme.sub(self._share, other._share), self._limit + other._limit)
        values, limit = self._encode(other, self.format)
        negated = self.format.ring.neg(values)
        return self._like(self._scheme.add_public(self._share, negated), self._limit + limit)

    def __rsub__(self, other: Public) -> SecretArray:
        return -self + other

    def sum(self, axis: int | None = None) -> SecretArray:
        """Return the sum over one axis, or over all elements."""
        ring = self.format.ring
        if axis is not None and not -self.ndim <= axis < self.ndim:
            raise parameter_error("axis", "sum", f"a dimension of shape {self.shape}, or None", axis)
        terms = self.size if axis is None else self.shape[axis]
        return self._like(self._share.map(lambda part: ring.sum(part, axis)), max(terms, 1) * self._limit)

    # --- products ----------------------------------------------------------------------------------------

    def multiply(
        self, other: Operand, fraction_bits: int | None = None, *, proven_bound: Bound | None = None
    ) -> SecretArray:
        """Return self * other, element-wise, with ``fraction_bits`` fractional bits in the result.

        By default as ``*`` does. More (up to the sum of both operands') defers the truncation: with all of them the
        product is exact and costs no truncation; call ``truncate`` later.

        ``proven_bound``: a bound of the product that the caller has proved, where the product of the operands' bounds
        is too pessimistic (as for a number times the power of two that normalises it).
        """
        if isinstance(other, SecretArray):
            result, shift = self._product_format(other.format, fraction_bits)
            limit = self._product_limit(1, other._limit, result, shift, proven_bound)
            return SecretArray(self._scheme, self._scheme.mul(self._share, other._share, shift), result, limit)
        format, values, bound = self._public_factor(other)
        result, shift = self._product_format(format, fraction_bits)
        limit = self._product_limit(1, bound, result, shift, proven_bound)
        share = self._scheme.truncate(self._scheme.mul_public(self._share, values), shift)
        return SecretArray(self._scheme, share, result, limit)

    def __mul__(self, other: Operand) -> SecretArray:
        return self.multiply(other)

    __rmul__ = __mul__

    def matmul(self, other: Operand, fraction_bits: int | None = None) -> SecretArray:
        """Return self @ other; ``fraction_bits`` as in ``multiply``."""
        if isinstance(other, SecretArray):
            result, shift = self._product_format(other.format, fraction_bits)
            limit = self._product_limit(self._inner_dimension(), other._limit, result, shift)
            return SecretArray(self._scheme, self._scheme.matmul(self._share, other._share, shift), result, limit)
        return self._matmul_public(other, fraction_bits, on_the_left=False)

    def __matmul__(self, other: Operand) -> SecretArray:
        return self.matmul(other)

    def __rmatmul__(self, other: Public) -> SecretArray:
        return self._matmul_public(other, None, on_the_left=True)

    def weighted_by(self, weights: Public) -> SecretArray:
        """Return weights @ self; the same as the operator, which type checkers take for NumPy's."""
        return self._matmul_public(weights, None, on_the_left=True)

    def _matmul_public(self, other: Public, fraction_bits: int | None, on_the_left: bool) -> SecretArray:
        format, values, _ = self._public_factor(other)
        result, shift = self._product_format(format, fraction_bits)
        largest_sum = values.ndim and format.ring.largest_sum(values, axis=-1 if on_the_left else 0)
        limit = self._product_limit(1, largest_sum, result, shift)
        if on_the_left:
            product = self._scheme.rmatmul_public(values, self._share)
        else:
            product = self._scheme.matmul_public(self._share, values)
        return SecretArray(self._scheme, self._scheme.truncate(product, shift), result, limit)

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
        format = FixedPoint(fraction_bits, self.format.ring)
        limit = (self._limit >> shift) + 1 if shift else self._limit
        return SecretArray(self._scheme, self._scheme.truncate(self._share, shift), format, limit)

    def widen(self, fraction_bits: int) -> SecretArray:
        """Return the same value with more fractional bits. Exact and local."""
        more = fraction_bits - self.format.fraction_bits
        if more < 0:
            raise parameter_error("fraction_bits", "widen", f"at least {self.format.fraction_bits}", fraction_bits)
        format = FixedPoint(fraction_bits, self.format.ring)
        limit = _checked(self._limit << more, format, "A widened value")
        factor = format.ring.from_int(np.asarray(1 << more, dtype=object))
        return SecretArray(self._scheme, self._scheme.mul_public(self._share, factor), format, limit)

    def ldexp(self, exponent: int) -> SecretArray:
        """Return self * 2^exponent, exactly and for free: only the number of fractional bits changes."""
        return SecretArray(
            self._scheme, self._share, FixedPoint(self.format.fraction_bits - exponent, self.format.ring), self._limit
        )

    # --- shape -------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[SecretArray]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> SecretArray:
        if isinstance(index, str) or (isinstance(index, list) and any(isinstance(i, str) for i in index)):
            raise TypeError("A SecretArray is indexed with numbers, slices and masks, not with names.")
        return self._like(self._share.map(lambda part: np.asarray(part[index])), self._limit)

    def reshape(self, *shape: int | tuple[int, ...]) -> SecretArray:
        """Return the same elements in another shape, given as numbers or as one tuple."""
        wanted: Any = shape[0] if len(shape) == 1 else shape
        try:
            return self._like(self._share.map(lambda part: part.reshape(wanted)), self._limit)
        except (ValueError, TypeError):
            raise parameter_error("shape", "reshape", f"a shape of {self.size} elements", wanted) from None

    @property
    def T(self) -> SecretArray:  # noqa: N802
        """The transpose."""
        return self._like(self._share.map(np.transpose), self._limit)

    # --- bits --------------------------------------------------------------------------------------------

    def bits(self) -> SecretBits:
        """Return the bits of the encoded integers (two's complement), least significant first."""
        return SecretBits(self._scheme, self._scheme.to_bits(self._share), self.shape)

    def sign_bits(self) -> SecretBits:
        """Return one bit for every element: 1 where it is negative."""
        return SecretBits(self._scheme, self._scheme.sign_bits(self._share), self.shape)

    # --- helpers -----------------------------------------------------------------------------------------

    def _like(self, share: Share, limit: int) -> SecretArray:
        return SecretArray(self._scheme, share, self.format, limit)

    def _same_format(self, other: SecretArray, operator: str) -> None:
        if self.format.ring is not other.format.ring:
            raise RingMismatchError(f"'{operator}' needs one ring; got {self.format} and {other.format}.")
        if self.format != other.format:
            raise FormatMismatchError(
                f"'{operator}' needs one format; got {self.format} and {other.format}. Use truncate() or multiply()."
            )

    def _encode(self, values: Public, format: FixedPoint) -> tuple[RingArray, int]:
        encoded = format.encode(values)
        return encoded, format.ring.largest_magnitude(encoded)

    def _public_factor(self, values: Public) -> tuple[FixedPoint, RingArray, int]:
        """Integers multiply exactly (f = 0), reals in our own format."""
        array = np.asarray(0.0 if isinstance(values, Fraction) else values)
        exact = array.dtype.kind in "bui" or (array.dtype.kind == "O" and all(isinstance(v, int) for v in array.flat))
        format = FixedPoint(0, self.format.ring) if exact else self.format
        encoded, limit = self._encode(values, format)
        return format, encoded, limit

    def _inner_dimension(self) -> int:
        return self.shape[-1] if self.shape else 1

    def _product_format(self, other: FixedPoint, fraction_bits: int | None) -> tuple[FixedPoint, int]:
        ours, theirs = self.format.fraction_bits, other.fraction_bits
        if self.format.ring is not other.ring:
            raise RingMismatchError(f"A product needs one ring; got {self.format} and {other}.")
        if fraction_bits is None:
            if ours != theirs and ours and theirs:
                raise FormatMismatchError(
                    f"'*' and '@' need one format, or an integer; got {self.format} and {other}. "
                    f"Use multiply() or matmul() with fraction_bits=..."
                )
            fraction_bits = max(ours, theirs)
        if not 0 <= fraction_bits <= ours + theirs:
            raise parameter_error("fraction_bits", "a product", f"from 0 to {ours + theirs}", fraction_bits)
        return FixedPoint(fraction_bits, self.format.ring), ours + theirs - fraction_bits

    def _product_limit(
        self, terms: int, other_limit: int, result: FixedPoint, shift: int, proven: Bound | None = None
    ) -> int:
        exact = max(terms, 1) * self._limit * other_limit
        if proven is not None:
            exact = min(exact, math.ceil(as_bound(proven, "multiply") * (1 << (result.fraction_bits + shift))))
        _checked(exact, result, "A product before its truncation")
        return (exact >> shift) + 1 if shift else exact


def bits_to_array(bits: SecretBits, ring: PowerOfTwoRing) -> SecretArray:
    """Return secret bits as integers 0 and 1 of shape (width, \\*shape)."""
    return SecretArray(bits._scheme, bits.to_ring(ring), FixedPoint(0, ring), 1)


def concatenate(arrays: Sequence[SecretArray], axis: int = 0) -> SecretArray:
    """Join secret arrays of one format along an axis."""
    if not arrays:
        raise parameter_error("arrays", "concatenate", "at least one array", arrays)
    first = arrays[0]
    for other in arrays[1:]:
        first._same_format(other, "concatenate")
    parts = zip(*(array._share.parts for array in arrays), strict=True)
    try:
        share = Share(first.format.ring, tuple(np.concatenate(part, axis=axis) for part in parts))
    except ValueError:
        shapes = [array.shape for array in arrays]
        raise InvalidInputError(f"Cannot concatenate shapes {shapes} along axis {axis}.") from None
    return first._like(share, max(array._limit for array in arrays))


def _checked(limit: int, format: FixedPoint, what: str) -> int:
    if limit < 0:
        raise parameter_error("limit", "SecretArray", "at least 0", limit, RangeError)
    if limit > format.capacity:
        raise RangeError(
            f"{what} may reach 2^{limit.bit_length()} in {format}, which holds less than 2^{format.ring.bits - 2}. "
            f"Give tighter public bounds (with_bound), use fewer fractional bits, or a larger ring."
        )
    return limit
