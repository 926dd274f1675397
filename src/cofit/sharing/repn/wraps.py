"""How often a sum of masks wraps, from the digits that the masks have somewhere and that the openers see there.

Every group A of G groups has a digit h_A of q bits; the openers know a digit v. The sum has wrapped

    w(v) = floor((sum_A h_A + 2^q - 1 - v) / 2^q)

times (``shamir/proof.md``, "Wraps", for G digits in place of t). Every group is one masker's (``Geometry.masker_of``),
who knows the sum N_j of the digits of its groups, and deals it in binary, as ring elements that are checked to be 0 or
1, and to make up N_j: N_j is a sum of values that groups know. So nothing rests on the masker but that it deals.

**One masker** (q = 2 and 1): N = h + 2^q k, w(v) = k + [h > v]. It deals h_0, h_1, h_0 h_1 and k; and
[h > v] is h_0 [v = 0] + h_1 [v <= 1] + h_0 h_1 ([v = 2] - [v = 0]), a product with what the openers know. For q = 1,
[h > v] = h_0 [v = 0].

**More**: N_j = h_j + 2^q k_j, and the carries of sum_j h_j + (2^q - 1 - v) are computed in bits, of which the lowest
bits of what was dealt are sharings; two bits of carries, which are at most t <= 3, become elements
(``masked_bits.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Ring, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import pack, packed_length
from cofit.sharing.group_streams import Group
from cofit.sharing.numbers import added
from cofit.sharing.packed_bits import PackedBits, words_of
from cofit.sharing.repn.masked_bits import MaskedBits
from cofit.sharing.shares import PlacedBits, Share
from cofit.sharing.steps import Protocol

Digits = npt.NDArray[np.uint8]
CARRY_BITS = 2
"""Rows of carries: at most three numbers and one more are added."""


class Family(NamedTuple):
    """Digits of ``width`` bits: those of the groups that we are in."""

    width: int
    digits: Mapping[Group, Digits]


class Prepared(NamedTuple):
    """What the maskers dealt: by masker and family the rows of its number; and bits that are masks, by masker."""

    numbers: dict[int, list[Share]]
    bits: list[Share]


class Wraps(MaskedBits):
    """One party, with its part in counting wraps."""

    def _prepared_wraps(self, ring: Ring, count: int, families: Sequence[Family]) -> Protocol[Prepared]:
        """Have the maskers deal their numbers. 1 round."""
        maskers = self.geometry.maskers
        if len(maskers) == 1:
            masker = maskers[0]
            own = None
            if self.rank == masker:
                own = np.concatenate([_alone(ring, self._total(family, masker), family.width) for family in families])
            rows = sum(_rows_alone(family.width) for family in families)
            dealt = (yield from self._given(ring, (rows, count), [masker], own))[masker]
            return Prepared({masker: self._noted_alone(ring, dealt, families)}, [])
        numbers: dict[int, list[Share]] = {}
        bits: list[Share] = []
        masks = CARRY_BITS * len(families)
        for masker, dealt in (yield from self._given_of_each(ring, count, families, masks)).items():
            self._note_binary(dealt)
            numbers[masker], start = [], masks
            for family in families:
                digits = self.select(dealt, slice(start, start + self._rows(family, masker)))
                start += digits.shape[0]
                self._note_total(ring, family, masker, self._weighted(ring, digits))
                numbers[masker].append(digits)
            bits.append(self.select(dealt, slice(0, masks)))
        return Prepared(numbers, bits)

    def _given_of_each(
        self, ring: Ring, count: int, families: Sequence[Family], masks: int
    ) -> Protocol[dict[int, Share]]:
        """Every masker deals random bits, then the binary digits of its numbers; all at once."""
        maskers = self.geometry.maskers
        rows = {m: masks + sum(self._rows(family, m) for family in families) for m in maskers}
        own = None
        if self.rank in maskers:
            made = [self._own_bits(masks, count).astype(np.int64)]
            made += [_binary(self._total(family, self.rank), self._rows(family, self.rank)) for family in families]
            own = ring.from_int(np.concatenate(made))
        most = max(rows.values())
        padded = None if own is None else np.concatenate([own, ring.zeros((most - len(own), count))])
        dealt = yield from self._given(ring, (most, count), maskers, padded)
        return {masker: self.select(share, slice(0, rows[masker])) for masker, share in dealt.items()}

    def _own_groups_of(self, masker: int) -> list[Group]:
        return [group for group in self.geometry.masking if self.geometry.masker_of(group) == masker]

    def _rows(self, family: Family, masker: int) -> int:
        """Return the binary digits of a masker's number."""
        return int((len(self._own_groups_of(masker)) * ((1 << family.width) - 1)).bit_length())

    def _total(self, family: Family, masker: int) -> npt.NDArray[np.int64]:
        digits = [family.digits[group].astype(np.int64) for group in self._own_groups_of(masker)]
        return np.asarray(np.sum(digits, axis=0))

    def _note_total(self, ring: Ring, family: Family, masker: int, dealt: Share) -> None:
        """Have it checked that what a masker dealt is the sum of its groups' digits."""
        known = [
            {group: ring.from_int(family.digits[group])}
            for group in self._own_groups_of(masker)
            if group in family.digits
        ]
        self.relations.note_zero(self.sub(dealt, self._of_groups(ring, dealt.shape, known)))

    def _weighted(self, ring: Ring, rows: Share) -> Share:
        """Return the numbers whose binary digits these rows are."""
        weights = ring.from_int(np.asarray([1 << i for i in range(rows.shape[0])]))
        return self.sum(self.mul_public(rows, weights[:, None]), 0)

    def _noted_alone(self, ring: Ring, dealt: Share, families: Sequence[Family]) -> list[Share]:
        masker, found, start = self.geometry.maskers[0], [], 0
        for family in families:
            rows = self.select(dealt, slice(start, start + _rows_alone(family.width)))
            start += rows.shape[0]
            digits = self.select(rows, slice(0, family.width + 1))  # h_0, h_1, ..., k
            self._note_binary(digits)
            if family.width == 2:
                self.relations.note("mul", self.select(rows, 0), self.select(rows, 1), self.select(rows, 3))
            self._note_total(ring, family, masker, self._weighted(ring, digits))
            found.append(rows)
        return found

    # --- with what the openers see -----------------------------------------------------------------------

    def _wraps(
        self,
        operation: str,
        ring: Ring,
        count: int,
        families: Sequence[Family],
        prepared: Prepared,
        seen: Sequence[Digits] | None,
        factors: Sequence[RingArray],
    ) -> Share:
        """Return the sum over the families of w(v) times a public factor; ``seen``: v, at the openers."""
        if len(self.geometry.maskers) == 1:
            return self._wraps_alone(operation, ring, families, prepared, seen, factors)
        carries = self._carries(operation, ring, count, families, prepared, seen)
        total = None
        for place, (family, factor) in enumerate(zip(families, factors, strict=True)):
            terms = [carries[place]]
            for rows in (numbers[place] for numbers in prepared.numbers.values()):
                if rows.shape[0] > family.width:
                    terms.append(self._weighted(ring, self.select(rows, slice(family.width, None))))
            for term in terms:
                scaled = self.mul_public(term, factor)
                total = scaled if total is None else self.add(total, scaled)
        if total is None:
            raise AssertionError("no digits")
        return total

    def _wraps_alone(
        self,
        operation: str,
        ring: Ring,
        families: Sequence[Family],
        prepared: Prepared,
        seen: Sequence[Digits] | None,
        factors: Sequence[RingArray],
    ) -> Share:
        """One product of what was dealt with what the openers know. 1 round."""
        (numbers,) = prepared.numbers.values()
        chosen, known, whole = [], [], None
        for i, (family, rows, factor) in enumerate(zip(families, numbers, factors, strict=True)):
            carry = self.mul_public(self.select(rows, family.width), factor)
            whole = carry if whole is None else self.add(whole, carry)
            chosen.append(self.select(rows, [0, 1, 3] if family.width == 2 else [0]))
            if seen is not None:
                known.append(ring.mul(ring.from_int(_choices(seen[i], family.width)), factor))
        values = self.concatenate(chosen, 0)
        product = self._run(operation, self._times_known(ring, np.concatenate(known) if known else None, values))
        if whole is None:
            raise AssertionError("no digits")
        return self.add(whole, product)

    def _carries(
        self,
        operation: str,
        ring: Ring,
        count: int,
        families: Sequence[Family],
        prepared: Prepared,
        seen: Sequence[Digits] | None,
    ) -> list[Share]:
        """Return, for each family, the carry out of the sum of the maskers' digits and 2^q - 1 - v, as elements.

        The families lie side by side, each in words of its own, with digits shifted to one width.
        """
        width, words = max(family.width for family in families), packed_length(count)
        columns = 64 * words * len(families)
        numbers = []
        for rows in prepared.numbers.values():
            planes = [
                _lifted(self._lowest(ring, self.select(part, slice(0, f.width))), width)
                for part, f in zip(rows, families, strict=True)
            ]
            numbers.append(PlacedBits(0, PackedBits(self.concatenate(planes, 1), columns)))
        complement = None
        if seen is not None:
            complement = np.concatenate(
                [_complement(v, f.width, width) for v, f in zip(seen, families, strict=True)], axis=1
            )
        rest = self._of_openers(BITS, (width + CARRY_BITS, words * len(families)), complement)
        total = added(self.boolean, [*numbers, PlacedBits(0, PackedBits(rest, columns))], width + CARRY_BITS)
        carried = self.select(words_of(total), slice(width, width + CARRY_BITS))
        places = [slice(i * words, (i + 1) * words) for i in range(len(families))]
        below = self.concatenate([self.select(carried, (slice(None), place)) for place in places], 0)
        bits = self._unmasked_bits(operation, ring, PackedBits(below, count), prepared.bits)
        found = []
        for i in range(len(families)):
            low, high = (self.select(bits, CARRY_BITS * i + j) for j in range(CARRY_BITS))
            found.append(self.add(low, self.add(high, high)))
        return found


