"""Comparisons of secrets. Results are secret integers 0 and 1, without fractional bits; nobody learns any of them.

Exact for every value that keeps to its public bound. Source: the sign bit of a difference is a carry bit; the scheme
computes it with a linear number of ANDs (Catrina and de Hoogh, "Improved primitives for secure multiparty integer
computation", SCN 2010, give the general idea; the tree is in ``sharing/adder.py``).

A comparison costs what the bound of the difference needs: shares reduced modulo 2^m are shares of the value modulo 2^m,
so where |x| < 2^(m-1) the sign is bit m-1, and m bits are added, not those of the ring. What is computed from owners'
rows before the verdict of their check has been multiplied in has no such bound, whatever its ``bound`` says: compare it
with ``unbounded=True``, which is exact for every integer of the ring (list: ``learn/checked_rows.py``).

Cost with ``rep3``: sign, 2 + ceil(log2(m-1)) rounds (8 for all of Z_2^64, 9 for Z_2^128), 3 m bits and 2 (m-2) ANDs,
plus 2 rounds to make it a ring element. Equality: all m bits, then an AND tree of log2(m) rounds, plus 2.
"""

from __future__ import annotations

from cofit.secret import SecretArray, SecretBits, bits_to_array
from cofit.secret.array import Operand


def is_negative(x: SecretArray, *, unbounded: bool = False) -> SecretArray:
    """Return 1 where x < 0, else 0. ``unbounded``: for values without a proven bound, at the cost of the whole ring."""
    bits = x.sign_bits() if unbounded else x.bounded_sign_bits()
    return bits_to_array(bits, x.format.ring)[0]


def less(x: SecretArray, y: Operand, *, unbounded: bool = False) -> SecretArray:
    """Return 1 where x < y, else 0. The difference must fit the format, which the bounds ensure."""
    return is_negative(x - y, unbounded=unbounded)


def equal(x: SecretArray, y: Operand) -> SecretArray:
    """Return 1 where x == y, else 0."""
    difference = x - y
    bits = difference.bits(max(difference.integer_limit.bit_length(), 1))
    return bits_to_array(all_ones(~bits), x.format.ring)[0]


def all_ones(bits: SecretBits) -> SecretBits:
    """Return the AND of all bits of every element, as one bit; ceil(log2(width)) rounds of ANDs."""
    while bits.width > 1:
        half = bits.width // 2
        joined = bits[:half] & bits[half : 2 * half]
        bits = joined if bits.width == 2 * half else joined.join(bits[2 * half :])
    return bits
