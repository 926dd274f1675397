"""Draws that are sums of independent table draws: X = offset + sum_i 2^place_i v_i.

All tables have 2^J slots. For every table: J random bits are the slot; the products of the lower and of the upper half
of them pick the slot's numbers t and (slot XOR alias) by one public bilinear form (``tables.py``); a coin of the secret
bias t (``first_one.py``) decides; v = slot XOR (slot XOR alias) (1 - coin). Then the numbers of all tables of a draw
are added as bits and become one ring element (``sharing/numbers.py``); few draws convert every bit by itself instead,
which takes more bytes and fewer rounds.

Who learns what: nobody anything. Exact but for the distances of the tables.
Cost with ``rep3`` at B = 64, for all laws that have J and the places in common: 8 rounds, and a table of J = 12 takes
305 ANDs of 3 bits, of which 114 are products of the slot's bits, 76 its numbers, 103 the coin, 12 the move; J = 9 takes
222. Then 2 rounds and 3 elements a bit for few draws; for many, 9 rounds for 27 digits, 4 elements and about 140 ANDs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cofit.arithmetic import IntegerRing
from cofit.arithmetic.bits import packed_length
from cofit.sampling.first_one import FirstOnes
from cofit.sampling.tables import Table, halves
from cofit.sampling.weigh import weighted_sum
from cofit.secret import Party, SecretArray, SecretBits
from cofit.secret.circuits import Circuit, Product, beside, run
from cofit.secret.conversions import numbers_to_array
from cofit.sharing.bit_forms import Each, Lookup, Outer, Spread

_WORD = 64
_FEW_BITS = 1 << 17
"""Up to so many bits in all, each is converted by itself: with ``rep3`` 3 MB for 7 rounds."""


@dataclass(frozen=True)
class TableSum:
    """A law: the tables, with their places, and the offset. ``widths``: of each number the lowest bits that count (of
    the others it is known that they are 0, or they are meant to be left out). ``largest``: no draw is larger in
    magnitude.
    """

    tables: tuple[Table, ...]
    places: tuple[int, ...]
    widths: tuple[int, ...]
    offset: int
    largest: int

    @property
    def shape(self) -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
        """What laws must have in common to be drawn by one circuit: B, J, places and widths."""
        return self.tables[0].precision, self.tables[0].index_bits, self.places, self.widths

    @property
    def digits(self) -> int:
        """How many binary digits the sum of the numbers has at most."""
        return sum(((1 << n) - 1) << place for place, n in zip(self.places, self.widths, strict=True)).bit_length()


def draw_sums(party: Party, laws: Sequence[tuple[TableSum, int]], ring: IntegerRing) -> list[SecretArray]:
    """Return, for every law, so many independent draws. All laws have one shape."""
    first, _ = laws[0]
    precision, index_bits, places, widths = first.shape
    words = [packed_length(count) for _, count in laws]
    shape = (len(places), _WORD * sum(words))  # all draws of the first table, then of the second, and so on
    matrices = [
        (size, law.tables[i].matrix) for i in range(len(places)) for (law, _), size in zip(laws, words, strict=True)
    ]
    lookup = Lookup(1 << halves(index_bits)[1], matrices)
    slots = party.random_secret_bits(shape, index_bits)
    ones = FirstOnes(party.random_secret_bits(shape, precision), 1)
    _, values = run(beside(ones.circuit(), _values(slots, ones, lookup, precision)))
    digits = values.folded()  # row j T + i: bit j of table i
    count = len(places)
    rows = [list(range(i, widths[i] * count, count)) for i in range(count)]
    if sum(widths) * digits.shape[0] <= _FEW_BITS:
        weights = [1 << (place + j) for place, width in zip(places, widths, strict=True) for j in range(width)]
        total = weighted_sum(digits[[row for some in rows for row in some]], weights, ring)
    else:
        total = numbers_to_array([(place, digits[some]) for place, some in zip(places, rows, strict=True)], ring)
    drawn, start = [], 0
    for (law, size), width in zip(laws, words, strict=True):
        drawn.append(total[start : start + size].moved(law.offset, law.largest))
        start += _WORD * width
    return drawn


def _values(slots: SecretBits, ones: FirstOnes, lookup: Lookup, precision: int) -> Circuit[SecretBits]:
    """Return what is drawn from the tables: a number of as many bits as the slot has."""
    lower, _ = halves(slots.width)
    low, high = yield from beside(_subset_products(slots[:lower]), _subset_products(slots[lower:]))
    (entries,) = yield [Product(low, high, lookup)]
    coin = yield from ones.secret(entries[:precision])
    (moved,) = yield [Product(~coin, entries[precision:], Spread(slots.width))]
    return slots ^ moved


def _subset_products(bits: SecretBits) -> Circuit[SecretBits]:
    """Return the products of all subsets of the bits: row s is that of the set bits of s.

    Up to three bits by hand; more as products of those of two halves. ceil(log2 n) rounds, 2^n - n - 1 ANDs.
    """
    one, n = bits.ones(), bits.width
    if n == 1:
        return one.join(bits)
    if n <= 3:
        pairs = [(0, 1)] if n == 2 else [(0, 1), (0, 2), (1, 2)]
        (of_two,) = yield [Product(bits[[i for i, _ in pairs]], bits[[j for _, j in pairs]], Each())]
        if n == 2:
            return one.join(bits, of_two)
        (of_three,) = yield [Product(of_two[0], bits[2], Each())]
        return one.join(bits[:2], of_two[0], bits[2], of_two[1:], of_three)
    half = n - n // 2
    low, high = yield from beside(_subset_products(bits[:half]), _subset_products(bits[half:]))
    (crossed,) = yield [Product(high[1:], low[1:], Outer())]
    # row (s, r): the product of subset s of the upper and r of the lower bits; where one is empty, it is there already
    joined = low.join(high[1:], crossed)
    lows, highs = 1 << half, 1 << (n - half)
    rows = list(range(lows))
    for s in range(1, highs):
        rows.append(lows + s - 1)
        rows += [lows + highs - 1 + (s - 1) * (lows - 1) + r for r in range(lows - 1)]
    products: SecretBits = joined[rows]
    return products
