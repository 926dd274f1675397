"""What an owner deals to the four parties of ``rep4``.

Seeds stand for x_0, x_1 and x_2; x_3 = x - x_0 - x_1 - x_2 is explicit. Rank j gets all but x_j: ranks 0 to 2 two seeds
and x_3, rank 3 three seeds.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from cofit.arithmetic import Generator, Ring, RingArray, Shape
from cofit.arithmetic.prg import SEED_BYTES, derive_seed, fresh_seed
from cofit.errors import InvalidInputError
from cofit.sharing.dealing import chunks, last_summand
from cofit.sharing.rep4.joint import JointMessages
from cofit.sharing.scheme import Bytes, Place, as_bytes
from cofit.sharing.shares import Component, ComponentFacts, DealtShare, Share


@dataclass(frozen=True, slots=True, repr=False)
class Rep4Dealt:
    """What an owner dealt to one rank: the seeds of its summands among x_0 to x_2, in order, and x_3 (not to 3)."""

    ring: Ring
    shape: Shape
    seeds: tuple[bytes, ...]
    x_3: RingArray | None

    def expand(self) -> Share:
        """Draw the summands that came as seeds."""
        return _in_order(self.ring, [Generator(seed).ring(self.ring, self.shape) for seed in self.seeds], self.x_3)


class DealtByOwners(JointMessages):
    """One of four parties, with what owners deal to it."""

    @classmethod
    def deal(cls, ring: Ring, values: RingArray, parties: int) -> Iterator[Mapping[int, Bytes]]:
        cls.info.check_parties(parties)
        seeds = [fresh_seed() for _ in range(3)]
        yield {rank: memoryview(b"".join(seeds[j] for j in seeded(rank))) for rank in range(4)}
        for rest in last_summand(ring, values, seeds):
            yield dict.fromkeys(range(3), rest)

    @classmethod
    def layout(cls, ring: Ring, shape: Shape, parties: int) -> tuple[ComponentFacts, ...]:
        cls.info.check_parties(parties)
        holders = [tuple(rank for rank in range(4) if rank != j) for j in range(4)]
        seeds = [ComponentFacts(f"seed_{j}", holders[j], SEED_BYTES) for j in range(3)]
        return (*seeds, ComponentFacts("x_3", holders[3], math.prod(shape) * ring.element_bytes))

    @classmethod
    def components(cls, ring: Ring, values: RingArray, parties: int, seed: bytes) -> tuple[Component, ...]:
        *seeded_facts, explicit = cls.layout(ring, values.shape, parties)
        seeds = [derive_seed(seed, f"rep4 summand {j}") for j in range(3)]
        drawn = [Component(facts, _once(own)) for facts, own in zip(seeded_facts, seeds, strict=True)]
        return (*drawn, Component(explicit, lambda: last_summand(ring, values, seeds)))

    @classmethod
    def assemble(cls, ring: Ring, shape: Shape, rank: int, received: Mapping[str, memoryview]) -> DealtShare:
        """That holders of a component have the same one is left to whoever transports the components."""
        x_3 = None if rank == 3 else np.frombuffer(received["x_3"], ring.dtype).reshape(shape)
        return Rep4Dealt(ring, shape, tuple(bytes(received[f"seed_{j}"]) for j in seeded(rank)), x_3)

    def receive_input(self, owner: str, ring: Ring, shape: Shape) -> DealtShare:
        """Receive, and compare with each other party what both were dealt: an owner may lie, too. 1 more round."""
        seeds = np.empty((len(seeded(self.rank)), SEED_BYTES), np.uint8)
        self.mesh.exchange(self._label + "input", {}, {owner: as_bytes(seeds)})
        digests = {j: own.tobytes() for j, own in zip(seeded(self.rank), seeds, strict=True)}
        x_3 = None
        if self.rank != 3:
            x_3, digest = ring.empty(shape), hashlib.sha256()
            for chunk in chunks(ring, x_3.size):
                piece = as_bytes(x_3.reshape(-1)[chunk])
                self.mesh.exchange(self._label + "input", {}, {owner: piece})
                digest.update(piece)
            digests[3] = digest.digest()
        self._agree_on(
            "input",
            {rank: b"".join(digests[j] for j in self._others if j != rank) for rank in self._others},
            f"Owner '{owner}' has dealt the two of them different shares, or that party lies.",
            owner,
        )
        return Rep4Dealt(ring, shape, tuple(own.tobytes() for own in seeds), x_3)

    def _expand_joined(self, ring: Ring, shape: Shape, pieces: Iterable[tuple[DealtShare, Place]]) -> Share:
        """Copy x_3 first: only seeds are left of a piece then, and the other arrays do not exist yet."""
        x_3 = ring.empty(shape) if self.rank != 3 else None
        seeds = [(_settle(dealt, x_3, place), place) for dealt, place in pieces]
        drawn = [ring.empty(shape) for _ in seeded(self.rank)]
        for own, place in seeds:
            for seed, part in zip(own, drawn, strict=True):
                Generator(seed).ring_into(ring, part[place])
        return _in_order(ring, drawn, x_3)


def seeded(rank: int) -> tuple[int, ...]:
    """Return which summands a rank is dealt as seeds."""
    return tuple(j for j in range(3) if j != rank)


def _once(seed: bytes) -> Callable[[], Iterator[memoryview]]:
    return lambda: iter([memoryview(seed)])


def _in_order(ring: Ring, drawn: Iterable[RingArray], x_3: RingArray | None) -> Share:
    return Share(ring, (*drawn,) if x_3 is None else (*drawn, x_3))


def _settle(dealt: DealtShare, x_3: RingArray | None, place: Place) -> tuple[bytes, ...]:
    """Copy the explicit summand of a piece into its place; return the seeds, which are the rest of it."""
    if not isinstance(dealt, Rep4Dealt):
        raise InvalidInputError(f"Only shares dealt by rep4 can be joined; got {type(dealt).__name__}.")
    if x_3 is not None:
        x_3[place] = dealt.x_3
    return dealt.seeds
