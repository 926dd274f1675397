"""Bits as ring elements, at the openers: they learn c = b XOR rho, where rho is the XOR of a bit of every masker.

b = c + rho - 2 c rho is linear in rho, given c. rho in the ring: with one masker it deals rho to the openers as a sum.
Otherwise all deal their bits, x XOR y = x + y - 2 x y for one after the other, and of the last product only the sum at
the openers is needed. As many rounds as there are maskers, if products take one.
"""

from __future__ import annotations

import functools

import numpy as np

from cofit.arithmetic import Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import unpack
from cofit.sharing.shamir.digits import DigitRows
from cofit.sharing.shares import Share
from cofit.sharing.steps import Protocol


class MaskedBits(DigitRows):
    """One party, with its part in bits under a mask."""

    def _maskers_bits(self, shape: Shape) -> tuple[list[Share], RingArray | None]:
        """Return words of bits that every masker draws, and ours if we are one. Free."""
        masks, kept = [], None
        for masker in self.geometry.maskers:
            drawn, own = self._random(BITS, shape, masker)
            masks.append(drawn)
            kept = BITS.signed_sum(own) if masker == self.rank else kept
        return masks, kept

    def _openers_summand(self, words: Share, masks: list[Share]) -> RingArray | None:
        """Return an opener's summand of bits under all masks."""
        if self.rank not in self.geometry.openers:
            return None
        return self._summand(functools.reduce(self.add, masks, words), self.geometry.openers)

    def _xor_of_maskers(
        self, ring: Ring, rows: int, count: int, kept: RingArray | None, plain: RingArray | None, with_plain: bool
    ) -> Protocol[RingArray | None]:
        """Return an opener's summands of rho, (rows, count); the others return None.

        kept: a masker's bits. plain: one more row of it, of which the sum over all maskers is returned as the last.
        """
        bits = None if kept is None else ring.from_int(unpack(kept, count))
        shape = (rows + with_plain, count)
        if self.geometry.threshold == 1:
            return (yield from self._to_openers(ring, _joined(bits, plain), shape))
        dealt = yield from self._given(ring, (rows, count), self.geometry.maskers, bits)
        total, *middle, last = dealt.values()
        table = self._tables(ring).product(self.rank) if self._multiplies else None
        for other in middle:
            product = None if table is None else ring.bilinear(total.parts, other.parts, table)
            both = yield from self._shared_products(ring, (rows, count), product)
            total = self.sub(self.add(total, other), self.add(both, both))
        product = None if table is None else ring.bilinear(total.parts, last.parts, table)
        own = _joined(product, plain) if kept is not None else None
        pieces = yield from self._to_openers(ring, own, shape)
        if pieces is None or product is None:
            return None
        product = ring.add(pieces[:rows], product)
        single = self._summand(self.add(total, last), self.geometry.openers)
        pieces[:rows] = ring.signed_sum([single], [product, product])
        return pieces

    def _unmasked_bits(self, ring: Ring, opened: RingArray, rho: RingArray) -> RingArray:
        """Return an opener's summands of bits b, given c in words, (rows, ...), and those of rho."""
        c = ring.from_int(unpack(opened, rho.shape[1]))
        result = ring.sub(rho, ring.mul(rho, ring.add(c, c)))
        return ring.add(result, c) if self.rank == self.geometry.openers[0] else result


def _joined(rows: RingArray | None, plain: RingArray | None) -> RingArray | None:
    return rows if rows is None or plain is None else np.concatenate([rows, plain[None]])
