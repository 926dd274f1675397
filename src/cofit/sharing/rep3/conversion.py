"""Between numbers and bits in ``rep3``: both are u + v (u XOR v), where party 0 knows u and parties 1 and 2 know v."""

from __future__ import annotations

import numpy as np

from cofit.arithmetic import IntegerRing, PowerOfTwoRing, Ring, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length, to_planes, unpack
from cofit.sharing.adder import TakesBits, plane_count
from cofit.sharing.masked_opening import without_wrap
from cofit.sharing.numbers import FromNumbers, plain_numbers
from cofit.sharing.packed_bits import PackedBits, words_of
from cofit.sharing.rep3.streams import CommonStreams
from cofit.sharing.shares import BitShare, Share


class Rep3Conversion(TakesBits, FromNumbers, CommonStreams):
    """One of the three parties, with its conversions."""

    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        """b = u XOR v with u = b_0 XOR b_1 known to party 0, v = b_2 known to 1 and 2; b = u + v - 2 u v."""
        with self.label("from_bits"):
            first, second = (unpack(part, bits.count) for part in words_of(bits).parts)
            u_known = ring.from_int(first ^ second) if self.rank == 0 else None
            v_known = None if self.rank == 0 else ring.from_int(second if self.rank == 1 else first)
            shape = (bits.rows, bits.count)
            u, product = self._product_of_known(ring, u_known, v_known, shape)
            v = self._known_summand_2(ring, v_known, shape)
            return self.sub(self.add(u, v), self.add(product, product))

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
