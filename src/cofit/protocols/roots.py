"""pi_SQRT: square root and inverse square root of a positive secret.

x = m 2^t with m in [1/2, 1): sqrt x = sqrt(m) 2^(t/2) and 1 / sqrt x = 2^(-t/2) / sqrt(m). The root of m is a
polynomial in y = 4 m - 3, the power a local look-up by the position of the top bit (of rounded constants, so odd t
are no special case); one product joins them.

Domain: square_root 0 < x <= 4^D, inverse_square_root 4^-D <= x, with D = ``domain_exponent(format)`` = W - f - 1 (the
guard bits of ``working``): results are at most 2^D, and their absolute error stays below 4 units in the last place. The
upper bound of the square root is checked against the public bound of x; the lower one of the inverse is the caller's to
prove. For x = 0 and for x < 0 the results are meaningless (square_root(0) is 0). Where the caller has proved a larger
lower bound, ``least``, every power of two below it saves a bit in ``normalise``, and elements below it are meaningless.
The result has the format of x, or ``fraction_bits`` fractional bits where given; then x may have any number of them and
the domain and the errors are those of the format of the result: m keeps W bits whatever the format of x is.
Error: at most ``square_root_error(format)`` and ``inverse_square_root_error(format)``, for the format of the result.
Rounds with ``rep3``: see ``normalise``, then 2 ceil(log2 d) + 4 for a polynomial of degree d.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import floor
from typing import Protocol

from cofit.arithmetic import FixedPoint
from cofit.errors import RangeError, parameter_error
from cofit.protocols.chebyshev import REALS, Approximation, approximate, rounded_integer
from cofit.protocols.normalise import mantissa_argument, mantissa_table, top_bit
from cofit.protocols.working import GUARD_BITS, check_format, tighten, working_bits
from cofit.secret import SecretArray


@cache
def _root(bits: int) -> Approximation:
    """sqrt((y + 3) / 4): in the ellipse of rho = 5.5, |y| < 2.85 and |sqrt| < 1.21."""
    return approximate(lambda y: REALS.sqrt((y + 3) / 4), 5.5, 1.21, Fraction(1, 1 << (bits + 3)), bits)


@cache
def _inverse_root(bits: int) -> Approximation:
    """1 / sqrt((y + 3) / 4): in the ellipse of rho = 5.5, |(y + 3) / 4| > 0.0375, so |1 / sqrt| < 5.2."""
    return approximate(lambda y: 1 / REALS.sqrt((y + 3) / 4), 5.5, 5.2, Fraction(1, 1 << (bits + 3)), bits)


def square_root(x: SecretArray, fraction_bits: int | None = None) -> SecretArray:
    """Return sqrt(x), for x in the domain, in the format of x or with ``fraction_bits`` fractional bits."""
    result = _result_format(x, fraction_bits, "square_root")
    largest = domain_exponent(result)
    if x.integer_limit > 1 << (2 * largest + x.format.fraction_bits):
        raise RangeError(
            f"square_root in {result} takes values up to 4^{largest}; the public bound of this one is {x.bound:g}. "
            f"Give a tighter bound (with_bound), scale it by a power of 4, or use fewer fractional bits."
        )
    return _scaled_root(x, result, _root, sign=1)


def inverse_square_root(x: SecretArray, fraction_bits: int | None = None, least: Fraction | None = None) -> SecretArray:
    """Return 1 / sqrt(x), for x in the domain, in the format of x or with ``fraction_bits`` fractional bits."""
    return _scaled_root(x, _result_format(x, fraction_bits, "inverse_square_root"), _inverse_root, sign=-1, least=least)


def domain_exponent(format: FixedPoint) -> int:
    """Return D = W - f - 1: results are at most 2^D."""
    return working_bits(format.ring) - format.fraction_bits - 1


def _result_format(x: SecretArray, fraction_bits: int | None, function: str) -> FixedPoint:
    if fraction_bits is None:
        check_format(x, function)
        return x.format
    most = working_bits(x.format.ring) - GUARD_BITS
    if not 0 <= fraction_bits <= most:
        raise parameter_error("fraction_bits", function, f"from 0 to {most} in {x.format.ring.name}", fraction_bits)
    return FixedPoint(fraction_bits, x.format.ring)


def _scaled_root(
    x: SecretArray, result: FixedPoint, root: _Root, sign: int, least: Fraction | None = None
) -> SecretArray:
    """Return m^(sign/2) 2^(sign t/2), for x = m 2^t."""
    bits = working_bits(x.format.ring)
    largest = domain_exponent(result)
    top = top_bit(x) if least is None else top_bit(x, max(1, floor(least * (1 << x.format.fraction_bits))))
    power_format = FixedPoint(_power_bits(result), x.format.ring)

    def power(position: int) -> int:
        """2^(sign t/2), or 0 where the result would be out of the domain."""
        exponent = sign * (position + 1 - x.format.fraction_bits)
        if exponent > 2 * largest + 1:
            return 0
        return rounded_integer(lambda: REALS.mpf(2) ** (REALS.mpf(exponent) / 2), power_format.fraction_bits)

    factor, powers = top.lookup(mantissa_table(x.format.ring), (power, power_format))
    of_mantissa = tighten(root(bits).evaluate(mantissa_argument(x, factor), bits), Fraction(3, 2))
    bound = Fraction(1 << (largest + 1))
    return of_mantissa.multiply(powers, result.fraction_bits, proven_bound=bound)


class _Root(Protocol):
    def __call__(self, bits: int) -> Approximation: ...


def _power_bits(format: FixedPoint) -> int:
    """As many as leave room for a result of 2^(D+1): W + b + D + 1 < k - 2 = 2 W + 2."""
    return working_bits(format.ring) - domain_exponent(format)


def square_root_error(format: FixedPoint) -> Fraction:
    """Return a bound of |square_root(x) - sqrt x| in the domain, for a result in ``format``.

    |d sqrt((y + 3) / 4) / dy| <= 0.18; sqrt m is in [0.7, 1), so the power is at most 1.42 2^D.
    """
    return _error(_root(working_bits(format.ring)), Fraction(18, 100), Fraction(142, 100), Fraction(1), format)


def inverse_square_root_error(format: FixedPoint) -> Fraction:
    """Return a bound of |inverse_square_root(x) - 1 / sqrt x| in the domain, for a result in ``format``.

    |d (4 / (y + 3))^(1/2) / dy| <= 0.36; 1 / sqrt m is in (1, 1.42], so the power is at most 2^D.
    """
    return _error(_inverse_root(working_bits(format.ring)), Fraction(36, 100), Fraction(1), Fraction(142, 100), format)


def _error(root: Approximation, slope: Fraction, power: Fraction, largest: Fraction, format: FixedPoint) -> Fraction:
    """The error of the root of m times the power, that of the power times the root, and the last truncation."""
    of_root = root.error(root.bits) + slope * Fraction(1, 1 << root.bits)
    of_power = largest * Fraction(1, 2 << _power_bits(format))
    return of_root * power * (1 << domain_exponent(format)) + of_power + Fraction(1, 1 << format.fraction_bits)
