"""Comparisons of secrets. Results are secret integers 0 and 1, without fractional bits; nobody learns any of them.

Exact for every value that fits its format. Source: the sign bit of a difference is a carry bit; the scheme computes it
with a linear number of ANDs (Catrina and de Hoogh, "Improved primitives for secure multiparty integer computation",
SCN 2010, give the general idea; the tree is in ``sharing/adder.py``).

Cost with ``rep3``: sign, 2 + ceil(log2(k-1)) rounds (8 in Z_2^64, 9 in Z_2^128), plus 2 to make it a ring element.
Equality: all bits, 2 + ceil(log2(k-1)) rounds, then an AND tree of log2(k) rounds, plus 2.
"""

from __future__ import annotations

from cofit.secret import SecretArray, SecretBits, bits_to_array
from cofit.secret.array import Operand


def is_negative(x: SecretArray) -> SecretArray:
    """Return 1 where x < 0, else 0."""
    return bits_to_array(x.sign_bits(), x.format.ring)[0]


def less(x: SecretArray, y: Operand) -> SecretArray:
    """Return 1 where x < y, else 0. The difference must fit the format, which the bounds ensure."""
    return is_negative(x - y)


def equal(x: SecretArray, y: Operand) -> SecretArray:
    """Return 1 where x == y, else 0."""
    return bits_to_array(all_ones(~(x - y).bits()), x.format.ring)[0]


def all_ones(bits: SecretBits) -> SecretBits:
    """Return the AND of all bits of every element, as one bit; ceil(log2(width)) rounds of ANDs."""
    while bits.width > 1:
        half = bits.width // 2
        joined = bits[:half] & bits[half : 2 * half]
        bits = joined if bits.width == 2 * half else joined.join(bits[2 * half :])
    return bits
