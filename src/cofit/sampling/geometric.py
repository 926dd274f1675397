"""Geometric variables: P(G >= g) = exp(-g / t) for g = 0, 1, 2, ...

The binary digits of G are independent coins: P(digit 2^j set) = 1 / (1 + exp(2^j / t)). The digits j = 0 .. J-1 give
G mod 2^J exactly; J is the smallest number with P(G >= 2^J) = exp(-2^J / t) <= 2^-(B+16).

Domain: t > 0 rational, with J <= k - 3 in a ring of k bits.
Distance: total variation at most J 2^-B + 2^-(B+16) a draw (``tv_distance``). Who learns what: nobody anything.
Cost with ``rep3``: ceil(log2 B) + 2 rounds; 3 J (2 B - 3) bits and 3 J elements a draw.

Argument: ``geometric_proof.md``. The exponential distribution on a grid and the discrete Laplace are made of these.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import mpmath

from cofit.arithmetic import Z64, PowerOfTwoRing, Shape
from cofit.errors import RangeError, parameter_error
from cofit.sampling.coin import coins
from cofit.sampling.parameters import (
    PRECISION,
    TAIL_GUARD_BITS,
    check_count,
    check_positive,
    check_precision,
    constants,
)
from cofit.sampling.weigh import binary_number
from cofit.secret import Party, SecretArray

_LN2_ABOVE = Fraction(6931471806, 10**10)  # ln 2 = 0.69314718055994...


def geometric(
    party: Party, shape: Shape, t: Fraction | int, ring: PowerOfTwoRing = Z64, *, precision: int = PRECISION
) -> SecretArray:
    """Return independent geometric integers with P(G >= g) = exp(-g / t)."""
    t = check_positive(t, "t", "geometric")
    precision = check_precision(precision, "geometric")
    digits = digit_count(t, precision)
    if digits > ring.bits - 3:
        must_be = f"small enough for {ring.bits - 3} binary digits in {ring.name} (this one needs {digits})"
        raise parameter_error("t", "geometric", must_be, str(t), RangeError)
    with party.label("geometric"):
        return binary_number(coins(party, digit_probabilities(t, precision), shape, precision=precision), ring)


@cache
def digit_count(t: Fraction, precision: int = PRECISION) -> int:
    """Return J, at least 1: the smallest number of digits with exp(-2^J / t) <= 2^-(B+16)."""
    needed = t * (precision + TAIL_GUARD_BITS) * _LN2_ABOVE
    return max((-(-needed.numerator // needed.denominator) - 1).bit_length(), 1)


@cache
def digit_probabilities(t: Fraction, precision: int = PRECISION) -> tuple[mpmath.mpf, ...]:
    """Return P(digit 2^j set) for j = 0 .. J-1, off by less than 2^-(B+32)."""
    context = constants(precision)
    scale = context.mpf(t.numerator) / t.denominator
    return tuple(1 / (1 + context.exp(context.ldexp(1, j) / scale)) for j in range(digit_count(t, precision)))


def tv_distance(t: Fraction | int, count: int = 1, *, precision: int = PRECISION) -> Fraction:
    """Return a bound of the total-variation distance of ``count`` draws from independent ideal ones."""
    t = check_positive(t, "t", "tv_distance")
    precision = check_precision(precision, "tv_distance")
    count = check_count(count, "count", "tv_distance")
    one = Fraction(digit_count(t, precision), 1 << precision) + Fraction(1, 1 << (precision + TAIL_GUARD_BITS))
    return count * one
