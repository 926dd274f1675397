"""Truncation that never fails, by an opening under a mask that is uniform whatever anybody does.

z is to be divided by 2^s, with 0 <= z + 2^(k-2) < 2^(k-1). r is the sum of a draw u_A of every group A but the openers.
The openers learn c = z + 2^(k-2) + r modulo 2^k. As in ``shamir/truncation.py``, with a mask of every group in place of
one of every masker,

    floor(z / 2^s) = (c >> s) - sum_A (u_A >> s) + 2^(k-s) w(v) - w'(v') - 2^(k-2-s)

up to a carry of 0 or 1; v and v' are the top digits of c and of c modulo 2^s, w and w' the wraps of the digits that the
u_A have there (``wraps.py``), of q = 1 + ceil(log2 G) and ceil(log2 G) bits for G groups. That c is right is not
checked by itself: the product that it says there was, c - 2^(k-2) - r, is (``relations.py``).
"""

from __future__ import annotations

import math

from cofit.arithmetic import Ring, RingArray, Shape, power_of_two
from cofit.sharing.masked_opening import low_digit, power, public_part, raised, top_digit
from cofit.sharing.repn.wraps import Family, Wraps
from cofit.sharing.shares import Share


def low_width(masks: int) -> int:
    """Return the least q with G 2^-q <= 1, for a mask that is a sum of G."""
    return (masks - 1).bit_length()


def top_width(masks: int) -> int:
    """Return q: the rests of G digits, each below 2^(k-q), and a value below 2^(k-1) stay below 2^k together."""
    return 1 + low_width(masks)


class Truncation(Wraps):
    """One party, with its part in truncations."""

    def _truncate(self, a: Share, shift: int) -> Share:
        self.verification.refuse_after_failure()
        with self._whole():
            value, result = self._truncated("truncate", a.ring, self._first_summand(a), a.shape, shift, None)
            self.relations.note_zero(self.sub(value, a))
        return result

    def _truncated(
        self, operation: str, ring: Ring, summand: RingArray | None, shape: Shape, shift: int, plus: Share | None
    ) -> tuple[Share, Share]:
        ring = power_of_two(ring, "Truncation by a masked opening")
        count, groups = math.prod(shape), self.geometry.masking
        masks = self._masks(ring, (count,))
        own = [mask for group, mask in masks.items() if group[0] == self.rank]
        own += [
            part.reshape(-1)
            for part in (summand, None if plus is None else self._first_summand(plus))
            if part is not None
        ]
        own = own or [ring.zeros((count,))]
        if self.rank == 0:
            own[0] = raised(ring, own[0])
        top, low = top_width(len(groups)), low_width(len(groups))
        families = [
            Family(top, {group: top_digit(ring, mask, top) for group, mask in masks.items()}),
            Family(low, {group: low_digit(ring, mask, shift, low) for group, mask in masks.items()}),
        ]
        opened, prepared = self._together(
            operation,
            self._to_openers(ring, own[0] if len(own) == 1 else ring.signed_sum(own)),
            self._prepared_wraps(ring, count, families),
        )
        digits = None if opened is None else [top_digit(ring, opened, top), low_digit(ring, opened, shift, low)]
        factors = [ring.shl(power(ring, 0), ring.bits - shift), ring.neg(power(ring, 0))]
        wrapped = self._wraps(operation, ring, count, families, prepared, digits, factors)
        highs = {group: ring.neg(ring.shr(mask, shift)) for group, mask in masks.items()}
        seen = None if opened is None else {self.geometry.openers: public_part(ring, opened, shift)}
        result = self.add(wrapped, self._of_groups(ring, (count,), [highs] if seen is None else [highs, seen]))
        product = self._of_groups(
            ring,
            (count,),
            [
                {group: ring.neg(mask) for group, mask in masks.items()},
                {} if opened is None else {self.geometry.openers: ring.sub(opened, power(ring, ring.bits - 2))},
            ],
        ).linear(lambda part: part.reshape(shape))
        if plus is not None:
            product = self.sub(product, plus)
        return product, result.linear(lambda part: part.reshape(shape))
