"""A multiple of the logistic function, c / (1 + exp(-2^r y)), of a secret y in [-1, 1]: the form that training uses.

The argument of a gradient step comes out of a truncation anyway, so it can come out as y = z / 2^r in the working
format, and the step size can be a factor of the coefficients: neither costs a round, as with ``sigmoid_polynomial``.

Error: at most ``scaled_sigmoid_error``, for the given y. Nobody learns anything.
Rounds with ``rep3``: 2 ceil(log2 D) + 2 for degree D = ``scaled_sigmoid_degree``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from cofit.arithmetic import IntegerRing
from cofit.protocols.chebyshev import REALS, Approximation, approximate
from cofit.protocols.working import tighten, working_bits
from cofit.secret import SecretArray


@cache
def _polynomial(bits: int, exponent: int, scale: Fraction, tolerance: Fraction) -> Approximation:
    """Analytic where |Im 2^r y| < pi; in the ellipse where it is below 0.9 pi the function is below 3.24 c.

    (|1 + exp(-z)| >= min(1, |sin Im z|) >= sin(0.9 pi) > 0.309.)
    """
    height = 0.9 * math.pi / 2.0**exponent
    rho = height + math.sqrt(1 + height * height)
    radius = Fraction(2) ** exponent
    return approximate(
        lambda y: REALS.mpf(scale.numerator) / scale.denominator / (1 + REALS.exp(-y * _real(radius))),
        rho,
        3.24 * float(scale),
        tolerance,
        bits,
    )


def _real(value: Fraction) -> float:
    return float(value)  # a power of two: exact


def scaled_sigmoid(
    y: SecretArray, exponent: int, scale: Fraction, fraction_bits: int, tolerance: Fraction
) -> SecretArray:
    """Return scale / (1 + exp(-2^exponent y)) for |y| <= 1 with W fractional bits (see ``working``).

    ``tolerance``: how far the polynomial may be from the function.
    """
    polynomial = _polynomial(working_bits(y.format.ring), exponent, scale, tolerance)
    return polynomial.evaluate(tighten(y, 1 + Fraction(1, 1 << 16)), fraction_bits)


def scaled_sigmoid_error(
    ring: IntegerRing, exponent: int, scale: Fraction, fraction_bits: int, tolerance: Fraction
) -> Fraction:
    """Return a bound of |scaled_sigmoid(y) - scale / (1 + exp(-2^exponent y))|."""
    return _polynomial(working_bits(ring), exponent, scale, tolerance).error(fraction_bits)


def scaled_sigmoid_degree(ring: IntegerRing, exponent: int, scale: Fraction, tolerance: Fraction) -> int:
    """Return the degree of the polynomial."""
    return _polynomial(working_bits(ring), exponent, scale, tolerance).degree


def scaled_sigmoid_formed(ring: IntegerRing, exponent: int, scale: Fraction, tolerance: Fraction) -> int:
    """Return how many numbers an evaluation makes of its argument."""
    return _polynomial(working_bits(ring), exponent, scale, tolerance).formed
