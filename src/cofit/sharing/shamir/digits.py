"""Rows that stand for small secret numbers: what counting wraps is made of.

A digit h of q bits is dealt as a *thermometer*, S_u = [h > u] for u < 2^q - 1, or as a *one-hot row*, e_a = [h = a] for
a > 0. (S of 2^q - 1 is 0, and e_0 is 1 less all others.) Several *families* of digits, each with its own q, travel
together. All of it is written for any ring: in words of bits, plus is XOR, and a sum of which at most one term is 1 is
the same in both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import pack
from cofit.sharing.shamir.resharing import Resharing
from cofit.sharing.shares import Share
from cofit.sharing.steps import Messages, Protocol

Digits = npt.NDArray[np.uint8]
_Rows = npt.NDArray[np.bool_]


def digit_values(widths: Sequence[int]) -> int:
    """Return how many values a masker deals for its digits of these widths."""
    return sum((1 << q) - 1 for q in widths)


def places(sizes: Sequence[int]) -> list[slice]:
    """Return where the rows of every family lie among those of all."""
    ends = np.cumsum(sizes)
    return [slice(int(end) - size, int(end)) for end, size in zip(ends, sizes, strict=True)]


class DigitRows(Resharing):
    """One party, with what maskers deal, and what openers tell each other."""

    @property
    def _multiplies(self) -> bool:
        return self.rank in self.geometry.multipliers

    # --- dealing -----------------------------------------------------------------------------------------

    def _dealt_digits(
        self, ring: Ring, shape: Shape, widths: Sequence[int], digits: Sequence[Digits] | None
    ) -> Protocol[list[Share]]:
        """Share every masker's rows: one-hot of the first, thermometers of the others. 1 round.

        shape: of the elements of ``ring`` for a value of every digit; words of bits take the digits of 64.
        """
        maskers, own = self.geometry.maskers, None
        if digits is not None:
            own = rows_of(ring, digits, widths, one_hot=self.rank == maskers[0])
        dealt = yield from self._given(ring, (digit_values(widths), *shape), maskers, own)
        return [dealt[rank] for rank in maskers]

    def _to_openers(self, ring: Ring, own: RingArray | None, shape: Shape) -> Protocol[RingArray | None]:
        """Share values of the maskers as sums among the openers, who return their summand of the sum of all. 1 round.

        A masker draws the pieces of all openers but one, with each from its own stream, and sends that one the rest.
        """
        openers, maskers = self.geometry.openers, self.geometry.maskers
        explicit = {masker: openers[i % len(openers)] for i, masker in enumerate(maskers)}
        send: dict[int, list[RingArray]] = {}
        told: dict[int, RingArray] = {}
        drawn: list[RingArray] = []
        if own is not None:
            draws = [self._pairs[rank].ring(ring, shape) for rank in openers if rank != explicit[self.rank]]
            send[explicit[self.rank]] = [ring.signed_sum([own], draws)]
        elif self.rank in openers:
            told = {masker: ring.empty(shape) for masker in maskers if explicit[masker] == self.rank}
            drawn = [self._pairs[masker].ring(ring, shape) for masker in maskers if masker not in told]
        yield Messages(send, told)
        return ring.signed_sum([*drawn, *told.values()]) if self.rank in openers else None

    def _to_each_other(self, ring: Ring, own: RingArray | None) -> Protocol[RingArray | None]:
        """Openers tell each other a summand each, and return the sum; the others return None. 1 round."""
        if own is None:
            yield Messages({}, {})
            return None
        others = [rank for rank in self.geometry.openers if rank != self.rank]
        heard = {rank: ring.empty(own.shape) for rank in others}
        yield Messages({rank: [own] for rank in others}, heard)
        return ring.signed_sum([own, *heard.values()])

    def _shared_products(self, ring: Ring, shape: Shape, summands: RingArray | None) -> Protocol[Share]:
        """Share what the multipliers' summands add up to: the exchange of a product."""
        senders = self.geometry.multipliers
        masks = self._masks(ring, shape, senders, self._relay)
        masked = None if summands is None else ring.signed_sum([summands, *masks.plus], masks.minus)
        return (yield from self._shared(ring, shape, senders, masked, masks.drawn, self._relay))

    # --- rows --------------------------------------------------------------------------------------------

    def _whole_row(self, share: Share, place: slice) -> Share:
        """Return a one-hot row with its first element, which is 1 less all others."""
        rest = self.select(share, place)
        total = self.sum(rest, 0).linear(lambda part: part[None])
        return self.concatenate([self.sub(self._ones(share.ring, rest.shape[1:]), total), rest], 0)

    def _levels(self, share: Share, place: slice) -> Share:
        """Return a thermometer with its last element, which is 0."""
        rest = self.select(share, place)
        return self.concatenate([rest, self.constant(share.ring, share.ring.zeros((1, *rest.shape[1:])))], 0)

    def _ones(self, ring: Ring, shape: Shape) -> Share:
        return self.constant(ring, np.broadcast_to(one(ring), (1, *shape)))


def rows_of(ring: Ring, digits: Sequence[Digits], widths: Sequence[int], *, one_hot: bool) -> RingArray:
    """Return the one-hot rows or thermometers of digits, one below the other."""
    made = np.concatenate(
        [_one_hot(h, q) if one_hot else _thermometer(h, q) for h, q in zip(digits, widths, strict=True)]
    )
    return pack(made) if ring is BITS else ring.from_int(made)


def one(ring: Ring) -> RingArray:
    """Return the element 1; for words of bits, 64 of them."""
    return np.asarray((1 << 64) - 1, np.uint64) if ring is BITS else ring.from_int(np.asarray(1))


def _thermometer(digits: Digits, width: int) -> _Rows:
    return np.asarray(digits[None] > np.arange((1 << width) - 1, dtype=np.uint8)[:, None])


def _one_hot(digits: Digits, width: int) -> _Rows:
    return np.asarray(digits[None] == np.arange(1, 1 << width, dtype=np.uint8)[:, None])
