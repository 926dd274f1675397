"""A matrix that is held for many products, in ``rep3``: party 0 multiplies the sum of its two summands, one array.

X = x_0 + x_1 + x_2 and b = b_0 + b_1 + b_2; party i has x_i, x_{i+1}, b_i, b_{i+1}. Of the nine products x_j b_k

    party 0    (x_0 + x_1) (b_0 + b_1)            reads one matrix
    party 1    x_1 b_2 + x_2 (b_1 + b_2)          reads two
    party 2    x_2 b_0 + x_0 b_2                  reads two

compute each once: five products with a matrix in place of six, all parties together, which is what counts where they
share a machine. Where each has its own, parties 1 and 2 are no faster, and a product waits for them. Each party's
summand is made of what it has; it is masked and sent as that of any product (``Rep3._matmul``).

Party 0 keeps x_0 + x_1 in the place of x_0. Whatever else asks for x_0, or for some of it, gets (x_0 + x_1) - x_1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from cofit.arithmetic import Place, Ring, RingArray, Shape
from cofit.arithmetic.engine import LOCAL, Engine, Placed
from cofit.arithmetic.integers import Words
from cofit.arithmetic.mapped import blocks_of_rows
from cofit.sharing.placed import PlacedShare
from cofit.sharing.shares import Share

FIRST = 0
"""The party that multiplies one matrix."""
_BLOCK_BYTES = 1 << 20
_MADE_OF = (((0, 1), (1, -1)), ((1, 1),))
"""Of which of the kept arrays x_0 and x_1 are made, and with which signs."""
_THEMSELVES = (((0, 1),), ((1, 1),))


def held_factors(ring: Ring, rank: int, own: RingArray, following: RingArray) -> tuple[RingArray, RingArray]:
    """Return what the parts of a held matrix are multiplied by, from those of b."""
    if rank == FIRST:
        both = ring.add(own, following)
        return both, both
    return (following, ring.add(own, following)) if rank == 1 else (following, own)


def summed(engine: Engine, share: Share, *, owned: bool) -> PlacedShare:
    """Return the share of party 0, with x_0 + x_1 in the memory of x_0 where that is ours (``Scheme.hold``)."""
    ring, (first, last) = share.ring, share.parts
    total = first if owned and first.flags.writeable else engine.room(ring, first.shape)
    for rows in blocks_of_rows([first, last, total]):
        total[rows] = ring.add(first[rows], last[rows])
    return SummedShare(SummedPlaced(engine.place(ring, (total, last))))


class SummedPlaced(Placed):
    """The arrays x_0 and x_1, of which x_0 + x_1 and x_1 are kept, where the engine has put them (``kept``)."""

    __slots__ = ("_kept", "count", "origin", "ring", "shape")

    def __init__(self, kept: Placed) -> None:
        self._kept = kept
        self.ring: Ring = kept.ring
        self.shape: Shape = kept.shape
        self.count = kept.count
        self.origin = (*kept.origin, "summed")

    def linear(self, local: Callable[[RingArray], RingArray]) -> tuple[RingArray, ...]:
        """Return what a linear map, or an indexing, makes of both arrays."""
        total, last = map(local, self._kept.fetch())
        return self.ring.sub(total, last), last

    def fetch(self) -> tuple[RingArray, ...]:
        return self.linear(lambda array: array)

    def only(self, *chosen: int) -> Placed:
        if chosen == (0, 1):
            return self
        if 0 not in chosen:
            return self._kept.only(*chosen)
        arrays = self.fetch()
        return LOCAL.place(self.ring, [arrays[t] for t in chosen])

    def transposed(self) -> SummedPlaced:
        return SummedPlaced(self._kept.transposed())

    def block(self, place: Place) -> SummedPlaced:
        return SummedPlaced(self._kept.block(place))

    def matmul_sum(self, rights: Sequence[RingArray]) -> RingArray:
        """x_0 b + x_1 c = (x_0 + x_1) b + x_1 (c - b)."""
        first, second = rights
        if second is first:
            return self._kept.only(0).matmul_sum((first,))
        return self._kept.matmul_sum((first, self.ring.sub(second, first)))

    def matvec_pairs(self, vectors: Sequence[RingArray]) -> RingArray:
        a, b, c, d = vectors
        rows = self._kept.matvec_pairs((a, b, c, d))
        first = self._kept.only(1).matvec_pairs((a, b))
        return np.concatenate([self.ring.sub(rows[:2], first), rows[2:]])

    def matmul(self, right: RingArray) -> tuple[RingArray, ...]:
        total, last = self._kept.matmul(right)
        return self.ring.sub(total, last), last

    def inner_sum(
        self,
        own: Sequence[int],
        other: Placed,
        others: Sequence[int],
        shift: int = 0,
    ) -> RingArray:
        """With (x_0 + x_1) - x_1 for every x_0, multiplied out; where elements are shifted, x_0 itself."""
        if shift:
            return self._shifted_inner(own, other, others, shift)
        theirs, of_theirs = (other._kept, _MADE_OF) if isinstance(other, SummedPlaced) else (other, _THEMSELVES)
        times = Counter[tuple[int, int]]()
        for i, j in zip(own, others, strict=True):
            for (k, sign), (m, other_sign) in product(_MADE_OF[i], of_theirs[j]):
                times[k, m] += sign * other_sign
        found = self.ring.zeros(self.shape[:-1])
        for terms, joined in (+times, self.ring.add), (-times, self.ring.sub):
            if pairs := list(terms.elements()):
                left, right = zip(*pairs, strict=True)
                found = joined(found, self._kept.inner_sum(left, theirs, right))
        return found

    def _shifted_inner(self, own: Sequence[int], other: Placed, others: Sequence[int], shift: int) -> RingArray:
        """Some rows at a time, so that x_0 is never there as a whole."""
        out = self.ring.empty(self.shape[:-1])
        each = self.count * self.ring.element_bytes * math.prod(self.shape[1:])
        step = max(1, _BLOCK_BYTES // max(1, each))
        for start in range(0, self.shape[0], step):
            place = (slice(start, start + step), *(slice(None) for _ in self.shape[1:]))
            here = LOCAL.place(self.ring, self.block(place).fetch())
            theirs = here if other is self else other.block(place)
            out[start : start + step] = here.inner_sum(own, theirs, others, shift)
        return out

    def row_sums(self, chosen: Words) -> tuple[RingArray, ...]:
        total, last = self._kept.row_sums(chosen)
        return self.ring.sub(total, last), last

    def sums(self, axis: int | None) -> tuple[RingArray, ...]:
        total, last = self._kept.sums(axis)
        return self.ring.sub(total, last), last


class SummedShare(PlacedShare):
    """The share of party 0."""

    __slots__ = ()

    def map(self, local: Callable[[RingArray], RingArray]) -> Share:
        """Apply a linear map: the transpose (``np.transpose``) stays what it is, all else is an ordinary share."""
        return SummedShare(self._summed.transposed()) if local is np.transpose else self.linear(local)

    def block(self, place: Place) -> Share:
        """Return the elements in this place of both axes, where they are."""
        return SummedShare(self._summed.block(place))

    def linear(self, local: Callable[[RingArray], RingArray]) -> Share:
        """As ``map``, of what is kept: so an indexing brings nothing else here."""
        return Share(self.ring, self._summed.linear(local))

    @property
    def _summed(self) -> SummedPlaced:
        placed = self.placed
        assert isinstance(placed, SummedPlaced)  # noqa: S101 - for the type checker
        return placed
