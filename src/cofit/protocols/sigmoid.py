"""The logistic function 1 / (1 + exp(-z)) of a secret, in two kinds.

``sigmoid_polynomial``: for a public range |z| <= R, a polynomial whose degree follows from R and the wanted error. No
comparison. The function has poles at +-i pi, so the degree grows like R times the number of bits.

``sigmoid``: for any z. With a = |z|, clamped where exp(-a) vanishes: h = 1 / (1 + exp(-a)), a polynomial in exp(-a),
and 1 - h for negative z.

Both report their proven error, because the privacy certificate uses it. It is below 4 units in the last place for any
z, and for the polynomial up to R = 7 in every format; for larger R it grows, and says so.
Rounds with ``rep3``: polynomial, 2 + 2 ceil(log2 D) + 2. Any z: sign 4 + ceil(log2(k-1)) + 1, clamp the same again
where the public bound exceeds 44, exponential (see there), polynomial 12, sign 1.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from cofit.arithmetic import FixedPoint
from cofit.errors import InvalidInputError, parameter_error
from cofit.protocols.chebyshev import REALS, Approximation, approximate, required_degree
from cofit.protocols.comparison import is_negative, less
from cofit.protocols.exponential import exponent_of, times_constant, two_to_minus, two_to_minus_error
from cofit.protocols.working import check_format, tighten, working_bits
from cofit.secret import SecretArray

LARGEST_DEGREE = 256
_CLAMP = 44  # exp(-44) < 2^-63


@cache
def _sigmoid_on(bits: int, bound: Fraction, tolerance: Fraction) -> Approximation:
    """1 / (1 + exp(-R y)): analytic where |Im R y| < pi.

    In the ellipse with R (rho - 1/rho) / 2 = 0.9 pi the imaginary part t of R y stays within 0.9 pi, and there
    |1 + exp(-z)| >= min(1, |sin t|) >= sin(0.9 pi) > 0.309, so the function is below 3.24.
    """
    return approximate(
        lambda y: 1 / (1 + REALS.exp(-y * bound.numerator / bound.denominator)), _rho(bound), 3.24, tolerance, bits
    )


def _rho(bound: Fraction) -> float:
    height = 0.9 * math.pi / float(bound)
    return height + math.sqrt(1 + height * height)


def sigmoid_polynomial(z: SecretArray, tolerance: Fraction | None = None) -> SecretArray:
    """Return 1 / (1 + exp(-z)), for z within its public bound R, in the format of z.

    ``tolerance``: how far the polynomial may be from the function; by default a quarter of a unit in the last place.
    """
    check_format(z, "sigmoid_polynomial")
    bound = _range(z.integer_limit, z.format)
    polynomial = _polynomial(z.format, bound, tolerance)
    width = z.integer_limit.bit_length()
    y = times_constant(z, lambda: REALS.mpf(bound.denominator) / bound.numerator, polynomial.bits, width)
    return polynomial.evaluate(tighten(y, 1 + Fraction(1, 1 << 16)), z.format.fraction_bits)


def sigmoid_polynomial_error(format: FixedPoint, bound: Fraction, tolerance: Fraction | None = None) -> Fraction:
    """Return a bound of |sigmoid_polynomial(z) - 1 / (1 + exp(-z))| for |z| <= bound.

    The argument y = z / R is off by less than 2 working units, and |d / dy| <= R / 4.
    """
    wide = _range(format.limit(bound), format)
    polynomial = _polynomial(format, wide, tolerance)
    return polynomial.error(format.fraction_bits) + wide / 4 * Fraction(2, 1 << polynomial.bits)


def sigmoid_degree(format: FixedPoint, bound: Fraction, tolerance: Fraction | None = None) -> int:
    """Return the degree of the polynomial that ``sigmoid_polynomial`` uses."""
    return _polynomial(format, _range(format.limit(bound), format), tolerance).degree


def _range(limit: int, format: FixedPoint) -> Fraction:
    """The public bound, rounded up to a multiple of 1/4 and at least 1, so that few polynomials serve all."""
    return max(Fraction(-(-4 * limit >> format.fraction_bits), 4), Fraction(1))


def _polynomial(format: FixedPoint, bound: Fraction, tolerance: Fraction | None) -> Approximation:
    finest = Fraction(1, 4 << format.fraction_bits)
    if tolerance is not None and tolerance < finest:
        raise parameter_error("tolerance", "sigmoid_polynomial", f"at least {finest}, 1/4 of the last place", tolerance)
    wanted = finest if tolerance is None else Fraction(tolerance)
    degree = required_degree(_rho(bound), 3.24, wanted)
    if degree > LARGEST_DEGREE:
        raise InvalidInputError(
            f"A polynomial sigmoid for |z| <= {float(bound):g} would need degree {degree} (at most {LARGEST_DEGREE}). "
            f"Use sigmoid(), which takes any z, a tighter bound, or a larger tolerance."
        )
    return _sigmoid_on(working_bits(format.ring), bound, wanted)


@cache
def _one_over_one_plus(bits: int) -> Approximation:
    """1 / (1 + (y + 1) / 2) = 2 / (3 + y): in the ellipse of rho = 5.5, |3 + y| > 0.15, so the function is below 14."""
    return approximate(lambda y: 2 / (3 + y), 5.5, 14, Fraction(1, 1 << (bits + 3)), bits)


def sigmoid(z: SecretArray, *, unbounded: bool = False) -> SecretArray:
    """Return 1 / (1 + exp(-z)), for any z, in the format of z. ``unbounded``: as in ``comparison``."""
    check_format(z, "sigmoid")
    bits, fraction_bits = working_bits(z.format.ring), z.format.fraction_bits
    negative = is_negative(z, unbounded=unbounded)
    magnitude = ((1 - negative * 2) * z).with_integer_limit(z.integer_limit)
    if z.bound > _CLAMP:
        small = less(magnitude, _CLAMP, unbounded=unbounded)
        magnitude = tighten(small * (magnitude - _CLAMP) + _CLAMP, Fraction(_CLAMP))
    decay = two_to_minus(exponent_of(-magnitude, 0), bits, 0)
    half = _one_over_one_plus(bits).evaluate(tighten(decay * 2 - 1, 1 + Fraction(1, 1 << 16)), fraction_bits)
    return tighten(half + negative * (1 - half * 2), 1 + Fraction(1, 1 << 12))


def sigmoid_error(format: FixedPoint) -> Fraction:
    """Return a bound of |sigmoid(z) - 1 / (1 + exp(-z))| for every z: slope of h at most 1; beyond the clamp 2^-63."""
    bits = working_bits(format.ring)
    decay = two_to_minus_error(FixedPoint(bits, format.ring), Fraction(2, 1 << bits), 0)
    return _one_over_one_plus(bits).error(format.fraction_bits) + decay + Fraction(1, 1 << 63)
