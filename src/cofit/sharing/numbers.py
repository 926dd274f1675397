"""From shared binary digits to ring elements: the numbers are added to a mask as bits, and unmasked in the ring.

Let T be the sum of the numbers, T < 2^(K-1), and r uniform on 0 .. 2^K - 1, with its digits shared as bits, and r and
its top digit shared in the ring. c = T + r modulo 2^K, computed from bits, is uniform whatever T is, so it may be shown
to those who do not know r; ``masked_opening.py`` says how T follows, exactly in any ring of more than K bits. Compare
the conversion of single digits, one ring element or more for each (``from_bits``). Sources: the sum in the Boolean
world as in Mohassel and Rindal, "ABY3", CCS 2018, section 5.3; the corrected wrap as in truncation (``rep3/proof.md``).

Cost: that of the carry-save and of the last addition of K digits (``added``), words to open K digits, and a few ring
elements (``Costs.unmasked``).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from cofit.arithmetic import IntegerRing, RingArray
from cofit.arithmetic.bits import from_planes
from cofit.errors import InvalidInputError
from cofit.sharing.adder import add_from_signals
from cofit.sharing.boolean import Boolean
from cofit.sharing.packed_bits import common_count
from cofit.sharing.scheme import Scheme
from cofit.sharing.shares import BitShare, PlacedBits, Share

_Rows = dict[int, int]
"""The digits of a number: for every place where it has one, the row that holds it."""


class FromNumbers(Scheme):
    """A scheme that makes ring elements of numbers: it says who knows the mask, and who sees the masked sum."""

    def from_numbers(self, numbers: Sequence[PlacedBits], ring: IntegerRing) -> Share:
        """Rounds: those of ``added``, and of opening and unmasking."""
        count = common_count(*(bits for _, bits in numbers))
        width = mask_width(numbers)
        if width >= ring.bits:
            raise InvalidInputError(f"Numbers of {width - 1} digits are too large for {ring.name}.")
        with self.label("from_numbers"):
            masks, kept = self._number_masks(width, count, ring)
            total = added(self.boolean, [*numbers, *(PlacedBits(0, mask) for mask in masks)], width)
            return self._unmasked(total, kept, ring)

    @abstractmethod
    def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], Any]:
        """Return uniform shared digits, ``width`` for each of ``count`` numbers, and what we keep of them.

        ring: where they will be taken off again.

        One mask is enough where one party, or nobody, knows it; where several know one each, their sum is the mask.
        """

    @abstractmethod
    def _unmasked(self, masked: BitShare, kept: Any, ring: IntegerRing) -> Share:
        """Open masked numbers to those who do not know the mask; return the numbers without it, shape (count,)."""


def mask_width(numbers: Sequence[PlacedBits]) -> int:
    """Return K: one more than the digits of the largest possible sum."""
    return sum(((1 << bits.rows) - 1) << place for place, bits in numbers).bit_length() + 1


def plain_numbers(ring: IntegerRing, planes: RingArray, count: int) -> tuple[RingArray, RingArray]:
    """Return plain numbers, given by their digits, and their top digits, as ring elements."""
    return from_planes(ring, planes, count), from_planes(ring, planes[-1:], count)


# --- addition --------------------------------------------------------------------------------------------


def added(boolean: Boolean, numbers: Sequence[PlacedBits], width: int) -> BitShare:
    """Return the lowest ``width`` digits of the sum of all numbers, of which one has a digit in each of them.

    Three numbers become two of the same sum (``carry_save.py``), in a round, until two are left; where a place has two
    digits instead of three, a half adder does, and none where nothing is carried into it. Numbers that do not overlap
    count as one.
    """
    pool = boolean.stack_rows([bits for _, bits in numbers])
    lines = _lines(numbers)
    while len(lines) > 2:
        pool, lines = _carry_save(boolean, pool, lines, width)
    first, second = [*lines, {}][:2]
    both = [place for place in range(width) if place in first and place in second]
    alone = {place: first.get(place, second.get(place, 0)) for place in range(width)}
    ones = boolean.select_rows(pool, [first[place] for place in both])
    others = boolean.select_rows(pool, [second[place] for place in both])
    none = boolean.xor(boolean.select_rows(pool, slice(0, 1)), boolean.select_rows(pool, slice(0, 1)))
    products = boolean.stack_rows([boolean.and_(ones, others), none])
    at = {place: row for row, place in enumerate(both)}
    generate = boolean.select_rows(products, [at.get(place, len(both)) for place in range(width)])
    mixed = boolean.stack_rows([pool, boolean.xor(ones, others)])
    rows = [pool.rows + at[place] if place in at else alone[place] for place in range(width)]
    return add_from_signals(boolean, generate, boolean.select_rows(mixed, rows))


def _lines(numbers: Sequence[PlacedBits]) -> list[_Rows]:
    """Return where every digit is, with numbers that do not overlap in one line."""
    lines: list[_Rows] = []
    start = 0
    for place, bits in numbers:
        digits = {place + j: start + j for j in range(bits.rows)}
        free = next((line for line in lines if line.keys().isdisjoint(digits)), None)
        if free is None:
            lines.append(digits)
        else:
            free |= digits
        start += bits.rows
    return lines


def _carry_save(boolean: Boolean, pool: BitShare, lines: list[_Rows], width: int) -> tuple[BitShare, list[_Rows]]:
    """Turn every three lines into two. 1 round."""
    full: list[tuple[int, int, int]] = []
    half: list[tuple[int, int]] = []
    made: list[tuple[dict[int, tuple[str, int]], dict[int, tuple[str, int]]]] = []
    triples = [lines[i : i + 3] for i in range(0, len(lines) - 2, 3)]
    for triple in triples:
        sums: dict[int, tuple[str, int]] = {}
        carries: dict[int, tuple[str, int]] = {}
        for place in range(width):
            digits = [line[place] for line in triple if place in line]
            if len(digits) == 3:
                sums[place], carries[place + 1] = ("full", len(full)), ("full", len(full))
                full.append((digits[0], digits[1], digits[2]))
            elif len(digits) == 2 and place in carries:
                sums[place], carries[place + 1] = ("half", len(half)), ("half", len(half))
                half.append((digits[0], digits[1]))
            else:
                targets = (sums, carries)
                for target, row in zip(targets, digits, strict=False):
                    target[place] = ("as it is", row)
        made.append((sums, carries))
    x, y, z = (boolean.select_rows(pool, [digits[i] for digits in full]) for i in range(3))
    u, v = (boolean.select_rows(pool, [digits[i] for digits in half]) for i in range(2))
    product = boolean.and_(
        boolean.stack_rows([boolean.xor(x, z), u]),
        boolean.stack_rows([boolean.xor(y, z), v]),
    )
    carried = boolean.xor(boolean.select_rows(product, slice(0, len(full))), z)
    of_half = boolean.select_rows(product, slice(len(full), len(full) + len(half)))
    grown = boolean.stack_rows([pool, boolean.xor(boolean.xor(x, y), z), boolean.xor(u, v), carried, of_half])
    sums_at = {"as it is": 0, "full": pool.rows, "half": pool.rows + len(full)}
    carries_at = {kind: at + len(full) + len(half) if at else 0 for kind, at in sums_at.items()}
    reduced: list[_Rows] = []
    for sums, carries in made:
        reduced.append({place: sums_at[kind] + row for place, (kind, row) in sums.items()})
        reduced.append({p: carries_at[kind] + row for p, (kind, row) in carries.items() if p < width})
    return grown, reduced + lines[3 * len(triples) :]
