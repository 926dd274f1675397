"""The working format: how many fractional bits a function uses inside.

In a ring whose values have v bits without the sign (``IntegerRing.value_bits``), two values of magnitude at most 1 with
W = floor(v/2) - 1 fractional bits have a product of at most 2^(v-2), and a sum of such products below 4 still fits 2^v.
W is 30 in Z_2^64, 62 in Z_2^128 and 28 in F_(2^61-1): two bits more than any result format (28, 60 and 26), so errors
of some units in the last working place vanish in the result.
"""

from __future__ import annotations

from fractions import Fraction

from cofit.arithmetic import IntegerRing
from cofit.errors import InvalidInputError
from cofit.secret import SecretArray

GUARD_BITS = 2


def working_bits(ring: IntegerRing) -> int:
    """Return W."""
    return ring.value_bits // 2 - 1


def check_format(x: SecretArray, function: str) -> None:
    """Refuse a value with more fractional bits than a function can return accurately."""
    most = working_bits(x.format.ring) - GUARD_BITS
    if x.format.fraction_bits > most:
        raise InvalidInputError(
            f"{function} works with at most {most} fractional bits in {x.format.ring.name}; got {x.format}. "
            f"Truncate the value first or use a larger ring."
        )


def tighten(x: SecretArray, bound: Fraction) -> SecretArray:
    """Return x with the proven bound, or with the one it has if that is tighter."""
    return x.with_integer_limit(min(x.integer_limit, x.format.limit(bound)))
