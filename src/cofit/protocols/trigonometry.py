"""pi_SIN and pi_COS: sine and cosine of a secret angle.

t = x / (2 pi) is the angle in turns. The two bits of t below the point name the quadrant, the rest s in [0, 1/4) an
angle within it; sin(2 pi s) and cos(2 pi s) are polynomials in y = 8 s - 1, and the quadrant swaps them and sets
the signs.

Domain: |x| <= 8, checked against the public bound (reduce larger angles in public). ``sine_cosine_of_turns`` takes t.
Error: at most ``sine_cosine_error(format)``, below 3 units in the last place.
Rounds with ``rep3``: turns 2, bits 2 + ceil(log2(k-1)), ring elements 2, polynomials 2 ceil(log2 D) + 2, quadrant 2.
Both functions together cost little more than one.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np

from cofit.arithmetic import FixedPoint
from cofit.errors import RangeError
from cofit.protocols.chebyshev import REALS, Approximation, approximate, evaluate_all
from cofit.protocols.exponential import times_constant
from cofit.protocols.working import check_format, tighten, working_bits
from cofit.secret import SecretArray, bits_to_array, concatenate

LARGEST_ANGLE = 8
_EXTRA_BITS = 3  # of t beyond W, so that 8 s has W fractional bits


@cache
def _sine(bits: int) -> Approximation:
    """sin(pi/4 (y + 1)): entire; in the ellipse of rho = 20, |Im y| < 9.98, so |sin| < cosh(7.84) < 1300."""
    return approximate(lambda y: REALS.sin(REALS.pi / 4 * (y + 1)), 20, 1300, Fraction(1, 1 << (bits + 3)), bits)


@cache
def _cosine(bits: int) -> Approximation:
    """cos(pi/4 (y + 1)), bounded like the sine."""
    return approximate(lambda y: REALS.cos(REALS.pi / 4 * (y + 1)), 20, 1300, Fraction(1, 1 << (bits + 3)), bits)


def sine(x: SecretArray) -> SecretArray:
    """Return sin(x), for |x| <= 8, in the format of x."""
    return sine_cosine(x)[0]


def cosine(x: SecretArray) -> SecretArray:
    """Return cos(x), for |x| <= 8, in the format of x."""
    return sine_cosine(x)[1]


def sine_cosine(x: SecretArray) -> tuple[SecretArray, SecretArray]:
    """Return sin(x) and cos(x), for |x| <= 8, in the format of x."""
    check_format(x, "sine_cosine")
    if x.bound > LARGEST_ANGLE:
        raise RangeError(
            f"sine and cosine take angles of magnitude up to {LARGEST_ANGLE}; the public bound of this one is "
            f"{x.bound:g}. Give a tighter bound (with_bound), or subtract a public multiple of 2 pi."
        )
    bits = working_bits(x.format.ring)
    turns = times_constant(x, lambda: 1 / (2 * REALS.pi), bits + _EXTRA_BITS, x.format.fraction_bits + 4)
    return sine_cosine_of_turns(turns, x.format.fraction_bits)


def sine_cosine_of_turns(t: SecretArray, fraction_bits: int) -> tuple[SecretArray, SecretArray]:
    """Return sin(2 pi t) and cos(2 pi t) with ``fraction_bits`` fractional bits, for t with W + 3 fractional bits."""
    ring, point = t.format.ring, t.format.fraction_bits
    sign_row = max(t.integer_limit.bit_length(), point)
    digits = bits_to_array(t.bits(sign_row + 1)[point - 2 :], ring)
    weights = [1 << (point - 2 + i) for i in range(len(digits))]
    weights[-1] = -weights[-1]  # two's complement
    whole = digits.reshape(len(digits), -1).weighted_by(np.array(weights, dtype=object)).reshape(t.shape)
    return sine_cosine_in_quadrant(t - whole.ldexp(-point), digits[0], digits[1], fraction_bits)


def sine_cosine_in_quadrant(
    s: SecretArray, quarter: SecretArray, half: SecretArray, fraction_bits: int
) -> tuple[SecretArray, SecretArray]:
    """Return sin and cos of 2 pi (s + quarter / 4 + half / 2), for s in [0, 1/4) with W + 3 fractional bits.

    ``quarter`` and ``half`` are secret integers 0 or 1. This is the part for who knows the bits of the angle already.
    """
    shape, size, bits = s.shape, s.size, working_bits(s.format.ring)
    within = tighten(s, Fraction(1, 4))
    s, c = evaluate_all([_sine(bits), _cosine(bits)], within.ldexp(3) - 1, fraction_bits)
    swapped = quarter * (c - s)  # 0, or c - s in odd quadrants
    both_negative = quarter * half
    sine_sign, cosine_sign = 1 - half * 2, 1 - (quarter + half - both_negative * 2) * 2
    signs = concatenate([sine_sign.reshape(1, size), cosine_sign.reshape(1, size)])
    values = concatenate([(s + swapped).reshape(1, size), (c - swapped).reshape(1, size)])
    signed = tighten(signs * values, 1 + Fraction(1, 1 << 12))
    return signed[0].reshape(shape), signed[1].reshape(shape)


def sine_cosine_error(format: FixedPoint) -> Fraction:
    """Return a bound of the error of both: t is off by less than 2 units of W + 3 bits, y by 2 of W; slope < 0.8.

    For ``sine_cosine_in_quadrant`` this allows for an s that is off by as much.
    """
    bits = working_bits(format.ring)
    argument = Fraction(16, 10) / (1 << bits)
    return max(_sine(bits).error(format.fraction_bits), _cosine(bits).error(format.fraction_bits)) + argument
