"""A matrix of two parties that takes part in many products: its summands stay with them, as they are.

For X = X_0 + X_1 and a vector b = b_0 + b_1 the parties have before, for masks B_i that party i drew, shares
C_0 + C_1 = X_0 B_1 + X_1 B_0. Then party i sends f_i = b_i - B_i and has X_i (b_i + f_other) + C_i:

    sum = X_0 b_0 + X_1 b_1 + X_0 (b_1 - B_1) + X_1 (b_0 - B_0) + X_0 B_1 + X_1 B_0 = X b.

One exchange, one product with the own summand. The masks of as many products as are foreseen are made together: two
products of matrices under homomorphic encryption (``rlwe``), in which one party has X_i and the other encrypts its
masks. In a region that one party knows the other's summand is zero, and one of the two falls away.

Row-wise squares: x_0^2 + x_1^2 + 2 x_0 x_1, and the last by encryption too, each party serving for half of the rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Place, PowerOfTwoRing, RingArray, power_of_two
from cofit.arithmetic.engine import Placed
from cofit.sharing.placed import PlacedShare
from cofit.sharing.regions import KnownShare, Region, regions_in, whole
from cofit.sharing.shares import Share

MOST_PRODUCTS = 128
"""Products with a matrix whose masks are made together."""
ROWS_AT_ONCE = 128
"""Rows of which either party encrypts its summand at once, for squares."""


class Crossed(NamedTuple):
    """A block of the matrix whose products with the other party's masks the party ``server`` has to make."""

    server: int
    place: Place

    @property
    def sizes(self) -> tuple[int, int]:
        """How many rows and columns it has."""
        rows, columns = (part.stop - part.start for part in self.place)
        return rows, columns


def crossed(regions: Sequence[Region], transposed: bool) -> list[Crossed]:
    """Return which blocks are multiplied with masks, and by whom."""
    turn: Callable[[Place], Place] = (lambda place: place[::-1]) if transposed else (lambda place: place)
    return [
        Crossed(server, turn(region.place))
        for region in regions
        for server in (0, 1)
        if region.size and region.holder in (None, server)
    ]


def square_steps(regions: Sequence[Region]) -> list[list[Crossed]]:
    """Return the blocks of rows whose squares need both parties, step by step; in each, either serves for one at
    most.
    """
    halves: tuple[list[Place], list[Place]] = ([], [])
    for region in regions:
        if region.holder is None and region.size:
            rows, columns = region.place
            middle = (rows.start + rows.stop + 1) // 2
            for server, (start, stop) in enumerate(((rows.start, middle), (middle, rows.stop))):
                halves[server].extend(
                    (slice(first, min(first + ROWS_AT_ONCE, stop)), columns)
                    for first in range(start, stop, ROWS_AT_ONCE)
                )
    steps = max(map(len, halves))
    return [
        [Crossed(server, places[step]) for server, places in enumerate(halves) if step < len(places)]
        for step in range(steps)
    ]


class MaskedProduct(NamedTuple):
    """Our mask of a right operand, and our share of what it and the other party's make with the matrix."""

    mask: RingArray
    product: RingArray

    def __repr__(self) -> str:
        return "<MaskedProduct>"


@dataclass(eq=False, repr=False)
class Ahead:
    """What was made for products of one matrix, in either orientation, and how many of these are still foreseen."""

    foreseen: list[int]
    made: tuple[deque[MaskedProduct], deque[MaskedProduct]] = field(default_factory=lambda: (deque(), deque()))

    @classmethod
    def of(cls, products: int) -> Ahead:
        """Return that nothing was made, and so many products are foreseen in either orientation."""
        return cls([products, products])

    def due(self, transposed: bool, columns: int) -> int:
        """Return for how many columns masks are to be made now; 0 where there are enough."""
        if len(self.made[transposed]) >= columns:
            return 0
        count = max(columns, min(self.foreseen[transposed], MOST_PRODUCTS))
        self.foreseen[transposed] = max(0, self.foreseen[transposed] - count)
        return count


