"""Between numbers and bits in ``rep3``: both are u + v (u XOR v), where party 0 knows u and parties 1 and 2 know v."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cofit.arithmetic import IntegerRing, PowerOfTwoRing, Ring, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import bits_less, flipped_by_bits, packed_length, to_planes
from cofit.sharing.adder import TakesBits, plane_count
from cofit.sharing.masked_opening import without_wrap
from cofit.sharing.numbers import FromNumbers, plain_numbers
from cofit.sharing.packed_bits import PackedBits, words_of
from cofit.sharing.rep3.streams import CommonStreams
from cofit.sharing.shares import BitShare, Share


class Rep3Conversion(TakesBits, FromNumbers, CommonStreams):
    """One of the three parties, with its conversions."""

    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        """``weighed_bits``, each alone. Two rounds, three elements."""
        return self._weighed(bits, ring, bits.rows, lambda digits: digits)

    @property
    def weighs_bits(self) -> bool:
        return True

    def weighed_bits(self, bits: BitShare, weights: RingArray, ring: Ring) -> Share:
        """b = u XOR v = (1 - 2 v) u + v, where u = b_0 XOR b_1 is known to party 0 and v = b_2 to parties 1 and 2.

        Party 0 shares u = u_0 + u_1 (u_0 drawn from k_0, u_1 sent to party 1). Then party 1 holds (1 - 2 v) u_1 + v and
        party 2 holds (1 - 2 v) u_0, and both weigh what they hold. The sum t is shared as (s_0, s_1, t - s_0 - s_1)
        with s_i drawn from k_i: parties 1 and 2 send each other their part of it, less s_1 and less s_0. Two rounds; an
        element for every bit and two for every sum.
        """
        return self._weighed(bits, ring, len(weights), lambda digits: ring.matmul(weights, digits))

    def _weighed(self, bits: BitShare, ring: Ring, sums: int, weigh: Callable[[RingArray], RingArray]) -> Share:
        first, second = words_of(bits).parts
        shape, summed = (bits.rows, bits.count), (sums, bits.count)
        with self.label("from_bits"):
            if self.rank == 0:
                u_0 = self._own.ring(ring, shape)
                self._exchange("input", {1: [bits_less(ring, BITS.add(first, second), u_0)]})
                return Share(ring, (self._own.ring(ring, summed), self._next.ring(ring, summed)))
            if self.rank == 1:
                u_1 = ring.empty(shape)
                self._exchange("input", {}, {0: u_1})
                drawn, held = self._own.ring(ring, summed), flipped_by_bits(ring, second, u_1, adds_bits=True)
            else:
                u_0 = self._next.ring(ring, shape)
                drawn, held = self._next.ring(ring, summed), flipped_by_bits(ring, first, u_0, adds_bits=False)
            ours, theirs, other = ring.sub(weigh(held), drawn), ring.empty(summed), 3 - self.rank
            self._exchange("product", {other: [ours]}, {other: theirs})
            joint = ring.add(ours, theirs)
            return Share(ring, (drawn, joint) if self.rank == 1 else (joint, drawn))

    def _carry_signals(self, a: Share, ring: PowerOfTwoRing, planes: slice) -> tuple[BitShare, BitShare]:
        """u = x_0 + x_1, known to party 0, and v = x_2, known to 1 and 2. 2 rounds."""
        count = int(np.prod(a.shape, dtype=np.int64))
        shape = (plane_count(planes), packed_length(count))
        u_known = to_planes(ring, ring.add(*a.parts))[planes] if self.rank == 0 else None
        v_known = None if self.rank == 0 else to_planes(ring, a.parts[1 if self.rank == 1 else 0])[planes]
        u, generate = self._product_of_known(BITS, u_known, v_known, shape)
        propagate = self.add(u, self._known_summand_2(BITS, v_known, shape))
        return PackedBits(generate, count), PackedBits(propagate, count)

    def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], RingArray]:
        """r = r_0 XOR r_2, drawn from k_0 and k_2: party 2 knows it, and the others one part each. Free."""
        shape = (width, packed_length(count))
        zeros = BITS.zeros(shape)
        first = zeros if self.rank == 1 else self._own.ring(BITS, shape)
        second = zeros if self.rank == 0 else self._next.ring(BITS, shape)
        return [PackedBits(Share(BITS, (first, second)), count)], BITS.add(first, second)

    def _unmasked(self, masked: BitShare, kept: RingArray, ring: IntegerRing) -> Share:
        """Party 2 deals r and its top digit to 0 and 1, who open c to each other; see ``proof.md``."""
        width, shape = masked.rows, (masked.count,)
        own = words_of(masked).parts[0]
        if self.rank == 2:
            share_0, top_0, out_0 = (self._next.ring(ring, shape) for _ in range(3))
            out_2 = self._own.ring(ring, shape)
            r, top = plain_numbers(ring, kept, masked.count)
            self._exchange("unmask", {0: [own], 1: [ring.sub(r, share_0), ring.sub(top, top_0)]})
            return Share(ring, (out_2, out_0))
        missing = BITS.empty(own.shape)
        if self.rank == 0:
            share, top, out = (self._own.ring(ring, shape) for _ in range(3))
            self._exchange("unmask", {1: [own]}, {2: missing})
        else:
            out = self._next.ring(ring, shape)
            share, top = dealt = ring.empty((2, *shape))
            self._exchange("unmask", {}, {0: missing, 2: dealt})
        digits = BITS.add(BITS.add(*words_of(masked).parts), missing)
        c, c_top = plain_numbers(ring, digits, masked.count)
        result = ring.sub(without_wrap(ring, top, c_top, width), share)
        ours = ring.sub(ring.add(result, c) if self.rank == 0 else result, out)
        theirs = ring.empty(shape)
        self._exchange("unmask", {1 - self.rank: [ours]}, {1 - self.rank: theirs})
        joint = ring.add(ours, theirs)
        return Share(ring, (out, joint) if self.rank == 0 else (joint, out))
