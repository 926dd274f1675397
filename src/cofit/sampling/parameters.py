"""What all samplers ask of their public parameters, and the precision they share.

``precision`` is B: every public probability is rounded to a multiple of 2^-B, and every tail that is cut off has
probability at most 2^-(B + TAIL_GUARD_BITS).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TypeGuard

import mpmath
import numpy as np

from cofit.arithmetic import Shape
from cofit.errors import parameter_error

PRECISION = 64
LARGEST_PRECISION = 256
TAIL_GUARD_BITS = 16
CONSTANT_GUARD_BITS = 64


def check_shape(shape: object, sampler: str) -> Shape:
    """Return the shape, or raise InvalidInputError unless it is a tuple of positive integers; () is a single draw."""
    if not isinstance(shape, tuple) or not all(_is_integer(n) and n > 0 for n in shape):
        raise parameter_error("shape", sampler, "a tuple of positive integers", shape)
    return tuple(int(n) for n in shape)


def check_precision(precision: object, sampler: str) -> int:
    """Return the precision, or raise InvalidInputError unless it is an integer from 1 to 256."""
    if not _is_integer(precision) or not 1 <= precision <= LARGEST_PRECISION:
        raise parameter_error("precision", sampler, f"an integer from 1 to {LARGEST_PRECISION}", precision)
    return int(precision)


def check_count(count: object, parameter: str, sampler: str) -> int:
    """Return a positive integer, or raise InvalidInputError."""
    if not _is_integer(count) or count < 1:
        raise parameter_error(parameter, sampler, "a positive integer", count)
    return int(count)


def check_positive(value: object, parameter: str, sampler: str) -> Fraction:
    """Return a positive rational number exactly, or raise InvalidInputError. Floats are refused: they look exact."""
    if _is_integer(value):
        value = Fraction(int(value))
    if not isinstance(value, Fraction) or value <= 0:
        raise parameter_error(parameter, sampler, "a positive Fraction or integer", value)
    return value


@cache
def constants(precision: int) -> mpmath.MPContext:
    """Return an mpmath context of its own with ``precision`` and 64 guard bits.

    The contexts are never changed, so that parties in threads do not disturb one another. mpmath.workprec would change
    them, and so would the functions that mpmath computes with a higher precision set for a while: ncdf, log1p, expm1.
    """
    context = mpmath.MPContext()
    context.prec = precision + CONSTANT_GUARD_BITS
    return context


def nearest(number: Fraction | int | mpmath.mpf, bits: int) -> int:
    """Return the integer nearest to number * 2^bits, for a number that is not negative. Exact, however small it is."""
    if isinstance(number, int | Fraction):
        return round(number * (1 << bits))
    mantissa, exponent = (int(part) for part in number.man_exp)
    shift = exponent + bits
    if shift >= 0:
        return mantissa << shift
    return 0 if -shift > mantissa.bit_length() else ((mantissa >> (-shift - 1)) + 1) >> 1


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