class KeptSquares:
    """Our share of the squares of rows of a matrix, of some of its columns: computed once, whoever asks again."""

    def __init__(self, ring: PowerOfTwoRing, rows: int) -> None:
        self._ring = ring
        self._rows = rows
        self._kept: dict[tuple[int, int], tuple[RingArray, npt.NDArray[np.bool_]]] = {}

    def missing(self, place: Place) -> list[slice]:
        """Return the rows in this place that were not asked for yet, in ranges."""
        rows, _ = place
        there = self._of(place)[1][rows]
        edges = np.flatnonzero(np.diff(np.concatenate([[True], there, [True]]).astype(np.int8)))
        return [slice(rows.start + int(i), rows.start + int(j)) for i, j in edges.reshape(-1, 2)]

    def keep(self, place: Place, squares: RingArray) -> None:
        """Keep the squares of the rows in this place."""
        values, there = self._of(place)
        values[place[0]], there[place[0]] = squares, True

    def squares(self, place: Place) -> RingArray:
        """Return what was kept of these rows."""
        return self._of(place)[0][place[0]]

    def _of(self, place: Place) -> tuple[RingArray, npt.NDArray[np.bool_]]:
        columns = place[1].start, place[1].stop
        if columns not in self._kept:
            self._kept[columns] = self._ring.zeros((self._rows,)), np.zeros(self._rows, np.bool_)
        return self._kept[columns]


class PairHeld(PlacedShare):
    """``regions``: which parts of it a party knows, before it is transposed. ``ahead``: what was made for products with
    it. ``place``: where it is in what was held, of which ``kept`` are squares of rows.
    """

    __slots__ = ("ahead", "kept", "place", "regions", "transposed")
    regions: tuple[Region, ...]
    ahead: Ahead
    kept: KeptSquares
    place: Place
    transposed: bool

    def __init__(
        self,
        placed: Placed,
        regions: tuple[Region, ...],
        ahead: Ahead,
        kept: KeptSquares,
        place: Place,
        *,
        transposed: bool = False,
    ) -> None:
        super().__init__(placed)
        for name, value in zip(self.__slots__, (ahead, kept, place, regions, transposed), strict=True):
            object.__setattr__(self, name, value)

    def map(self, local: Callable[[RingArray], RingArray]) -> Share:
        """The transpose (``np.transpose``) is held too, all else is an ordinary share."""
        if local is not np.transpose:
            return self.linear(local)
        turned = self.placed.transposed()
        return PairHeld(turned, self.regions, self.ahead, self.kept, self.place, transposed=not self.transposed)

    def block(self, place: Place) -> Share:
        """Return the elements in this place, held for products of their own; squares of rows are kept together."""
        within = tuple(slice(*axis.indices(size)) for axis, size in zip(place, self.shape, strict=True))
        if within == whole(self.shape):
            return self
        inside = within[::-1] if self.transposed else within
        part = tuple(slice(o.start + i.start, o.start + i.stop) for o, i in zip(self.place, inside, strict=True))
        placed, regions = self.placed.block(place), regions_inside(self.regions, inside)
        return PairHeld(placed, regions, Ahead.of(1), self.kept, part, transposed=self.transposed)


def pair_held(placed: Placed, regions: tuple[Region, ...], products: int) -> PairHeld:
    """Return a matrix that is held from now on, for so many products in either orientation."""
    ring = power_of_two(placed.ring, "A matrix of two parties alone")
    rows = placed.shape[0]
    return PairHeld(placed, regions, Ahead.of(products), KeptSquares(ring, rows), whole(placed.shape))


def regions_inside(regions: Sequence[Region], within: Place) -> tuple[Region, ...]:
    """Return the parts of regions in a place, counted from there."""
    return tuple(part for region in regions if (part := _inside(region, within)).size)


def _inside(region: Region, within: Place) -> Region:
    """Return the part of a region in a place, counted from there."""
    both = []
    for own, outer in zip(region.place, within, strict=True):
        start, stop = max(own.start, outer.start), min(own.stop, outer.stop)
        both.append(slice(start - outer.start, max(start, stop) - outer.start))
    return Region(tuple(both), region.holder)


def operand(right: RingArray) -> RingArray:
    """Return a right operand as columns."""
    return right if right.ndim == 2 else right[:, None]


def known_regions(a: Share) -> tuple[Region, ...]:
    """Return which parts of a matrix a party knows."""
    return a.regions if isinstance(a, PairHeld | KnownShare) and not _turned(a) else regions_in(a)


def _turned(a: Share) -> bool:
    return isinstance(a, PairHeld) and a.transposed