def _rows_alone(width: int) -> int:
    """Return how many rows one masker deals for a number: its binary digits, and the product of two of them."""
    return {1: 2, 2: 4}[width]


def _alone(ring: Ring, total: npt.NDArray[np.int64], width: int) -> RingArray:
    """Return those rows: the digits of h, then k, then h_0 h_1."""
    rows = [*((total >> i) & 1 for i in range(width)), total >> width]
    return ring.from_int(np.stack([*rows, rows[0] * rows[1]] if width == 2 else rows))


def _choices(v: Digits, width: int) -> npt.NDArray[np.int64]:
    """Return what h_0, h_1 and h_0 h_1 are multiplied with; h_0 alone for one digit."""
    if width == 1:
        return np.asarray((v == 0).astype(np.int64)[None])
    none = (v == 0).astype(np.int64)
    return np.stack([none, (v <= 1).astype(np.int64), (v == 2).astype(np.int64) - none])


def _binary(total: npt.NDArray[np.int64], rows: int) -> npt.NDArray[np.int64]:
    return np.stack([(total >> i) & 1 for i in range(rows)])


def _lifted(words: Share, width: int) -> Share:
    """Return numbers times a power of two, so that they have ``width`` digits."""
    missing = width - words.shape[0]
    if not missing:
        return words
    return words.linear(lambda part: np.concatenate([np.zeros((missing, part.shape[1]), np.uint64), part]))


def _complement(v: Digits, own: int, width: int) -> RingArray:
    """Return the digits of 2^q - 1 - v, shifted likewise, and rows of zeros above."""
    value = ((1 << own) - 1 - v.astype(np.int64)) << (width - own)
    return pack(np.stack([((value >> i) & 1).astype(np.uint8) for i in range(width + CARRY_BITS)]))
