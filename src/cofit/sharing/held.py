"""A share that is held for many products: a public part, opened once, and a share of the mask that hides the value.

X = E + A, where E = X - A is known to all parties and A is additively shared. Every product with X then opens its other
operand only. A party has a share of A where it has a share of X: not in the regions that another party knows, and there
it has nothing to multiply either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cofit.arithmetic import Ring, RingArray, Shape
from cofit.sharing.regions import Region, whole
from cofit.sharing.shares import Place, Share


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HeldMask:
    """Our share of the mask of a held array: ``pieces``, each with its place; zero elsewhere.

    The rest are public facts, the same at all members: the shape, whether this is the transpose of what was held, and
    how many elements only one party has a mask of (``known``), and where a block begins in what was held (``origin``).
    """

    shape: Shape
    pieces: tuple[tuple[Place, RingArray], ...]
    known: int = 0
    transposed: bool = False
    origin: tuple[int, ...] = (0, 0)

    @property
    def full(self) -> RingArray | None:
        """The mask as one array, if that is what we have."""
        return self.pieces[0][1] if [place for place, _ in self.pieces] == [whole(self.shape)] else None

    def block(self, place: Place) -> HeldMask:
        """Return the mask of the elements in this place; its products are not counted as those with known data."""
        within = tuple(slice(*axis.indices(size)) for axis, size in zip(place, self.shape, strict=True))
        pieces = []
        for at, piece in self.pieces:
            overlap = [_overlap(one, other, n) for one, other, n in zip(at, within, self.shape, strict=True)]
            if all(inside is not None for inside in overlap):
                inside, outside = zip(*(both for both in overlap if both is not None), strict=True)
                pieces.append((outside, piece[inside]))
        shape = tuple(axis.stop - axis.start for axis in within)
        origin = tuple(begin + axis.start for begin, axis in zip(self.origin, within, strict=True))
        return replace(self, shape=shape, pieces=tuple(pieces), known=0, origin=origin)

    def transpose(self) -> HeldMask:
        """Return the mask of the transpose, in the same memory."""
        pieces = tuple((place[::-1], np.transpose(piece)) for place, piece in self.pieces)
        return replace(
            self, shape=self.shape[::-1], pieces=pieces, transposed=not self.transposed, origin=self.origin[::-1]
        )


class HeldShare(Share):
    """``public``: E. ``mask``: our share of A. ``adds_public``: whether E belongs to our ordinary share.

    ``parts`` are those of an ordinary share, worked out whenever something else than a product asks for them.
    """

    __slots__ = ("adds_public", "mask", "public")
    public: RingArray
    mask: HeldMask
    adds_public: bool

    def __init__(self, ring: Ring, public: RingArray, mask: HeldMask, *, adds_public: bool) -> None:
        object.__setattr__(self, "ring", ring)
        object.__setattr__(self, "public", public)
        object.__setattr__(self, "mask", mask)
        object.__setattr__(self, "adds_public", adds_public)

    @property
    def parts(self) -> tuple[RingArray, ...]:
        """Our ordinary share."""
        own = self.mask.full
        if own is None:
            own = self.ring.zeros(self.shape)
            for place, piece in self.mask.pieces:
                own[place] = piece
        return (self.ring.add(own, self.public),) if self.adds_public else (own,)

    @property
    def shape(self) -> Shape:
        """The shape of the shared array."""
        return self.mask.shape

    def map(self, local: Callable[[RingArray], RingArray]) -> Share:
        """Apply a linear map: the transpose (``np.transpose``) is held too, all else is an ordinary share."""
        if local is np.transpose:
            return HeldShare(self.ring, self.public.T, self.mask.transpose(), adds_public=self.adds_public)
        return self.linear(local)

    def block(self, place: Place) -> Share:
        """Return the elements in this place of both axes, held under the masks that they have."""
        mask = self.mask.block(place)
        return HeldShare(self.ring, self.public[place], mask, adds_public=self.adds_public)

    # --- our part of products, without the share of the masks' product -----------------------------------

    def matmul(self, right: RingArray, opened: RingArray) -> RingArray:
        """Return E @ right + A_i @ opened, for our share of the right operand and its opened f = b - B."""
        full = self.mask.full
        if full is not None:
            return self.ring.matmul_sum((self.public, full), (right, opened))
        product = self.ring.matmul(self.public, right)
        for place, piece in self.mask.pieces:
            self._add_to(product, place, self.ring.matmul(piece, opened[place[1]]))
        return product

    def inner(self, right: RingArray, opened: RingArray) -> RingArray:
        """The same for the inner products of rows."""
        full = self.mask.full
        if full is not None:
            return self.ring.inner_sum((self.public, full), (right, opened))
        product = self.ring.inner_sum((self.public,), (right,))
        for place, piece in self.mask.pieces:
            self._add_to(product, place, self.ring.inner_sum((piece,), (opened[place],)))
        return product

    def squares(self) -> RingArray:
        """Return 2 E . A_i, and E . E where E belongs to our share, of rows."""
        full = self.mask.full
        own = [(self.public, self.public)] if self.adds_public else []
        if full is not None:
            return self.ring.inner_sum(*zip(*([(self.public, full)] * 2 + own), strict=True))
        product = self.ring.inner_sum(*zip(*own, strict=True)) if own else self.ring.zeros(self.shape[:-1])
        for place, piece in self.mask.pieces:
            self._add_to(product, place, self.ring.inner_sum((self.public[place],) * 2, (piece,) * 2))
        return product

    def _add_to(self, product: RingArray, place: Place, summand: RingArray) -> None:
        product[place[0]] = self.ring.add(product[place[0]], summand)


def _overlap(piece: slice, wanted: slice, size: int) -> tuple[slice, slice] | None:
    """Return where the overlap lies in the piece and in what is wanted; None without one."""
    begin, end, _ = piece.indices(size)
    start, stop = max(begin, wanted.start), min(end, wanted.stop)
    if start >= stop:
        return None
    return slice(start - begin, stop - begin), slice(start - wanted.start, stop - wanted.start)


def known_elements(regions: Sequence[Region]) -> int:
    """Return how many elements are known to a party."""
    return sum(region.size for region in regions if region.holder is not None)


def masked_elements(shape: Shape, known: int, parties: int) -> int:
    """Return of how many elements a party has a mask, on average: of a known one only one party has."""
    return math.prod(shape) - known + -(-known // parties)
