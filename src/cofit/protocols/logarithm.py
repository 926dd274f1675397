"""pi_LN: the natural logarithm of a positive secret.

x = m 2^t with m in [1/2, 1): ln x = ln m + t ln 2. The first term is a polynomial in y = 4 m - 3, the second a local
look-up by the position of the top bit.

Domain: every positive value of the format (0 < x < 2^(k-2-f)). For x <= 0 the result is meaningless.
Error: at most ``logarithm_error(format)``, below 3 units in the last place.
Rounds with ``rep3``: see ``normalise``, then 2 ceil(log2 D) + 2 for a polynomial of degree D (28 in Z_2^128, 15 in
Z_2^64): 32 for values up to 1 in Z_2^128.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from cofit.arithmetic import FixedPoint
from cofit.protocols.chebyshev import REALS, Approximation, approximate, rounded_integer
from cofit.protocols.normalise import mantissa_argument, mantissa_table, top_bit
from cofit.protocols.working import check_format, working_bits
from cofit.secret import SecretArray


@cache
def _log_of_mantissa(bits: int) -> Approximation:
    """ln((y + 3) / 4): singular at y = -3, so analytic for rho < 3 + sqrt(8) = 5.82.

    In the ellipse of rho = 5.5, |y| < 2.85: 0.037 < |(y + 3) / 4| < 1.5, so |ln| < 3.3 + pi < 6.5.
    """
    return approximate(lambda y: REALS.log((y + 3) / 4), 5.5, 6.5, Fraction(1, 1 << (bits + 2)), bits)


def logarithm(x: SecretArray) -> SecretArray:
    """Return ln x, for x > 0, in the format of x."""
    check_format(x, "logarithm")
    ring, fraction_bits = x.format.ring, x.format.fraction_bits
    factor, of_exponent = top_bit(x).lookup(
        mantissa_table(ring),
        (lambda i: rounded_integer(lambda: (i + 1 - fraction_bits) * REALS.ln(2), fraction_bits), x.format),
    )
    of_mantissa = _log_of_mantissa(working_bits(ring)).evaluate(mantissa_argument(x, factor), fraction_bits)
    return of_mantissa + of_exponent


def logarithm_error(format: FixedPoint) -> Fraction:
    """Return a bound of |logarithm(x) - ln x|, for every x in the domain."""
    bits = working_bits(format.ring)
    unit = Fraction(1, 1 << format.fraction_bits)
    argument = Fraction(1, 1 << bits) / 2  # y is off by one working unit, and |d ln((y + 3) / 4) / dy| <= 1/2
    return _log_of_mantissa(bits).error(format.fraction_bits) + argument + unit / 2
