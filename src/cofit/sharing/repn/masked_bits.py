"""Shared bits as ring elements: the openers learn c = b XOR rho, where rho is the XOR of a bit of every masker.

A masker deals its bit as a ring element, which is checked to be 0 or 1 (x x = x). The lowest bits of all summands are a
sharing of it as a bit: so the two cannot differ. rho in the ring is x + y - 2 x y for one masker after the other, and
b = c + rho - 2 c rho a product with what the openers know.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Generator, IntegerRing, Ring, RingArray, power_of_two
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import pack, unpack
from cofit.arithmetic.prg import fresh_seed
from cofit.sharing.packed_bits import PackedBits, words_of
from cofit.sharing.repn.products import Products
from cofit.sharing.shares import BitShare, Share
from cofit.sharing.steps import Protocol


class MaskedBits(Products):
    """One party, with its part in bits under a mask."""

    def _own_bits(self, rows: int, count: int) -> npt.NDArray[np.uint8]:
        """Return uniform bits of our own."""
        drawn = Generator(fresh_seed()).words((rows, -(-count // 64)))
        return unpack(drawn, count)

    def _lowest(self, ring: Ring, a: Share) -> Share:
        """Return words of the lowest bits of rows of elements, shape (rows, count), where these are 0 or 1. Local."""
        return Share(BITS, tuple(pack(_lowest_bits(ring, part)) for part in a.parts))

    def _masking_bits(self, ring: Ring, rows: int, count: int) -> Protocol[list[Share]]:
        """Have every masker deal uniform bits as ring elements, (rows, count). 1 round."""
        ring = power_of_two(ring, "Turning bits into elements in 'repn'")
        own = ring.from_int(self._own_bits(rows, count)) if self.rank in self.geometry.maskers else None
        dealt = yield from self._given(ring, (rows, count), self.geometry.maskers, own)
        for share in dealt.values():
            self._note_binary(share)
        return list(dealt.values())

    def _unmasked_bits(self, operation: str, ring: Ring, bits: BitShare, masks: Sequence[Share]) -> Share:
        """Return bits as ring elements, (rows, count), given those of the maskers. 2 rounds; for three maskers 3."""
        words = words_of(bits)
        for mask in masks:
            words = self.add(words, self._lowest(ring, mask))
        opening = self._opened_words(PackedBits(words, bits.count))
        opened, rho = self._together(operation, opening, self._xor(ring, masks))
        c = None if opened is None else ring.from_int(unpack(opened, bits.count))
        both = self._run(
            operation, self._times_known(ring, None if c is None else c[None], rho.linear(lambda part: part[None]))
        )
        known = self._of_openers(ring, rho.shape, c)
        return self.sub(self.add(known, rho), self.add(both, both))

    def _opened_words(self, bits: BitShare) -> Protocol[RingArray | None]:
        """Open bits that are under a mask to the openers, and have the opening checked. 1 round."""
        padding = pack(np.ones((1, bits.count), np.uint8))
        words = words_of(bits).linear(lambda part: part & padding)  # what is no bit of anything is under no mask
        own = self._first_summand(words)
        opened = yield from self._to_openers(BITS, BITS.zeros(words.shape) if own is None else own)
        self.relations.note_zero(self.add(self._of_openers(BITS, words.shape, opened), words))
        return opened

    def _xor(self, ring: Ring, masks: Sequence[Share]) -> Protocol[Share]:
        """Return the XOR of ring elements 0 and 1. A round for each but the first."""
        total = masks[0]
        for other in masks[1:]:
            both = yield from self._summed(ring, total.shape, self._everybody, self._mul_summand(ring, total, other))
            self.relations.note("mul", total, other, both)
            total = self.sub(self.add(total, other), self.add(both, both))
        return total


def _lowest_bits(ring: Ring, part: RingArray) -> npt.NDArray[np.uint8]:
    if not isinstance(ring, IntegerRing):
        return np.asarray(part)
    words = part if ring.words == 1 else part["lo"]
    return np.asarray(words & np.uint64(1)).astype(np.uint8)
