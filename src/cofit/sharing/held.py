"""A share that is held for many products: a public part, opened once, and a share of the mask that hides the value.

X = E + A, where E = X - A is known to all parties and A is additively shared. Every product with X then opens its other
operand only. A party has a share of A where it has a share of X: not in the regions that another party knows, and there
it has nothing to multiply either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from cofit.arithmetic import Place, Ring, RingArray, Shape
from cofit.arithmetic.engine import LOCAL, Engine, Placed
from cofit.arithmetic.ring import matmul_shape
from cofit.sharing.regions import Region, whole
from cofit.sharing.shares import Share


class HeldFacts(NamedTuple):
    """The public facts of a mask, or of a part or the transpose of one; shapes alone do not tell them apart."""

    number: int
    shape: Shape
    transposed: bool
    origin: tuple[int, ...]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HeldMask:
    """Our share of the mask of a held array: ``pieces``, each with its place in it; zero elsewhere.

    The rest are public facts, the same at all members: the shape, whether this is the transpose of what was held, and
    how many elements only one party has a mask of (``known``), where a block begins in what was held (``origin``), and
    which of the masks of a run this is a part of (``number``). ``record``: what lives as long as this, its parts and
    its transpose do.
    """

    shape: Shape
    pieces: tuple[tuple[Place, Placed], ...]
    known: int = 0
    transposed: bool = False
    origin: tuple[int, ...] = (0, 0)
    number: int = 0
    record: object = None

    @property
    def facts(self) -> HeldFacts:
        """What tells it from other masks, parts and transposes."""
        return HeldFacts(self.number, self.shape, self.transposed, self.origin)

    def part(self, facts: HeldFacts) -> HeldMask:
        """Return the part, or the transpose of one, that has these facts; this is the mask of all that was held."""
        mask = self.transpose() if facts.transposed else self
        if facts.shape == mask.shape:
            return mask
        return mask.block(tuple(slice(start, start + n) for start, n in zip(facts.origin, facts.shape, strict=True)))

    def block(self, place: Place) -> HeldMask:
        """Return the mask of the elements in this place; its products are not counted as those with known data."""
        within = tuple(slice(*axis.indices(size)) for axis, size in zip(place, self.shape, strict=True))
        pieces = []
        for at, piece in self.pieces:
            overlap = [_overlap(one, other, n) for one, other, n in zip(at, within, self.shape, strict=True)]
            if all(inside is not None for inside in overlap):
                inside, outside = zip(*(both for both in overlap if both is not None), strict=True)
                pieces.append((outside, piece.block(inside)))
        shape = tuple(axis.stop - axis.start for axis in within)
        origin = tuple(begin + axis.start for begin, axis in zip(self.origin, within, strict=True))
        return replace(self, shape=shape, pieces=tuple(pieces), known=0, origin=origin)

    def transpose(self) -> HeldMask:
        """Return the mask of the transpose, in the same memory."""
        pieces = tuple((place[::-1], piece.transposed()) for place, piece in self.pieces)
        return replace(
            self, shape=self.shape[::-1], pieces=pieces, transposed=not self.transposed, origin=self.origin[::-1]
        )


class HeldShare(Share):
    """``public``: E. ``mask``: our share of A. ``adds_public``: whether E belongs to our ordinary share.

    Both are where the engine has put them; where our share of A has no gaps, ``both`` are E and it, which are read in
    one pass. ``parts`` are those of an ordinary share, worked out whenever something else than a product asks for them.
    """

    __slots__ = ("adds_public", "both", "mask", "public")
    public: Placed
    mask: HeldMask
    adds_public: bool
    both: Placed | None

    def __init__(self, public: Placed, mask: HeldMask, *, adds_public: bool, both: Placed | None = None) -> None:
        object.__setattr__(self, "ring", public.ring)
        object.__setattr__(self, "public", public)
        object.__setattr__(self, "mask", mask)
        object.__setattr__(self, "adds_public", adds_public)
        object.__setattr__(self, "both", both)

    @property
    def parts(self) -> tuple[RingArray, ...]:
        """Our ordinary share."""
        own = self.ring.zeros(self.shape)
        for place, piece in self.mask.pieces:
            own[place] = piece.fetch()[0]
        return (self.ring.add(own, self.public.fetch()[0]),) if self.adds_public else (own,)

    @property
    def placed(self) -> Placed:
        """The ordinary share, here."""
        return LOCAL.place(self.ring, self.parts)

    @property
    def shape(self) -> Shape:
        """The shape of the shared array."""
        return self.mask.shape

    def map(self, local: Callable[[RingArray], RingArray]) -> Share:
        """Apply a linear map: the transpose (``np.transpose``) is held too, all else is an ordinary share."""
        if local is np.transpose:
            both = None if self.both is None else self.both.transposed()
            return HeldShare(self.public.transposed(), self.mask.transpose(), adds_public=self.adds_public, both=both)
        return self.linear(local)

    def block(self, place: Place) -> Share:
        """Return the elements in this place of both axes, held under the masks that they have."""
        both = None if self.both is None else self.both.block(place)
        return HeldShare(self.public.block(place), self.mask.block(place), adds_public=self.adds_public, both=both)

    def times(self, right: RingArray) -> Share:
        """Return A_i @ right, and E @ right where E belongs to our share."""
        product = self.ring.zeros(matmul_shape(self.shape, right.shape))
        if self.adds_public:
            product = matrix_product(self.public, right)
        for place, piece in self.mask.pieces:
            self._add_to(product, place, matrix_product(piece, right[place[1]]))
        return Share(self.ring, (product,))

    # --- our part of products, without the share of the masks' product -----------------------------------

    def matmul(self, right: RingArray, opened: RingArray) -> RingArray:
        """Return E @ right + A_i @ opened, for our share of the right operand and its opened f = b - B."""
        if self.both is not None:
            return self.both.matmul_sum((right, opened))
        product = matrix_product(self.public, right)
        for place, piece in self.mask.pieces:
            self._add_to(product, place, matrix_product(piece, opened[place[1]]))
        return product

    def inner(self, right: RingArray, opened: RingArray) -> RingArray:
        """The same for the inner products of rows."""
        product = rows_product(self.public, right)
        for place, piece in self.mask.pieces:
            self._add_to(product, place, rows_product(piece, opened[place]))
        return product

    def squares(self) -> RingArray:
        """Return 2 E . A_i, and E . E where E belongs to our share, of rows."""
        product = squares(self.public) if self.adds_public else self.ring.zeros(self.shape[:-1])
        for place, piece in self.mask.pieces:
            once = self.public.block(place).inner_sum((0,), piece, (0,))
            self._add_to(product, place, self.ring.add(once, once))
        return product

    def _add_to(self, product: RingArray, place: Place, summand: RingArray) -> None:
        product[place[0]] = self.ring.add(product[place[0]], summand)


def held(
    engine: Engine,
    ring: Ring,
    public: RingArray,
    pieces: Sequence[tuple[Place, RingArray]],
    number: int,
    known: int,
    adds: bool,
) -> HeldShare:
    """Give E and our pieces of A, the mask ``number``, to the engine.

    known: how many elements a party knows. adds: ``adds_public``.
    """
    if [place for place, _ in pieces] == [whole(public.shape)]:
        both = engine.place(ring, (public, pieces[0][1]))
        mask = HeldMask(public.shape, ((pieces[0][0], both.only(1)),), known, number=number)
        return HeldShare(both.only(0), mask, adds_public=adds, both=both)
    placed = tuple((place, engine.place(ring, (piece,))) for place, piece in pieces)
    mask = HeldMask(public.shape, placed, known, number=number)
    return HeldShare(engine.place(ring, (public,)), mask, adds_public=adds)


def matrix_product(left: Placed, right: RingArray) -> RingArray:
    """Return left @ right."""
    return left.matmul_sum((right,))


def rows_product(left: Placed, right: RingArray) -> RingArray:
    """Return the inner products of rows."""
    return left.inner_sum((0,), LOCAL.place(left.ring, (right,)), (0,))


def squares(held: Placed) -> RingArray:
    """Return the inner products of rows with themselves."""
    return held.inner_sum((0,), held, (0,))


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
