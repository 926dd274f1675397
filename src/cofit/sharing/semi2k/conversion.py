"""Between numbers and bits in ``semi2k``: by masks that are shared in both worlds."""

from __future__ import annotations

import math

from cofit.arithmetic import IntegerRing, PowerOfTwoRing, Ring
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import to_planes, unpack
from cofit.sharing.adder import TakesBits
from cofit.sharing.carry_save import carry_signals
from cofit.sharing.correlations import Bits, Digits, Number
from cofit.sharing.masked_opening import without_wrap
from cofit.sharing.numbers import FromNumbers, plain_numbers
from cofit.sharing.packed_bits import PackedBits, words_of
from cofit.sharing.semi2k.opening import Openings
from cofit.sharing.shares import BitShare, Share


class Semi2kConversion(TakesBits, FromNumbers, Openings):
    """One of the computing parties, with its conversions."""

    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        """Open b XOR rho for a bit rho that is shared in both worlds; b = c + rho - 2 c rho."""
        double = self._source.ask(Bits(ring, bits.rows, bits.count))
        (opened,) = self._opened("from_bits", BITS, [BITS.add(words_of(bits).parts[0], double.words)])
        c = ring.from_int(unpack(opened, bits.count))
        flipped = ring.mul(double.elements, ring.add(c, c))
        result = ring.sub(double.elements, flipped)
        return Share(ring, (ring.add(result, c) if self.rank == 0 else result,))

    def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], int]:
        """Digits that nobody knows but the dealer, who sees no opening."""
        digits = self._source.ask(Digits(BITS, width, count))
        return [PackedBits(Share(BITS, (digits.words,)), count)], digits.number

    def _unmasked(self, masked: BitShare, kept: int, ring: IntegerRing) -> Share:
        """Open c to all; the dealer has shared r and its top digit; see ``proof.md``."""
        mask = self._source.ask(Number(ring, kept, masked.rows, masked.count))
        (digits,) = self._opened("unmask", BITS, [words_of(masked).parts[0]])
        c, c_top = plain_numbers(ring, digits, masked.count)
        result = ring.sub(without_wrap(ring, mask.top, c_top, masked.rows), mask.value)
        return Share(ring, (ring.add(result, c) if self.rank == 0 else result,))

    def _carry_signals(self, a: Share, ring: PowerOfTwoRing, planes: slice) -> tuple[BitShare, BitShare]:
        """The bits of every party's summand, each shared as itself by that party and zero elsewhere, are added."""
        count = math.prod(a.shape)
        own = to_planes(ring, a.parts[0])[planes]
        zeros = BITS.zeros(own.shape)
        parts = [own if rank == self.rank else zeros for rank in range(len(self.names))]
        return carry_signals(self.boolean, [PackedBits(Share(BITS, (part,)), count) for part in parts])
