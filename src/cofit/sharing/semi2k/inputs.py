"""What owners deal to the parties of ``semi2k``, and how it is put together.

An owner outside deals seeds to all parties but the first, which gets the rest. An owner that is a party keeps its
values there and deals nothing: see ``proof.md``, "Parts that a party knows".
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from cofit.arithmetic import Generator, Ring, RingArray, Shape
from cofit.arithmetic.prg import SEED_BYTES, derive_seed, fresh_seed
from cofit.errors import InvalidInputError
from cofit.sharing.dealing import chunks, last_summand
from cofit.sharing.regions import KnownShare, joined_regions
from cofit.sharing.scheme import Bytes, Place, Scheme, as_bytes
from cofit.sharing.shares import Component, ComponentFacts, DealtShare, Share


@dataclass(frozen=True, slots=True, repr=False)
class Semi2kDealt:
    """What an owner dealt to one party: a seed, or (to rank 0) the summand itself.

    ``holder``: the party that the owner is, if it is one. It has the values, and the others have nothing (None).
    """

    ring: Ring
    shape: Shape
    content: bytes | RingArray | None
    holder: int | None = None

    def expand(self) -> Share:
        """Draw the summand if it came as a seed; zeros stand for nothing."""
        if self.content is None:
            return Share(self.ring, (self.ring.zeros(self.shape),))
        if isinstance(self.content, bytes):
            return Share(self.ring, (Generator(self.content).ring(self.ring, self.shape),))
        return Share(self.ring, (self.content,))

    def expand_into(self, out: RingArray) -> None:
        """Write the summand to its place in a larger array."""
        if self.content is None:
            out[...] = self.ring.zeros(())
        elif isinstance(self.content, bytes):
            Generator(self.content).ring_into(self.ring, out)
        else:
            out[...] = self.content


class DealtToParties(Scheme):
    """A party of ``semi2k``, with what owners deal to it."""

    @classmethod
    def deal(cls, ring: Ring, values: RingArray, parties: int) -> Iterator[Mapping[int, Bytes]]:
        """Seeds to all but the first party, which gets the rest in chunks (the last hears from the dealer already)."""
        cls.info.check_parties(parties)
        seeds = {rank: fresh_seed() for rank in range(1, parties)}
        yield {rank: memoryview(seed) for rank, seed in seeds.items()}
        for rest in last_summand(ring, values, list(seeds.values())):
            yield {0: rest}

    def receive_input(self, owner: str, ring: Ring, shape: Shape) -> DealtShare:
        if self.rank:
            seed = np.empty(SEED_BYTES, np.uint8)
            self.mesh.exchange(self._label + "input", {}, {owner: seed.data})
            return Semi2kDealt(ring, shape, seed.tobytes())
        values = ring.empty(shape)
        for chunk in chunks(ring, values.size):
            self.mesh.exchange(self._label + "input", {}, {owner: as_bytes(values.reshape(-1)[chunk])})
        return Semi2kDealt(ring, shape, values)

    @classmethod
    def layout(cls, ring: Ring, shape: Shape, parties: int) -> tuple[ComponentFacts, ...]:
        cls.info.check_parties(parties)
        seeds = [ComponentFacts(f"seed_{rank}", (rank,), SEED_BYTES) for rank in range(1, parties)]
        return (*seeds, ComponentFacts("x_0", (0,), math.prod(shape) * ring.element_bytes))

    @classmethod
    def components(cls, ring: Ring, values: RingArray, parties: int, seed: bytes) -> tuple[Component, ...]:
        *facts, rest = cls.layout(ring, values.shape, parties)
        seeds = [derive_seed(seed, f"semi2k summand {fact.ranks[0]}") for fact in facts]
        drawn = [
            Component(fact, functools.partial(_whole, content)) for fact, content in zip(facts, seeds, strict=True)
        ]
        return (*drawn, Component(rest, lambda: last_summand(ring, values, seeds)))

    @classmethod
    def assemble(cls, ring: Ring, shape: Shape, rank: int, received: Mapping[str, memoryview]) -> DealtShare:
        if rank:
            return Semi2kDealt(ring, shape, bytes(received[f"seed_{rank}"]))
        return Semi2kDealt(ring, shape, np.frombuffer(received["x_0"], ring.dtype).reshape(shape))

    @classmethod
    def known(cls, ring: Ring, shape: Shape, rank: int, holder: int, values: RingArray | None) -> DealtShare:
        """The holder's summand is the value, and those of the others are zero."""
        if (values is not None) != (rank == holder):
            raise InvalidInputError(f"Only the party of rank {holder} may have values that it alone knows; not {rank}.")
        if values is not None and values.shape != shape:
            raise InvalidInputError(f"The values must have shape {shape}; got {values.shape}.")
        return Semi2kDealt(ring, shape, values, holder)

    def expand_joined(
        self,
        ring: Ring,
        shape: Shape,
        pieces: Iterable[tuple[DealtShare, Place]],
        constant: tuple[RingArray, Place] | None = None,
    ) -> Share:
        """As every scheme does, with the regions that parties know; the constant goes to whoever knows its rows."""
        holders: list[tuple[Place, int | None]] = []
        share = super().expand_joined(ring, shape, self._noted(pieces, holders), constant)
        regions = joined_regions(shape, holders, None if constant is None else constant[1])
        if regions is None:
            return share
        (own,) = share.parts
        if constant is not None:
            element, (_, column) = constant
            for region in regions:
                rows, columns = region.place
                if region.holder is not None and columns.stop == column.stop:
                    own[rows, column] = element if self.rank == region.holder else ring.zeros(())
        return KnownShare(ring, (own,), regions)

    @staticmethod
    def _noted(
        pieces: Iterable[tuple[DealtShare, Place]], holders: list[tuple[Place, int | None]]
    ) -> Iterator[tuple[DealtShare, Place]]:
        """Hand on the pieces, one by one, and note who knows them."""
        for dealt, place in pieces:
            if not isinstance(dealt, Semi2kDealt):
                raise InvalidInputError(f"Only shares dealt by semi2k can be joined; got {type(dealt).__name__}.")
            holders.append((place, dealt.holder))
            yield dealt, place

    def _expand_joined(self, ring: Ring, shape: Shape, pieces: Iterable[tuple[DealtShare, Place]]) -> Share:
        joint = ring.empty(shape)
        for dealt, place in pieces:
            if not isinstance(dealt, Semi2kDealt):
                raise InvalidInputError(f"Only shares dealt by semi2k can be joined; got {type(dealt).__name__}.")
            dealt.expand_into(joint[place])
        return Share(ring, (joint,))


def _whole(content: bytes) -> Iterator[Bytes]:
    yield memoryview(content)
