"""The exponential function of a secret.

exp(x) = 2^D 2^-v with v = D - x log2(e) >= 0. The integer bits of v give 2^-floor(v) as a product of factors
1 - b_j (1 - 2^-(2^j)), the rest g in [0, 1) gives 2^-g by a polynomial in y = 2 g - 1.

Domain: -64 <= x <= D ln 2, with D = W - f - 1 (the guard bits of ``working``), at most 35: the result is at most 2^D.
Both ends are the caller's to prove, except that the public bound of x must be at most 64.
Error: at most ``exponential_error(format)``.
Rounds with ``rep3``: v 4 (2 where one constant is enough), bits 2 + ceil(log2(k-1)), ring elements 2, polynomial
2 ceil(log2 d) + 2, product tree 6.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Protocol

import mpmath
import numpy as np

from cofit.arithmetic import FixedPoint
from cofit.errors import RangeError
from cofit.protocols.chebyshev import REALS, Approximation, approximate, rounded_integer
from cofit.protocols.working import check_format, tighten, working_bits
from cofit.secret import SecretArray, bits_to_array, concatenate

LARGEST_ARGUMENT = 64
_INTEGER_BITS = 7
_LARGEST_EXPONENT = 35  # v <= D + 64 log2(e) < 35 + 92.4 < 2^7


@cache
def _power_of_fraction(bits: int) -> Approximation:
    """2^-(y + 1)/2: entire; in the ellipse of rho = 30, |Re y| < 15.02, so |2^-((y + 1) / 2)| < 2^7.1."""
    return approximate(lambda y: REALS.mpf(2) ** (-(y + 1) / 2), 30, 140, Fraction(1, 1 << (bits + 3)), bits)


def exponential(x: SecretArray) -> SecretArray:
    """Return exp(x), for x in the domain, in the format of x."""
    check_format(x, "exponential")
    if x.bound > LARGEST_ARGUMENT:
        raise RangeError(
            f"exponential takes values of magnitude up to {LARGEST_ARGUMENT}; the public bound of this one is "
            f"{x.bound:g}. Give a tighter bound (with_bound)."
        )
    top = domain_exponent(x.format)
    return two_to_minus(exponent_of(x, top), x.format.fraction_bits, top)


def domain_exponent(format: FixedPoint) -> int:
    """Return D = W - f - 1, at most 35: results are at most 2^D."""
    return min(working_bits(format.ring) - format.fraction_bits - 1, _LARGEST_EXPONENT)


def exponent_of(x: SecretArray, offset: int) -> SecretArray:
    """Return v = offset - x log2(e) with W fractional bits, off by less than 2 working units.

    log2(e) is rounded to b bits so that the product fits: |x| <= 64 leaves b = k - 2 - f - 8 bits. Its rounding would
    count 64 / 2 units of 2^-b, too many for large f, so a second constant, 2^-b times smaller, takes up the rest.
    """
    ring, fraction_bits = x.format.ring, x.format.fraction_bits
    return offset - times_constant(x, lambda: 1 / REALS.ln(2), working_bits(ring), 8 + fraction_bits)


def times_constant(x: SecretArray, constant: Constant, fraction_bits: int, argument_bits: int) -> SecretArray:
    """Return x c with ``fraction_bits`` fractional bits, off by less than 2 units, for a public real |c| < 2.

    ``argument_bits``: |x| < 2^argument_bits in units of its last place. c = c_1 2^-b + c_2 2^-2b with integers of at
    most b + 1 bits; both products are truncated to the result.
    """
    ring = x.format.ring
    room = ring.value_bits - argument_bits - 1
    both = rounded_integer(constant, 2 * room)
    high, low = both >> room, both & ((1 << room) - 1)
    integers = x.ldexp(x.format.fraction_bits)
    shift = x.format.fraction_bits + room - fraction_bits
    product = _shifted(integers * high, shift)
    if shift + room <= ring.value_bits:  # otherwise the second part is below any unit
        product = product + _shifted(integers * low, shift + room)
    return product.ldexp(-fraction_bits)


class Constant(Protocol):
    """A public real number, computed with as many digits as are wanted."""

    def __call__(self) -> mpmath.mpf:
        """Return it as a number of ``REALS``."""


def _shifted(integers: SecretArray, shift: int) -> SecretArray:
    return integers.ldexp(-shift).truncate(0) if shift >= 0 else integers * (1 << -shift)


def two_to_minus(v: SecretArray, fraction_bits: int, scale: int) -> SecretArray:
    """Return 2^(scale - v) with ``fraction_bits`` fractional bits, for 0 <= v < 128 with W fractional bits."""
    if v.bound >= 1 << _INTEGER_BITS:
        raise RangeError(f"The exponent must be below {1 << _INTEGER_BITS} by its public bound, which is {v.bound:g}.")
    ring, bits = v.format.ring, working_bits(v.format.ring)
    digits = bits_to_array(v.bits(bits + _INTEGER_BITS)[bits:], ring)
    whole = digits.reshape(_INTEGER_BITS, -1).weighted_by(np.array([1 << j for j in range(_INTEGER_BITS)]))
    rest = tighten((v - whole.reshape(v.shape).widen(bits)), Fraction(1))
    power = tighten(_power_of_fraction(bits).evaluate(rest * 2 - 1, bits), 1 + Fraction(1, 1 << 16))
    factors = [power]
    for j in range(_INTEGER_BITS):
        missing = (1 << bits) - round(Fraction(1 << bits, 1 << (1 << j)))
        factors.append((1 - (digits[j] * missing).ldexp(-bits)).with_bound(1))
    rows = concatenate([factor.reshape(1, v.size) for factor in factors])
    while len(rows) > 1:
        half = len(rows) // 2
        rows = rows[:half].multiply(rows[half:], bits if half > 1 else fraction_bits + scale)
    return rows.reshape(v.shape).ldexp(scale)


def exponential_error(format: FixedPoint) -> Fraction:
    """Return a bound of |exponential(x) - exp x| in the domain."""
    return two_to_minus_error(format, Fraction(2, 1 << working_bits(format.ring)), domain_exponent(format))


def two_to_minus_error(format: FixedPoint, argument_error: Fraction, scale: int) -> Fraction:
    """Return a bound of the error of ``two_to_minus``.

    Let N = floor(v). If N <= W, the factors in play are powers of two whose products all fit W bits: exact, and only
    the three products on the way of 2^-g count, the last in units of the result; the polynomial's error and that of g
    (slope ln 2 < 0.7) count at most once, and the last factor is rounded by at most half a unit. If N > W, the exact
    value is below one unit, and the six inner products add less than one unit each. All of it counts 2^scale times.
    """
    bits = working_bits(format.ring)
    unit = Fraction(1, 1 << bits)
    small = _power_of_fraction(bits).error(bits) + argument_error * Fraction(7, 10) + unit / 2 + 2 * unit
    return max(small, 7 * unit) * (1 << scale) + Fraction(1, 1 << format.fraction_bits)
