"""Truncation that never fails, by an opening under a mask of which every masker knows a summand.

z is to be divided by 2^s, with 0 <= z + 2^(k-2) < 2^(k-1). r = r_0 + ... + r_(t-1), r_j uniform and known to masker j
alone. The openers learn c = z + 2^(k-2) + r modulo 2^k, and

    floor(z / 2^s) = (c >> s) - sum_j (r_j >> s) + 2^(k-s) w(v) - w'(v') - 2^(k-2-s)

up to a carry of 0 or 1; v and v' are the top digits of c and of c modulo 2^s, w and w' the wraps of the digits that the
masks have there (``wraps.py``), of q = 1 + ceil(log2 t) and ceil(log2 t) bits. ``proof.md`` has the argument.

A summand that a masker has of z is taken into its r_j: it tells nobody.
"""

from __future__ import annotations

import math

from cofit.arithmetic import Ring, RingArray, Shape, power_of_two
from cofit.sharing.masked_opening import low_digit, of_wrap, public_part, raised, top_digit
from cofit.sharing.shamir.digits import Digits
from cofit.sharing.shamir.wraps import MaskedSums, Wraps
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
        """Divide the sum of summands, of openers and maskers, by 2^shift."""
        ring = power_of_two(ring, "Truncation by a masked opening")
        openers, count = self.geometry.openers, math.prod(shape)
        top, low = top_width(self.geometry.threshold), low_width(self.geometry.threshold)
        widths = [top, low] if low else [top]

        def digits_of(values: RingArray) -> list[Digits]:
            found = [top_digit(ring, values, top)]
            return [*found, low_digit(ring, values, shift, low)] if low else found

        digits, plain, own = None, None, None
        if self.rank in openers:
            total = ring.signed_sum([*masks, *([] if summand is None else [summand])]).reshape(-1)
            own = raised(ring, total) if self.rank == openers[0] else total
        elif masks:
            mask = ring.signed_sum(masks, [] if summand is None else [summand]).reshape(-1)
            digits, plain = digits_of(mask), ring.neg(ring.shr(mask, shift))
        opening, sums = self._to_each_other(ring, own), MaskedSums(ring, count, widths, digits, plain)
        opened, counted = self._count_wraps(operation, sums, opening, digits_of)
        result = None
        if opened is not None and counted is not None:
            wrapped, *below = counted.wraps
            terms = [counted.plain, of_wrap(ring, wrapped, shift)]
            if self.rank == openers[0]:
                terms.append(public_part(ring, opened, shift))
            result = ring.signed_sum(terms, below)
        share = self._run(operation, self._reshared(ring, result, (count,), openers))
        return share.linear(lambda part: part.reshape(shape))
