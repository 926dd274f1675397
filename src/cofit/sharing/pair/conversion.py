"""Between numbers and bits with two parties alone: each knows its own summand, so one product of bits is enough."""

from __future__ import annotations

import math

import numpy as np

from cofit.arithmetic import IntegerRing, PowerOfTwoRing, Ring, RingArray, power_of_two
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import from_planes, packed_length, to_planes, unpack
from cofit.arithmetic.integers import Words
from cofit.sharing.adder import TakesBits
from cofit.sharing.masked_opening import power
from cofit.sharing.numbers import FromNumbers
from cofit.sharing.packed_bits import PackedBits, words_of
from cofit.sharing.pair.crossing import ChosenValues, SentValues
from cofit.sharing.pair.products import PairProducts
from cofit.sharing.shares import BitShare, Share

MASKER, OPENER = 0, 1
"""Of numbers: who masks them, and who sees the masked sum."""


class PairConversion(TakesBits, FromNumbers, PairProducts):
    """One of the two parties, with its conversions."""

    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        """b = b_0 + b_1 - 2 b_0 b_1, where party i knows b_i."""
        ring = power_of_two(ring, "Bits as elements, between two parties alone,")
        own = words_of(bits).parts[0]
        product = self._own_bits("from_bits", ring, own, bits.count)
        return Share(ring, (ring.sub(ring.from_int(unpack(own, bits.count)), ring.add(product, product)),))

    def _carry_signals(self, a: Share, ring: PowerOfTwoRing, planes: slice) -> tuple[BitShare, BitShare]:
        """Each of the two numbers to be added is one party's own: their products take transfers one way only."""
        own, count = to_planes(ring, a.parts[0])[planes], math.prod(a.shape)
        generate = self._own_words("carry", own.reshape(-1)).reshape(own.shape)
        return tuple(PackedBits(Share(BITS, (part,)), count) for part in (generate, own))  # type: ignore[return-value]

    # --- truncation that never fails ---------------------------------------------------------------------

    def _truncate(self, a: Share, shift: int) -> Share:
        return self._shifted("truncate", a.ring, a.parts[0], shift)

    def _shifted(self, operation: str, ring: Ring, summand: RingArray, shift: int) -> Share:
        """Shift both summands of z + 2^(k-2), one down and one up, and undo their wrap; see ``proof.md``."""
        ring = power_of_two(ring, "Truncation between two parties alone")
        self._note(operation, shift)
        flat = ring.add(summand, self._constant_of(ring, power(ring, ring.bits - 2))).reshape(-1)
        positive = ~to_planes(ring, flat)[-1:] & _ones(len(flat))
        both = self._own_bits(operation, ring, positive, len(flat))[0]
        halves = ring.shr(flat, shift) if self.rank == 0 else _rounded_up(ring, flat, shift)
        result = ring.add(halves, ring.shl(both, ring.bits - shift))  # the wrap is 1 less what both have in common
        apart = ring.add(power(ring, ring.bits - 2 - shift), ring.shl(power(ring, 0), ring.bits - shift))
        return Share(ring, (ring.sub(result, self._constant_of(ring, apart)).reshape(summand.shape),))

    # --- numbers from digits -----------------------------------------------------------------------------

    def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], Words]:
        """One party draws the mask; the other one sees the masked sum."""
        shape = (width, packed_length(count))
        digits = self._coins.ring(BITS, shape) if self.rank == MASKER else BITS.zeros(shape)
        return [PackedBits(Share(BITS, (digits,)), count)], digits

    def _unmasked(self, masked: BitShare, kept: Words, ring: IntegerRing) -> Share:
        """c - r at the two parties, and 2^K where the sum wrapped: where r has its top digit and c has not."""
        ring, width, count = power_of_two(ring, "Numbers of two parties alone"), masked.rows, masked.count
        own = words_of(masked).parts[0]
        words = packed_length(count)
        if self.rank == MASKER:
            top = ring.from_int(unpack(kept[-1:], count))
            sent, d = SentValues.of(ring, top, self._transfers.take(words, 0)[0])
            self._swap("unmask", [own, d], [])
            heard = np.empty((1, words), np.uint64)
            self._swap("unmask", [], [heard])
            return self._number(ring, ring.neg(from_planes(ring, kept, count)), sent.finish(heard)[0], width)
        choosing = self._transfers.take(0, words)[1]
        theirs, d = np.empty_like(own), ring.empty((1, count))
        self._swap("unmask", [], [theirs, d])
        c: Words = np.bitwise_xor(own, theirs)
        low = ~c[-1:] & _ones(count)
        chosen, u = ChosenValues.of(ring, low, count, choosing)
        self._swap("unmask", [u], [])
        return self._number(ring, from_planes(ring, c, count), chosen.finish(d)[0], width)

    @staticmethod
    def _number(ring: PowerOfTwoRing, summand: RingArray, wrap: RingArray, width: int) -> Share:
        return Share(ring, (ring.add(summand, ring.shl(wrap, width)),))


def _ones(count: int) -> Words:
    """Return packed ones, with zeros behind them."""
    words = np.full(packed_length(count), np.iinfo(np.uint64).max, np.uint64)
    if count % 64:
        words[-1] = (1 << count % 64) - 1
    return words


def _rounded_up(ring: PowerOfTwoRing, values: RingArray, shift: int) -> RingArray:
    """Return x / 2^shift, rounded up."""
    down = ring.shr(values, shift)
    rest = ring.sub(values, ring.shl(down, shift))
    some = (rest != 0) if ring.words == 1 else (rest["lo"] | rest["hi"]) != 0
    return ring.add(down, ring.from_int(some.astype(np.int64)))
