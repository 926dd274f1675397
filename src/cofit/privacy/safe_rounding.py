"""Rounding to the safe side, for the bounds of privacy: from mpmath to fractions, and to few significant bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath

from cofit.arithmetic import reals

SIGMA_BITS = 30
ROOT_BITS = 40  # of square roots in bounds
EXACT_BITS = 96  # of numbers that are rounded only to keep fractions short


def number(fraction: Fraction, context: mpmath.MPContext) -> mpmath.mpf:
    """Return the fraction with the precision of the context: within a factor of 1 +- 2^(2 - precision)."""
    return context.mpf(fraction.numerator) / fraction.denominator


def above(approximate: mpmath.mpf, slack_bits: int) -> Fraction:
    """Return a fraction above every number that this positive one approximates within a factor of 1 +- 2^-slack."""
    mantissa, exponent = (int(part) for part in approximate.man_exp)
    return mantissa * Fraction(2) ** exponent * (1 + Fraction(1, (1 << slack_bits) - 1))


def significant_up(exact: Fraction, bits: int) -> Fraction:
    """Return the smallest m 2^k with m of that many bits that is at least the positive number."""
    unit = Fraction(2) ** (reals.floor_log2(exact) - bits + 1)
    return math.ceil(exact / unit) * unit


def root_up(square: Fraction, bits: int) -> Fraction:
    """Return the smallest m 2^k with m of that many bits whose square is at least the positive number."""
    unit = Fraction(2) ** (reals.floor_log2(square) // 2 - bits + 1)
    return unit * (math.isqrt(math.ceil(square / (unit * unit)) - 1) + 1)


def largest(holds: Callable[[Fraction], bool], bits: int) -> Fraction:
    """Return the largest positive number for which ``holds``, rounded down to so many significant bits.

    There must be one: what holds for a number holds for all below it.
    """
    found = Fraction(1)
    while not holds(found):
        found /= 2
    while holds(2 * found):
        found *= 2
    step = found
    for _ in range(bits - 1):
        step /= 2
        if holds(found + step):
            found += step
    return found
