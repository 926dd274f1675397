"""Bring a positive secret into a fixed interval: x = m 4^e or m 2^e with m near 1, and e known only as shares.

The bits of x, their prefix OR from the top, and its differences give a one-hot row for the top bit (SecureML-style
normalisation; Aliasgari, Blanton, Zhang, Steele, "Secure computation on floating point numbers", NDSS 2013, section 4).
Any public function of the position is then a sum of the one-hot bits times public numbers, and one product scales x
exactly.

Rounds with ``rep3``: bits 2 + ceil(log2(m-1)), prefix ceil(log2 B), ring elements 2, scaling 2, where m is the number
of bits that the public bound of x admits, and at B of them a top bit may be: give tight bounds, from below too.

Domain: x > 0. For x = 0 all one-hot bits are 0 and the mantissa is 0, which is outside the interval: callers must prove
x > 0, or accept a meaningless (but well-formed) result. For x < 0 the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias

from cofit.arithmetic import FixedPoint, IntegerRing
from cofit.protocols.working import working_bits
from cofit.secret import SecretArray, SecretBits
from cofit.secret.conversions import looked_up


class OfPosition(Protocol):
    """A public integer for every position of the top bit."""

    def __call__(self, position: int) -> int:
        """Return the integer for a value in [2^position, 2^(position + 1))."""


Table: TypeAlias = tuple[OfPosition, FixedPoint]
"""A public function of the position, and the format of its integers."""


@dataclass(frozen=True)
class TopBit:
    """Where the top bit of every element is: bit i - lowest of ``one_hot`` is 1 for the elements in [2^i, 2^(i+1))."""

    one_hot: SecretBits
    ring: IntegerRing
    lowest: int = 0

    def lookup(self, *tables: Table) -> list[SecretArray]:
        """Return, for each table, table(i) 2^-f for every element, in its format with f fractional bits. Exact."""
        positions = range(self.lowest, self.lowest + self.one_hot.width)
        found = looked_up(self.one_hot, [[table(i) for i in positions] for table, _ in tables], self.ring)
        return [value.ldexp(-format.fraction_bits) for value, (_, format) in zip(found, tables, strict=True)]


def top_bit(x: SecretArray, least: int = 1) -> TopBit:
    """Find the top bit of positive elements; ``least``: no encoded integer is smaller, which the caller has proved."""
    width = max(x.integer_limit.bit_length(), least.bit_length())
    lowest = least.bit_length() - 1
    reached = prefix_or(x.bits(width)[lowest:])  # bit i: there is a 1 at i or above
    one_hot = reached
    if reached.width > 1:
        one_hot = (reached[: reached.width - 1] ^ reached[1:]).join(reached[reached.width - 1])
    return TopBit(one_hot, x.format.ring, lowest)


def prefix_or(bits: SecretBits) -> SecretBits:
    """Return, for every position, the OR of it and all higher ones; ceil(log2 width) rounds of ANDs (Sklansky)."""
    clear = ~bits  # OR of the bits is NOT of the AND of their complements
    width = bits.width
    level = 1
    while level < width:
        # Positions counted from the top; those whose bit ``level`` is set take in the block above them.
        lower = [p for p in range(width) if p & level]
        above = [p // level * level - 1 for p in lower]
        rows = [width - 1 - p for p in lower]
        joined = clear[rows] & clear[[width - 1 - p for p in above]]
        order = list(range(width))
        for place, row in enumerate(rows):
            order[row] = width + place
        clear = clear.join(joined)[order]
        level *= 2
    return ~clear


def mantissa_table(ring: IntegerRing) -> Table:
    """Return the table of what ``mantissa_argument`` multiplies by: for x in [2^i, 2^(i+1)), what shifts it up to just
    below what the ring holds."""
    return lambda position: 1 << (ring.value_bits - position - 1), FixedPoint(0, ring)


def mantissa_argument(x: SecretArray, factor: SecretArray) -> SecretArray:
    """Return y = 4 m - 3 in [-1, 1), where m = x / 2^(i+1) in [1/2, 1), off by less than one working unit.

    factor: of ``mantissa_table``. The product with it is exact, so nothing but its truncation is lost.
    """
    ring = x.format.ring
    fractions = x.ldexp(x.format.fraction_bits - ring.value_bits)
    below_one = Fraction((1 << ring.value_bits) - 1, 1 << ring.value_bits)
    mantissa = fractions.multiply(factor, working_bits(ring) + 2, proven_bound=below_one).with_bound(1)
    return mantissa.ldexp(2) - 3
