"""Bring secrets into a public interval."""

from __future__ import annotations

from fractions import Fraction

from cofit.errors import parameter_error
from cofit.protocols.comparison import is_negative
from cofit.secret import SecretArray, concatenate


def clamp(x: SecretArray, low: Fraction, high: Fraction) -> SecretArray:
    """Return x where low <= x <= high, else the nearer end; exact. Both ends are multiples of the last place of x.

    With the bits a = [x < low] and b = [x < high], where a <= b: (b - a) x + a low + (1 - b) high. Nobody learns them.
    Cost: one comparison of twice as many elements, and one product without truncation.
    """
    bits, unit = x.format.fraction_bits, 1 << x.format.fraction_bits
    ends = [low * unit, high * unit]
    if any(end.denominator != 1 for end in ends) or not low < high:
        must_be = f"low < high, both multiples of 2^-{bits}, the last place of x"
        raise parameter_error("low, high", "clamp", must_be, (low, high))
    below = is_negative(concatenate([(x - low).reshape(1, -1), (x - high).reshape(1, -1)]))
    under, inside = below[0].reshape(x.shape), below[1].reshape(x.shape)
    largest = max(abs(int(end)) for end in ends)
    kept = (inside - under).with_integer_limit(1) * x
    moved = under * int(ends[0]) + (1 - inside) * int(ends[1])
    total = kept + moved.ldexp(-bits)
    return total.with_integer_limit(min(total.integer_limit, largest))
