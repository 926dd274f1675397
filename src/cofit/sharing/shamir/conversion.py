"""Between numbers and bits in ``shamir``. Bits are shared as numbers are, in the Galois ring modulo 2: GF(4), GF(8)."""

from __future__ import annotations

import math

import numpy as np

from cofit.arithmetic import IntegerRing, PowerOfTwoRing, Ring, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length, to_planes, unpack
from cofit.arithmetic.power_of_two import shifting
from cofit.sharing.adder import TakesBits, plane_count
from cofit.sharing.carry_save import carry_signals
from cofit.sharing.numbers import FromNumbers, plain_numbers
from cofit.sharing.packed_bits import PackedBits, words_of
from cofit.sharing.shamir.resharing import Beside
from cofit.sharing.shamir.truncation import Truncation, top_width
from cofit.sharing.shamir.wraps import Digits, picked
from cofit.sharing.shares import BitShare, Share


class ShamirConversion(TakesBits, FromNumbers, Truncation):
    """One party, with its conversions."""

    # --- summands of the openers -------------------------------------------------------------------------

    def _carry_signals(self, a: Share, ring: PowerOfTwoRing, planes: slice) -> tuple[BitShare, BitShare]:
        """The bits of every opener's summand, which it shares, are added."""
        openers, count = self.geometry.openers, math.prod(a.shape)
        shape = (plane_count(planes), packed_length(count))
        own = to_planes(ring, self._summand(a, openers))[planes] if self.rank in openers else None
        given = self._given("summands", BITS, shape, openers, own)
        return carry_signals(self.boolean, [PackedBits(given[rank], count) for rank in openers])

    def high_part(self, a: Share, shift: int) -> Share:
        """Every opener shares its summand, shifted. 1 round, (t + 1)(n - t - 1) elements."""
        openers, shifted = self.geometry.openers, shifting(a.ring, shift)
        own = shifted(self._summand(a, openers)) if self.rank in openers else None
        first, *rest = self._given("high_part", a.ring, a.shape, openers, own).values()
        for share in rest:
            first = self.add(first, share)
        return first

    def high_squares(self, a: Share, shift: int) -> Share:
        return self._high_squares_in_pieces(a, shift)

    # --- bits to numbers ---------------------------------------------------------------------------------

    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        """Openers learn c = b XOR rho; rho is the XOR of a bit of every masker, and b = c + rho - 2 c rho.

        A sum of bits is their XOR and twice what it carries: rho = w(0) - w(1), for digits of one bit. t + 1 rounds.
        """
        with self.label("from_bits"):
            shape = (bits.rows, bits.count)
            masked, kept = self._masked_bits(bits)
            digits = None if kept is None else [unpack(kept, bits.count)]
            own, beside = self._openers_words(masked)
            counted = self._count_wraps("from_bits", ring, shape, [1], digits, None, beside, has_plain=False)
            result = None
            if counted is not None and own is not None:
                c = ring.from_int(unpack(BITS.signed_sum([own, *beside.receive.values()]), bits.count))
                rho = ring.sub(counted.wraps[0][0], counted.wraps[0][1])
                result = ring.sub(rho, ring.mul(rho, ring.add(c, c)))
                result = ring.add(result, c) if self.rank == self.geometry.openers[0] else result
            return self._reshare("from_bits", ring, result, shape, self.geometry.openers)

    def _openers_words(self, share: Share) -> tuple[RingArray | None, Beside]:
        """Return our summand of words that openers tell each other, and the messages."""
        if self.rank not in self.geometry.openers:
            return None, Beside({}, {})
        own = self._summand(share, self.geometry.openers)
        return own, self._to_each_other(BITS, own)

    def _masked_bits(self, bits: BitShare) -> tuple[Share, RingArray | None]:
        """Add a bit that every masker draws; return that, and our bits if we are one."""
        total, kept = words_of(bits), None
        for masker in self.geometry.maskers:
            drawn, own = self._random(BITS, total.shape, masker)
            total = self.add(total, drawn)
            kept = BITS.signed_sum(own) if masker == self.rank else kept
        return total, kept

    def _number_masks(self, width: int, count: int) -> tuple[list[BitShare], RingArray | None]:
        """Digits of every masker, drawn by the groups that it is in; ours, if we are one. Free."""
        masks: list[BitShare] = []
        kept = None
        for masker in self.geometry.maskers:
            drawn, own = self._random(BITS, (width, packed_length(count)), masker)
            masks.append(PackedBits(drawn, count))
            kept = BITS.signed_sum(own) if masker == self.rank else kept
        return masks, kept

    def _unmasked(self, masked: BitShare, kept: RingArray | None, ring: IntegerRing) -> Share:
        """Openers learn c; T = c - r_0 - r_1 - ... + 2^K w(v), v the top digit of c. t + 1 rounds."""
        width, shape = masked.rows, (masked.count,)
        top = top_width(self.geometry.threshold)
        digits, plain = None, None
        if kept is not None:
            number, _ = plain_numbers(ring, kept, masked.count)
            digits, plain = [_top_digit(kept, top, masked.count)], ring.neg(number)
        own, beside = self._openers_words(words_of(masked))
        counted = self._count_wraps("unmask", ring, shape, [top], digits, plain, beside)
        result = None
        if counted is not None and own is not None:
            opened = BITS.signed_sum([own, *beside.receive.values()])
            wrapped = picked(counted.wraps[0], _top_digit(opened, top, masked.count))
            terms = [counted.plain, ring.shl(wrapped, width)]
            if self.rank == self.geometry.openers[0]:
                terms.append(plain_numbers(ring, opened, masked.count)[0])
            result = ring.signed_sum(terms)
        return self._reshare("unmask", ring, result, shape, self.geometry.openers)


def _top_digit(planes: RingArray, width: int, count: int) -> Digits:
    """Return the number that the top digits of every element make; of fewer digits, with zeros after them."""
    total = np.zeros(count, np.uint8)
    for place, row in enumerate(planes[-width:], max(0, width - len(planes))):
        total |= unpack(row[None], count)[0] << np.uint8(place)
    return total
