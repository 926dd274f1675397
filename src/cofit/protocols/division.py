"""pi_DIV: division of secrets.

b = m 2^t with m in [1/2, 1): a / b = a 2^-t / m, and 1 / m is a polynomial in y = 4 m - 3. The power 2^-t is applied in
two parts, exactly before the product where it is at least 1, and with a truncation after it where it is below 1, so
that small divisors lose nothing.

Domain: 0 < b < 2^W (or b != 0 with ``positive=False``), |a / b| at most ``quotient_bound``, which the caller must
prove. For b = 0 the result is 0; beyond the bound it is meaningless.
Error: |divide(a, b) - a / b| <= |a / b| ``relative_error(format)`` + 2 units in the last place; the relative error is
below 2^-(f-2), so for |a / b| >= 1 the whole is at most 2^-(f-3) |a / b|.
Rounds with ``rep3``: see ``normalise``, then 2 ceil(log2 D) + 2 for a polynomial of degree D, and 5. Signs: 13 more.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from cofit.arithmetic import FixedPoint
from cofit.errors import RangeError, parameter_error
from cofit.protocols.chebyshev import Approximation, approximate
from cofit.protocols.comparison import is_negative
from cofit.protocols.normalise import mantissa_argument, mantissa_table, top_bit
from cofit.protocols.working import check_format, tighten, working_bits
from cofit.secret import SecretArray
from cofit.secret.ranges import Bound


@cache
def _reciprocal_of_mantissa(bits: int) -> Approximation:
    """4 / (y + 3): in the ellipse of rho = 5.5, |y + 3| > 0.15, so |4 / (y + 3)| < 27."""
    return approximate(lambda y: 4 / (y + 3), 5.5, 27, Fraction(1, 1 << (bits + 3)), bits)


def divide(a: SecretArray, b: SecretArray, *, quotient_bound: Bound, positive: bool = True) -> SecretArray:
    """Return a / b in the format of both. ``positive``: every element of b is known to be above 0."""
    check_format(a, "divide")
    if a.format != b.format:
        raise parameter_error("b", "divide", f"in the format of a, {a.format}", str(b.format))
    if not positive:
        sign = 1 - is_negative(b) * 2
        a, b = tighten_magnitude(sign * a, a), tighten_magnitude(sign * b, b)
    ring, fraction_bits = a.format.ring, a.format.fraction_bits
    bits = working_bits(ring)
    if b.integer_limit.bit_length() > fraction_bits + bits:
        raise RangeError(
            f"divide takes divisors below 2^{bits} in {b.format}; the public bound of this one is {b.bound:g}. "
            f"Give a tighter bound (with_bound), or scale both by a power of two."
        )
    factor, raising, lowering = top_bit(b).lookup(
        mantissa_table(ring),
        (lambda i: 1 << max(fraction_bits - i - 1, 0), FixedPoint(0, ring)),
        (lambda i: 1 << (bits - max(i + 1 - fraction_bits, 0)), FixedPoint(bits, ring)),
    )
    of_mantissa = _reciprocal_of_mantissa(bits).evaluate(mantissa_argument(b, factor), bits)
    inverse = tighten(of_mantissa, 2 + Fraction(1, 1 << 16))
    largest = max(Fraction(a.integer_limit, 1 << fraction_bits), Fraction(quotient_bound))
    raised = a.multiply(raising, proven_bound=largest)
    quotient = raised.multiply(inverse, fraction_bits, proven_bound=2 * largest + 1)
    return quotient.multiply(lowering, fraction_bits, proven_bound=2 * largest + 1)


def reciprocal(b: SecretArray, *, quotient_bound: Bound, positive: bool = True) -> SecretArray:
    """Return 1 / b; ``quotient_bound`` as in ``divide``."""
    return divide(b * 0 + 1, b, quotient_bound=quotient_bound, positive=positive)


def tighten_magnitude(product: SecretArray, original: SecretArray) -> SecretArray:
    """Return a product with signs +-1 with the bound of the original."""
    return product.with_integer_limit(original.integer_limit)


def relative_error(format: FixedPoint) -> Fraction:
    """Return the relative part of the error: that of 1 / m, which is at least 1. |d (4 / (y + 3)) / dy| <= 1."""
    bits = working_bits(format.ring)
    return _reciprocal_of_mantissa(bits).error(bits) + Fraction(1, 1 << bits)
