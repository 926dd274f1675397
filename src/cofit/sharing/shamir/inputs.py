"""How owners share values in ``shamir``: as a sum of a summand for every group, in the base ring.

Every party turns its summands into its share: a value that a group knows is shared by the polynomial that vanishes at
the points of all others (Cramer, Damgard, Ishai 2005, section 3). So whatever an owner deals is a sharing of an element
of the base ring: a share that would hold another element of the Galois ring cannot be dealt. That the members of a
group were dealt the same summand they see by comparing digests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cofit.arithmetic import Generator, Place, Ring, RingArray, Shape
from cofit.arithmetic.mapped import blocks_of_rows, give_back
from cofit.arithmetic.prg import elements_from
from cofit.errors import InvalidInputError
from cofit.sharing.expansion import Expansion
from cofit.sharing.shamir.geometry import Geometry, tables_of
from cofit.sharing.shares import DealtShare, Share
from cofit.sharing.summands import DealtSummands, SummandInputs

Blocks = Callable[[Sequence[RingArray]], Iterator[slice]]
"""Yields the rows of arrays of one shape, some at a time."""
_PIECE = 1 << 12  # elements of a summand that are drawn at once: those of all groups stay in the cache


@dataclass(frozen=True, slots=True, repr=False)
class DealtToGroups:
    """What an owner dealt to one party: the summands of the groups that it is in."""

    summands: DealtSummands
    geometry: Geometry
    rank: int

    def expand(self) -> Share:
        """Draw the summands that came as seeds, and turn all into the share."""
        ring, shape = self.summands.ring, self.summands.shape
        parts = [ring.empty(shape) for _ in range(self.geometry.degree)]
        self.expand_into([part.reshape(-1) if part.ndim == 0 else part for part in parts])
        return Share(ring, tuple(parts))

    def expand_into(self, parts: list[RingArray], blocks: Blocks = blocks_of_rows) -> None:
        """Write the share over ``parts``, some rows at a time: nothing is as large as the data but the share."""
        ring = self.summands.ring
        table = tables_of(self.geometry, ring).share_of(self.rank, _own_terms(self.geometry, self.rank))
        contents = [content for content in self.summands.contents if content is not None]
        first = self.summands.offset
        streams = [elements_from(seed, ring, first) if isinstance(seed, bytes) else seed for seed in contents]
        explicit = [stream.reshape(parts[0].shape) for stream in streams if not isinstance(stream, Generator)]
        for block in blocks(parts):
            for rows in _pieces(block, parts[0].shape[1:]):
                shape, given = parts[0][rows].shape, iter(explicit)
                values = [
                    stream.ring(ring, shape) if isinstance(stream, Generator) else next(given)[rows]
                    for stream in streams
                ]
                for part, made in zip(parts, ring.combined(values, table), strict=True):
                    part[rows] = made
            for one in explicit:
                give_back(one[block])


@dataclass(frozen=True)
class GroupInputs(SummandInputs):
    """``held``: by rank, the groups that it is in, by number. ``explicit``: the one whose summand is dealt in full."""

    geometry: Geometry

    def assemble(
        self, ring: Ring, shape: Shape, rank: int, received: Mapping[str, memoryview], offset: int = 0
    ) -> DealtShare:
        summands = super().assemble(ring, shape, rank, received, offset)
        if not isinstance(summands, DealtSummands):
            raise InvalidInputError("Summands of another scheme.")
        return DealtToGroups(summands, self.geometry, rank)


def group_inputs(scheme: str, geometry: Geometry) -> GroupInputs:
    """Return how owners share values; the last group gets its summand in full."""
    held = tuple(
        tuple(i for i, group in enumerate(geometry.groups) if rank in group) for rank in range(geometry.parties)
    )
    return GroupInputs(scheme, held, len(geometry.groups) - 1, geometry)


def joined(ring: Ring, shape: Shape, pieces: Iterable[tuple[DealtShare, Place]], degree: int, into: Expansion) -> Share:
    """Expand dealt shares, each into its place in one array of this shape; a piece is not kept."""
    parts = [into.room() for _ in range(degree)]
    for dealt, place in pieces:
        if not isinstance(dealt, DealtToGroups):
            raise InvalidInputError(f"Only shares of this scheme can be joined; got {type(dealt).__name__}.")
        dealt.expand_into([part[place] for part in parts], into.blocks)
    return Share(ring, tuple(parts))


def _own_terms(geometry: Geometry, rank: int) -> tuple[tuple[tuple[int, ...], int], ...]:
    return tuple((group, 1) for group in geometry.groups if rank in group)


def _pieces(block: slice, row: Shape) -> Iterator[slice]:
    """Yield rows of a block, so many at a time that they are about ``_PIECE`` elements."""
    step = max(1, _PIECE // max(1, math.prod(row)))
    for start in range(block.start, block.stop, step):
        yield slice(start, min(start + step, block.stop))
