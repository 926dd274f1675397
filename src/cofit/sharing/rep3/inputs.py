"""What an owner deals to the three parties of ``rep3``.

Seeds stand for x_0 and x_1; x_2 = x - x_0 - x_1 is explicit. Rank 0 gets both seeds, ranks 1 and 2 one of them and x_2.
So any two parties are dealt one summand in common, and an owner whose shares do not fit together has dealt it
differently to the two.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cofit.arithmetic import Generator, Ring, RingArray, Shape
from cofit.arithmetic.prg import SEED_BYTES, derive_seed, fresh_seed
from cofit.errors import InvalidInputError
from cofit.sharing.dealing import chunks, dealt_differently, last_summand
from cofit.sharing.scheme import Bytes, Place, Scheme, as_bytes
from cofit.sharing.shares import Component, ComponentFacts, DealtShare, Share

DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True, repr=False)
class Rep3Dealt:
    """What an owner dealt to one party: the seeds of x_0 and x_1 to rank 0; one of them, and x_2, to ranks 1 and 2."""

    ring: Ring
    shape: Shape
    rank: int
    seeds: tuple[bytes, ...]
    x_2: RingArray | None

    def expand(self) -> Share:
        """Draw the summands that came as seeds."""
        return _in_order(self.ring, self.rank, self.x_2, [Generator(s).ring(self.ring, self.shape) for s in self.seeds])


class DealtByOwners(Scheme):
    """One of three parties, with what owners deal to it."""

    @classmethod
    def deal(cls, ring: Ring, values: RingArray, parties: int) -> Iterator[Mapping[int, Bytes]]:
        """Seeds stand for x_0 and x_1; x_2 = x - x_0 - x_1 goes to its holders 1 and 2 in chunks."""
        cls.info.check_parties(parties)
        seed_0, seed_1 = fresh_seed(), fresh_seed()
        yield {0: memoryview(seed_0 + seed_1), 1: memoryview(seed_1), 2: memoryview(seed_0)}
        for rest in last_summand(ring, values, (seed_0, seed_1)):
            yield {1: rest, 2: rest}

    @classmethod
    def layout(cls, ring: Ring, shape: Shape, parties: int) -> tuple[ComponentFacts, ...]:
        cls.info.check_parties(parties)
        size = math.prod(shape) * ring.element_bytes
        seeds = [ComponentFacts(f"seed_{i}", ranks, SEED_BYTES) for i, ranks in enumerate(((0, 2), (0, 1)))]
        return (*seeds, ComponentFacts("x_2", (1, 2), size))

    @classmethod
    def components(cls, ring: Ring, values: RingArray, parties: int, seed: bytes) -> tuple[Component, ...]:
        seed_0, seed_1 = (derive_seed(seed, f"rep3 summand {i}") for i in range(2))
        facts = cls.layout(ring, values.shape, parties)
        return (
            Component(facts[0], lambda: iter([memoryview(seed_0)])),
            Component(facts[1], lambda: iter([memoryview(seed_1)])),
            Component(facts[2], lambda: last_summand(ring, values, (seed_0, seed_1))),
        )

    @classmethod
    def assemble(cls, ring: Ring, shape: Shape, rank: int, received: Mapping[str, memoryview]) -> DealtShare:
        names = {0: ("seed_0", "seed_1"), 1: ("seed_1",), 2: ("seed_0",)}[rank]
        x_2 = None if rank == 0 else np.frombuffer(received["x_2"], ring.dtype).reshape(shape)
        return Rep3Dealt(ring, shape, rank, tuple(bytes(received[name]) for name in names), x_2)

    def receive_input(self, owner: str, ring: Ring, shape: Shape) -> DealtShare:
        """Receive, and compare with each other party what both were dealt: 1 more round, 6 digests.

        The protocol is for parties that do not cheat; owners may. A digest goes to a party that has what it is of.
        """
        seeds = np.empty((2 if self.rank == 0 else 1, SEED_BYTES), np.uint8)
        self.mesh.exchange(self._label + "input", {}, {owner: as_bytes(seeds)})
        common = {2: seeds[0], 1: seeds[1]} if self.rank == 0 else {0: seeds[0]}
        digests = {rank: hashlib.sha256(as_bytes(seed)) for rank, seed in common.items()}
        x_2 = None
        if self.rank != 0:
            x_2, digests[3 - self.rank] = ring.empty(shape), hashlib.sha256()
            for chunk in chunks(ring, x_2.size):
                piece = as_bytes(x_2.reshape(-1)[chunk])
                self.mesh.exchange(self._label + "input", {}, {owner: piece})
                digests[3 - self.rank].update(piece)
        self._compare(owner, {rank: digest.digest() for rank, digest in digests.items()})
        return Rep3Dealt(ring, shape, self.rank, tuple(seed.tobytes() for seed in seeds), x_2)

    def _compare(self, owner: str, digests: Mapping[int, bytes]) -> None:
        heard = {rank: np.empty(DIGEST_BYTES, np.uint8) for rank in digests}
        told = {rank: [np.frombuffer(digest, np.uint8)] for rank, digest in digests.items()}
        self._exchange("input", told, heard)
        for rank, digest in digests.items():
            if heard[rank].tobytes() != digest:
                raise dealt_differently(owner, self.mesh.name, self.names[rank])

    def _expand_joined(self, ring: Ring, shape: Shape, pieces: Iterable[tuple[DealtShare, Place]]) -> Share:
        """Copy x_2 first: only seeds are left of a piece then, and the other array does not exist yet."""
        x_2 = ring.empty(shape) if self.rank != 0 else None
        seeds = [(_settle(dealt, x_2, place), place) for dealt, place in pieces]
        drawn = [ring.empty(shape) for _ in range(2 if x_2 is None else 1)]
        for own, place in seeds:
            for seed, part in zip(own, drawn, strict=True):
                Generator(seed).ring_into(ring, part[place])
        return _in_order(ring, self.rank, x_2, drawn)


def _in_order(ring: Ring, rank: int, x_2: RingArray | None, drawn: Sequence[RingArray]) -> Share:
    """Return a dealt share, given its explicit summand (none at rank 0) and those drawn from seeds."""
    if x_2 is None:
        return Share(ring, tuple(drawn))
    return Share(ring, (*drawn, x_2) if rank == 1 else (x_2, *drawn))


def _settle(dealt: DealtShare, x_2: RingArray | None, place: Place) -> tuple[bytes, ...]:
    """Copy the explicit summand of a piece into its place; return the seeds, which are the rest of it."""
    if not isinstance(dealt, Rep3Dealt):
        raise InvalidInputError(f"Only shares dealt by rep3 can be joined; got {type(dealt).__name__}.")
    if x_2 is not None:
        x_2[place] = dealt.x_2
    return dealt.seeds
