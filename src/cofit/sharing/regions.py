"""Which parts of a shared matrix a computing party knows, because it is their owner.

A matrix that is joined from several contributions falls into regions: blocks of rows, or of columns, each known to one
party or to none. Where a party knows a region, its summand is the value and those of the others are zero there. All
members of a run, a dealer too, come to the same regions: they follow from public facts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cofit.arithmetic import Place, RingArray, Shape
from cofit.sharing.shares import Share


@dataclass(frozen=True, slots=True)
class Region:
    """A block of an array. ``holder``: the rank of the party that knows it, or None."""

    place: Place
    holder: int | None

    @property
    def shape(self) -> Shape:
        """The shape of the block."""
        return tuple(part.stop - part.start for part in self.place)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class KnownShare(Share):
    """A share of a matrix, parts of which are known to a party each; the regions make up all of it.

    What is computed from it, or cut out of it, is an ordinary share.
    """

    regions: tuple[Region, ...]


def whole(shape: Shape) -> Place:
    """Return the place of all elements."""
    return tuple(slice(0, length) for length in shape)


def regions_in(share: Share) -> tuple[Region, ...]:
    """Return the regions of a share: one that nobody knows, if nothing else is known of it."""
    return share.regions if isinstance(share, KnownShare) else (Region(whole(share.shape), None),)


def joined_regions(
    shape: Shape, pieces: Sequence[tuple[Place, int | None]], constant: Place | None
) -> tuple[Region, ...] | None:
    """Return the regions of a matrix that is joined from pieces, each with its holder; None for an ordinary share.

    constant: the place of a public column. It belongs to the pieces on its left: everybody knows it, so their holders
    do. Neighbours with one holder become one region.
    """
    if len(shape) != 2 or all(holder is None for _, holder in pieces):
        return None
    regions: list[Region] = []
    for (rows, columns), holder in pieces:
        beside = constant is not None and columns.stop == constant[1].start
        region = Region((rows, slice(columns.start, shape[1]) if beside else columns), holder)
        joint = _joint(regions[-1], region) if regions else None
        if joint is not None:
            regions[-1] = joint
        elif region.size:
            regions.append(region)
    complete = sum(region.size for region in regions) == math.prod(shape)
    return tuple(regions) if complete else None  # an ordinary share is always right


def _joint(first: Region, second: Region) -> Region | None:
    """Return two neighbours with one holder as one region."""
    (rows, columns), (lower, right) = first.place, second.place
    if first.holder != second.holder:
        return None
    if columns == right and rows.stop == lower.start:
        return Region((slice(rows.start, lower.stop), columns), first.holder)
    if rows == lower and columns.stop == right.start:
        return Region((rows, slice(columns.start, right.stop)), first.holder)
    return None


# --- parts of a block, in the order of its elements ------------------------------------------------------


def cut(block: RingArray, chunk: slice) -> RingArray:
    """Return the elements ``chunk`` of a block, counted row by row: a view, or a copy if the block is a view itself."""
    if block.flags.c_contiguous:
        return block.reshape(-1)[chunk]
    rows, inside = _rows_of(block, chunk)
    return block[rows].reshape(-1)[inside]


def paste(block: RingArray, chunk: slice, elements: RingArray) -> None:
    """Put elements in the place from which ``cut`` takes them."""
    if block.flags.c_contiguous:
        block.reshape(-1)[chunk] = elements
        return
    rows, inside = _rows_of(block, chunk)
    copied = block[rows].copy(order="C")
    copied.reshape(-1)[inside] = elements
    block[rows] = copied


def _rows_of(block: RingArray, chunk: slice) -> tuple[slice, slice]:
    """Return the rows that a chunk touches, and its place in them."""
    width = math.prod(block.shape[1:])
    first, last = chunk.start // width, -(-chunk.stop // width)
    return slice(first, last), slice(chunk.start - first * width, chunk.stop - first * width)
