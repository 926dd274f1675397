"""The public side of a product of secrets: the format of the result, and how large it can be, in exact integers."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from cofit.arithmetic import FixedPoint
from cofit.arithmetic.fixed import as_bound, scaled_up
from cofit.errors import FormatMismatchError, RangeError, RingMismatchError, parameter_error

Bound: TypeAlias = float | int | Fraction


def checked(limit: int, format: FixedPoint, what: str) -> int:
    """Return ``limit``; raise RangeError unless the format holds integers of that magnitude."""
    if limit < 0:
        raise parameter_error("limit", "SecretArray", "at least 0", limit, RangeError)
    if limit > format.capacity:
        raise RangeError(
            f"{what} may reach 2^{limit.bit_length()} in {format}, which holds less than 2^{format.ring.value_bits}. "
            f"Give tighter public bounds (with_bound), use fewer fractional bits, or a larger ring."
        )
    return limit


def product_format(
    left: FixedPoint, right: FixedPoint, fraction_bits: int | None, plus: FixedPoint | None = None
) -> tuple[FixedPoint, int]:
    """Return the format of a product, and by how many bits it is truncated.

    ``plus`` is the format of what is added to the product before its truncation: it must be that of the product there.
    """
    if left.ring is not right.ring:
        raise RingMismatchError(f"A product needs one ring; got {left} and {right}.")
    exact = left.fraction_bits + right.fraction_bits
    if fraction_bits is None:
        if left is not right and left != right and left.fraction_bits and right.fraction_bits:
            raise FormatMismatchError(
                f"'*' and '@' need one format, or an integer; got {left} and {right}. "
                f"Use multiply() or matmul() with fraction_bits=..."
            )
        fraction_bits = max(left.fraction_bits, right.fraction_bits)
    if not 0 <= fraction_bits <= exact:
        raise parameter_error("fraction_bits", "a product", f"from 0 to {exact}", fraction_bits)
    if plus is not None and plus.ring is not left.ring:
        raise RingMismatchError(f"A product of {left} cannot be added to a value of {plus}.")
    if plus is not None and plus.fraction_bits != exact:
        wanted = f"in the format of the product before its truncation, with {exact} fractional bits"
        raise parameter_error("plus", "a product", wanted, str(plus), FormatMismatchError)
    return FixedPoint.cached(fraction_bits, left.ring), exact - fraction_bits


def exact_limit(limit: int, fraction_bits: int, proven: Bound | None) -> int:
    """Return the limit of a product before its truncation, when it has so many fractional bits."""
    return limit if proven is None else min(limit, scaled_up(as_bound(proven, "a product"), fraction_bits))


def product_limit(exact: int, result: FixedPoint, shift: int, proven: Bound | None) -> int:
    """Return the limit of a truncated product whose integers do not exceed ``exact``, nor a bound that is proven.

    Only the total must fit the ring: partial sums that wrap modulo 2^k are harmless.
    """
    exact = exact_limit(exact, result.fraction_bits + shift, proven)
    checked(exact, result, "A product before its truncation")
    return (exact >> shift) + 1 if shift else exact
