"""Sums of products, truncated and clipped at once, in ``rep3``: ``proof.md``, "Clipped sums".

A truncation opens c = z + 2^(k-2) + r to parties 0 and 1, and party 2 knows r: so t = z / 2^s, truncated, is
(c >> s) - (r >> s) - 2^(k-2-s), up to a multiple of 2^(k-s). That is a number known to 0 and 1 less one known to 2,
which is what a comparison begins with. So nothing waits for a sharing of t, which nobody needs:

    round 1           0 and 1 open c to each other; party 2 shares tables of the bits of r >> s between them
    round 2           the carries of four bits at a time, for t - lower and for t - upper (``carry_tables.py``)
    rounds 3 ...      ANDs that join them: ceil(log2(groups)), groups = ceil(bits / 4)
    the last two      party 2 shares products of what it knows of the bits with r >> s; 0 and 1 are left with summands
                      of the result, and share it

With n = [t < lower] and i = n xor [t < upper], which is 1 where t is between both,

    clip(t) = i (t - upper) - n (upper - lower) + upper.

Rounds: 4 + ceil(log2(groups)). Elements: 8; with a truncation two numbers of as many bytes as the bits that are cut off
need: what is multiplied by 2^(k-s). Words for every 64 elements: 15 for a group and number, 2 for each signal, and
ANDs.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from cofit.arithmetic import Generator, PowerOfTwoRing, RingArray, power_of_two
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length, to_planes
from cofit.arithmetic.carry_tables import ENTRIES, GROUP, group_count, signals, tables
from cofit.arithmetic.integers import Words
from cofit.arithmetic.narrow import Narrow, narrow_bytes
from cofit.arithmetic.power_of_two import Z64
from cofit.sharing.adder import carry_out
from cofit.sharing.masked_opening import raised
from cofit.sharing.packed_bits import PackedBits, words_of
from cofit.sharing.rep3.conversion import Rep3Conversion
from cofit.sharing.shares import BitShare, Share
from cofit.sharing.sums import Clip, ProductSum

_DEALER = 2  # the party that knows the mask of a truncation
_BOTH = 2  # ends; and values of a bit
_ELEMENTS = 4  # that are dealt in full
_HALF_WORD = 32


class Rep3Clips(Rep3Conversion):
    """One of the three parties, with what clips sums."""

    @abstractmethod
    def _summand(self, one: ProductSum) -> RingArray:
        """Return our summand of a sum, z_i."""

    @property
    def clips(self) -> bool:
        return True

    def clipped_sum(self, one: ProductSum, clip: Clip) -> Share:
        """See the head of this file."""
        ring, (count,) = power_of_two(one.ring, "Clipping a sum"), one.shape
        with self.label("clip"):
            summand = self._summand(one)
            if self.rank == _DEALER:
                mask = ring.sub(ring.add(self._next.ring(ring, (count,)), self._own.ring(ring, (count,))), summand)
                bits = self._dealt_signs(_placed(ring, mask, one.shift), clip)
                return self._dealt_products(ring, mask, bits, one.shift)
            own = ring.add(summand, (self._own if self.rank == 0 else self._next).ring(ring, (count,)))
            opened, bits = self._opened_signs(ring, own, one.shift, clip)
            return self._products(ring, opened, bits, one.shift, clip)

    # --- the signs of t - lower and of t - upper ----------------------------------------------------------

    def _dealt_signs(self, known: Words, clip: Clip) -> BitShare:
        """Party 2: share the tables of minus r >> s, less one; hear nothing. ``known``: r >> s."""
        count, groups = len(known), group_count(clip.bits)
        pad = np.uint64(GROUP * groups - clip.bits)
        table = tables(to_planes(Z64, np.invert(known << pad))[: GROUP * groups])
        shared = BITS.add(table, self._next.ring(BITS, table.shape))
        self._exchange("mask", {1: [shared]})
        shape = (2 * groups - 1, _BOTH * packed_length(count))
        return self._joined_signals(Share(BITS, (self._own.ring(BITS, shape), self._next.ring(BITS, shape))), groups)

    def _opened_signs(self, ring: PowerOfTwoRing, own: RingArray, shift: int, clip: Clip) -> tuple[RingArray, BitShare]:
        """Parties 0 and 1: open c, and choose from the tables. ``own``: our summand, masked."""
        count, groups, other = len(own), group_count(clip.bits), 1 - self.rank
        words = packed_length(count)
        theirs = ring.empty((count,))
        if self.rank == 0:
            table = self._own.ring(BITS, (groups, ENTRIES, words))
            self._exchange("mask", {other: [own]}, {other: theirs})
        else:
            table = BITS.empty((groups, ENTRIES, words))
            self._exchange("mask", {other: [own]}, {other: theirs, _DEALER: table})
        opened = raised(ring, ring.add(own, theirs))
        ours = signals(table, _planes(ring, opened, shift, clip), constant=self.rank == 0).reshape(2 * groups - 1, -1)
        out = (self._own if self.rank == 0 else self._next).ring(BITS, ours.shape)
        sent, heard = BITS.add(ours, out), BITS.empty(ours.shape)
        self._exchange("signals", {other: [sent]}, {other: heard})
        joint = BITS.add(sent, heard)
        share = Share(BITS, (out, joint) if self.rank == 0 else (joint, out))
        return opened, self._joined_signals(share, groups)

    def _joined_signals(self, packed: Share, groups: int) -> BitShare:
        """Return both signs: one row, those of t - lower in its first half."""
        rows = PackedBits(packed, 64 * packed.shape[1])
        generate = self.boolean.select_rows(rows, slice(0, groups))
        propagate = self.boolean.select_rows(rows, [0, *range(groups, 2 * groups - 1)])  # the lowest is never looked at
        return carry_out(self.boolean, generate, propagate, groups)

    # --- the products with t ------------------------------------------------------------------------------

    def _dealt_products(self, ring: PowerOfTwoRing, mask: RingArray, bits: BitShare, shift: int) -> Share:
        """Party 2: share u_i, u_n, and u_i q and (1 - u_i) q for each q that t is made of: r >> s and its top bit."""
        count = len(mask)
        last, first = words_of(bits).parts
        below, inside = _indicators(BITS.add(last, first))
        hidden, packed = self._hidden_rows(self._next, ring, count, shift)
        rows = ring.clip_deal(mask, inside, below, [*hidden, *self._widened(ring, packed, count, shift)], shift)
        tops = [ring.to_narrow(row, shift, mask) for row, mask in zip(rows[_ELEMENTS:], packed, strict=True)]
        self._exchange("deal", {1: [rows[:_ELEMENTS], *tops]})
        return Share(ring, (self._own.ring(ring, (count,)), self._next.ring(ring, (count,))))

    def _products(self, ring: PowerOfTwoRing, opened: RingArray, bits: BitShare, shift: int, clip: Clip) -> Share:
        """Parties 0 and 1: with i = u xor v and v known to us, i q is u q where v = 0, and (1 - u) q where v = 1."""
        count, first, other = len(opened), self.rank == 0, 1 - self.rank
        below, inside = _indicators(words_of(bits).parts[1 if first else 0])
        if first:
            dealt, packed = self._hidden_rows(self._own, ring, count, shift)
        else:
            full, high = _ELEMENTS * count * ring.element_bytes, narrow_bytes(count, shift)
            received = np.empty(full + _BOTH * high, np.uint8)
            self._exchange("deal", {}, {_DEALER: received})
            dealt = list(received[:full].view(ring.dtype).reshape(_ELEMENTS, count))
            packed = [received[start : start + high] for start in (full, full + high)]
        dealt += self._widened(ring, packed, count, shift)
        out = (self._own if first else self._next).ring(ring, (count,))
        sent = ring.clip_products(opened, inside, below, dealt, out, (clip.lower, clip.upper), shift, first=first)
        heard = ring.empty((count,))
        self._exchange("share", {other: [sent]}, {other: heard})
        joint = ring.add(sent, heard)
        return Share(ring, (out, joint) if first else (joint, out))

    def _hidden_rows(
        self, stream: Generator, ring: PowerOfTwoRing, count: int, shift: int
    ) -> tuple[list[RingArray], list[Narrow]]:
        """Draw what hides the rows that are dealt: elements and, of those of a top bit, narrow numbers."""
        hidden = stream.rings(ring, (count,), _ELEMENTS)
        return hidden, stream.narrow(count, shift, _BOTH) if shift else []

    def _widened(self, ring: PowerOfTwoRing, packed: list[Narrow], count: int, shift: int) -> list[RingArray]:
        return [ring.from_narrow(row, shift, (count,)) for row in packed] if shift else []


def _placed(ring: PowerOfTwoRing, values: RingArray, shift: int) -> Words:
    """Return the lowest 64 bits of values >> shift."""
    shifted = ring.shr(values, shift) if shift else values
    return np.asarray(shifted if ring.words == 1 else shifted["lo"])


def _planes(ring: PowerOfTwoRing, opened: RingArray, shift: int, clip: Clip) -> Words:
    """Return the bit planes of (c >> s) - 2^(k-2-s) - end, and one more in the last place, for both ends."""
    bits = GROUP * group_count(clip.bits)
    pad = np.uint64(bits - clip.bits)
    base = _placed(ring, opened, shift)
    offset = 1 << ring.bits - 2 - shift
    ends = [np.uint64((-offset - end) & 0xFFFFFFFFFFFFFFFF) for end in (clip.lower, clip.upper)]
    numbers = [((base + end) << pad) + np.uint64(1) for end in ends]
    if bits > _HALF_WORD:
        return np.stack([to_planes(Z64, number)[:bits] for number in numbers])
    low, high = numbers
    joint = to_planes(Z64, (low & np.uint64(0xFFFFFFFF)) | (high << np.uint64(_HALF_WORD)))
    return np.stack([joint[:bits], joint[_HALF_WORD : _HALF_WORD + bits]])


def _indicators(signs: Words) -> tuple[Words, Words]:
    """Return the words of n and of i, from those of both signs."""
    below, above = signs.reshape(_BOTH, -1)
    return below, BITS.add(below, above)
