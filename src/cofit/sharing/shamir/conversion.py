"""Between numbers and bits in ``shamir``. Bits are shared as numbers are, in the Galois ring modulo 2: GF(4), GF(8)."""

from __future__ import annotations

import math

from cofit.arithmetic import IntegerRing, PowerOfTwoRing, Ring, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length, to_planes
from cofit.arithmetic.power_of_two import shifting
from cofit.sharing.adder import TakesBits, plane_count
from cofit.sharing.carry_save import carry_signals
from cofit.sharing.masked_opening import top_digit_of_planes
from cofit.sharing.numbers import FromNumbers, plain_numbers
from cofit.sharing.packed_bits import PackedBits, words_of
from cofit.sharing.shamir.digits import Digits
from cofit.sharing.shamir.truncation import Truncation, top_width
from cofit.sharing.shamir.wraps import MaskedSums
from cofit.sharing.shares import BitShare, Share


class ShamirConversion(TakesBits, FromNumbers, Truncation):
    """One party, with its conversions."""

    # --- summands of the openers -------------------------------------------------------------------------

    def _carry_signals(self, a: Share, ring: PowerOfTwoRing, planes: slice) -> tuple[BitShare, BitShare]:
        """The bits of every opener's summand, which it shares, are added."""
        openers, count = self.geometry.openers, math.prod(a.shape)
        shape = (plane_count(planes), packed_length(count))
        own = to_planes(ring, self._summand(a, openers))[planes] if self.rank in openers else None
        given = self._run("summands", self._given(BITS, shape, openers, own))
        return carry_signals(self.boolean, [PackedBits(given[rank], count) for rank in openers])

    def high_part(self, a: Share, shift: int) -> Share:
        """Every opener shares its summand, shifted. 1 round, (t + 1)(n - t - 1) elements."""
        openers, shifted = self.geometry.openers, shifting(a.ring, shift)
        own = shifted(self._summand(a, openers)) if self.rank in openers else None
        first, *rest = self._run("high_part", self._given(a.ring, a.shape, openers, own)).values()
        for share in rest:
            first = self.add(first, share)
        return first

    def high_squares(self, a: Share, shift: int) -> Share:
        return self._high_squares_in_pieces(a, shift)

    # --- bits to numbers ---------------------------------------------------------------------------------

    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        """Openers learn the bits under those of the maskers. t + 1 rounds, if products take one."""
        with self.label("from_bits"):
            words, shape, openers = words_of(bits), (bits.rows, bits.count), self.geometry.openers
            masks, kept = self._maskers_bits(words.shape)
            opened, rho = self._together(
                "from_bits",
                self._to_each_other(BITS, self._openers_summand(words, masks)),
                self._xor_of_maskers(ring, bits.rows, bits.count, kept, None, with_plain=False),
            )
            result = None
            if opened is not None and rho is not None:
                result = self._unmasked_bits(ring, opened, rho)
            return self._run("from_bits", self._reshared(ring, result, shape, openers))

    def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], RingArray | None]:
        """Digits of every masker, drawn by the groups that it is in; ours, if we are one. Free."""
        masks, kept = self._maskers_bits((width, packed_length(count)))
        return [PackedBits(mask, count) for mask in masks], kept

    def _unmasked(self, masked: BitShare, kept: RingArray | None, ring: IntegerRing) -> Share:
        """Openers learn c; T = c - r_0 - r_1 - ... + 2^K w(v), v the top digit of c."""
        count, top, openers = masked.count, top_width(self.geometry.threshold), self.geometry.openers

        def digits_of(planes: RingArray) -> list[Digits]:
            return [top_digit_of_planes(planes, top, count)]

        digits = None if kept is None else digits_of(kept)
        plain = None if kept is None else ring.neg(plain_numbers(ring, kept, count)[0])
        opening = self._to_each_other(BITS, self._openers_summand(words_of(masked), []))
        sums = MaskedSums(ring, count, [top], digits, plain)
        opened, counted = self._count_wraps("unmask", sums, opening, digits_of)
        result = None
        if opened is not None and counted is not None:
            terms = [counted.plain, ring.shl(counted.wraps[0], masked.rows)]
            if self.rank == openers[0]:
                terms.append(plain_numbers(ring, opened, count)[0])
            result = ring.signed_sum(terms)
        return self._run("unmask", self._reshared(ring, result, (count,), openers))
