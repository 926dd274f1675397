"""Truncation that never fails, by an opening under a mask of which every masker knows a summand.

z is to be divided by 2^s, with 0 <= z + 2^(k-2) < 2^(k-1). r = r_0 + ... + r_(t-1), r_j uniform and known to masker j
alone. The openers learn c = z + 2^(k-2) + r modulo 2^k, and

    floor(z / 2^s) = (c >> s) - sum_j (r_j >> s) + 2^(k-s) w(v) - w'(v') - 2^(k-2-s)

up to a carry of 0 or 1; v and v' are the top digits of c and of c modulo 2^s, w and w' the wraps of the digits that the
masks have there (``wraps.py``), of q = 1 + ceil(log2 t) and ceil(log2 t) bits. ``proof.md`` has the argument.

A summand that a masker has of z is taken into its r_j: it tells nobody.
"""

from __future__ import annotations

import numpy as np

from cofit.arithmetic import PowerOfTwoRing, Ring, RingArray, Shape, power_of_two
from cofit.sharing.masked_opening import of_wrap, public_part, raised
from cofit.sharing.shamir.resharing import Beside
from cofit.sharing.shamir.wraps import Digits, Wraps, picked
from cofit.sharing.shares import Share


def top_width(threshold: int) -> int:
    """Return q: t digits' rests, each below 2^(k-q), and a value below 2^(k-1) stay below 2^k together."""
    return 1 + low_width(threshold)


def low_width(threshold: int) -> int:
    """Return the least q with t 2^-q <= 1."""
    return (threshold - 1).bit_length()


class Truncation(Wraps):
    """One party, with its part in truncations."""

    def _truncate(self, a: Share, shift: int) -> Share:
        ring, openers = a.ring, self.geometry.openers
        masks = self._opening_masks(ring, a.shape)
        summand = self._summand(a, openers) if self.rank in openers else None
        return self._truncated("truncate", ring, summand, a.shape, shift, masks)

    def _opening_masks(self, ring: Ring, shape: Shape) -> list[RingArray]:
        """Draw what hides an opener's summand: from its stream with every masker. A masker draws the same."""
        if self.rank in self.geometry.openers:
            return [self._pairs[rank].ring(ring, shape) for rank in self.geometry.maskers]
        if self.rank in self.geometry.maskers:
            return [self._pairs[rank].ring(ring, shape) for rank in self.geometry.openers]
        return []

    def _truncated(
        self, operation: str, ring: Ring, summand: RingArray | None, shape: Shape, shift: int, masks: list[RingArray]
    ) -> Share:
        """Divide the sum of summands, of openers and maskers, by 2^shift. t + 1 rounds."""
        ring = power_of_two(ring, "Truncation by a masked opening")
        threshold, openers = self.geometry.threshold, self.geometry.openers
        low = low_width(threshold)
        widths = [top_width(threshold), *([low] if low else [])]
        digits, plain, beside, own = None, None, Beside({}, {}), None
        if self.rank in openers:
            own = ring.signed_sum([*masks, *([] if summand is None else [summand])])
            beside = self._to_each_other(ring, own)
        elif masks:
            mask = ring.signed_sum(masks, [] if summand is None else [summand])
            digits = [_top_digit(ring, mask, widths[0]), *([_low_digit(ring, mask, shift, low)] if low else [])]
            plain = ring.neg(ring.shr(mask, shift))
        counted = self._count_wraps(operation, ring, shape, widths, digits, plain, beside)
        result = None
        if counted is not None and own is not None:
            opened = raised(ring, ring.signed_sum([own, *beside.receive.values()]))
            wrapped = picked(counted.wraps[0], _top_digit(ring, opened, widths[0]))
            terms = [counted.plain, of_wrap(ring, wrapped, shift)]
            if self.rank == openers[0]:
                terms.append(public_part(ring, opened, shift))
            below = [picked(counted.wraps[1], _low_digit(ring, opened, shift, low))] if low else []
            result = ring.signed_sum(terms, below)
        return self._reshare(operation, ring, result, shape, openers)

    def _to_each_other(self, ring: Ring, own: RingArray) -> Beside:
        """Return the messages by which openers tell each other what they have."""
        others = [rank for rank in self.geometry.openers if rank != self.rank]
        return Beside({rank: [own] for rank in others}, {rank: ring.empty(own.shape) for rank in others})


def _top_digit(ring: PowerOfTwoRing, values: RingArray, width: int) -> Digits:
    return _small(ring, ring.shr(values, ring.bits - width))


def _low_digit(ring: PowerOfTwoRing, values: RingArray, shift: int, width: int) -> Digits:
    """Return the top digit of what lies below ``shift``; of fewer bits, with zeros after them."""
    mask, missing = np.uint8((1 << width) - 1), width - shift
    if missing > 0:
        return (_small(ring, values) << np.uint8(missing)) & mask
    return _small(ring, ring.shr(values, shift - width)) & mask


def _small(ring: PowerOfTwoRing, values: RingArray) -> Digits:
    """Return the lowest eight bits."""
    return (values if ring.words == 1 else values["lo"]).astype(np.uint8)
