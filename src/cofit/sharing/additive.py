"""A party of a scheme with one summand each, x = x_0 + ... + x_{n-1}: what it draws from seeds in common with others.

Every two parties i < j agree on a seed k_ij = HKDF(half of i, half of j; session). Sharings of zero come from these,
and the summands of what a party puts in; no message is sent for either.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Generator, Ring, RingArray, Shape
from cofit.arithmetic.prg import SEED_BYTES, derive_seed, fresh_seed
from cofit.sharing.additive_inputs import DealtToParties
from cofit.sharing.operands import own_values
from cofit.sharing.shares import Share
from cofit.sharing.spec import Spec
from cofit.transport import Mesh

Halves = dict[int, npt.NDArray[np.uint8]]
"""Of seeds, by the rank of the other party."""


class Additive(DealtToParties):
    """One of the computing parties."""

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self._others = [rank for rank in range(len(self.names)) if rank != self.rank]
        self._constant_part = 0 if self.rank == 0 else None
        self._pairs: dict[int, Generator] = {}
        self._coins = Generator(fresh_seed())

    @property
    def _part_count(self) -> int:
        return 1

    def _seed_halves(self) -> tuple[Halves, Halves]:
        """Return our half of the seed in common with every other party, and room for its half."""
        mine = {rank: np.frombuffer(fresh_seed(), np.uint8) for rank in self._others}
        return mine, {rank: np.empty(SEED_BYTES, np.uint8) for rank in self._others}

    def _agree_on_seeds(self, mine: Mapping[int, RingArray], heard: Mapping[int, RingArray]) -> None:
        """Derive the seeds from both halves."""
        session, name = self.mesh.terms.session, self.info.name
        for rank in self._others:
            halves = (mine[rank].tobytes(), heard[rank].tobytes())
            low, high = min(rank, self.rank), max(rank, self.rank)
            ordered = halves if self.rank == low else halves[::-1]
            self._pairs[rank] = Generator(derive_seed(b"".join(ordered) + session, f"{name} seed {low} {high}"))

    def input(self, source: int, values: RingArray | None, ring: Ring, shape: Shape) -> Share:
        """The others' summands come from the seeds that the source shares with them."""
        if self.rank != source:
            return Share(ring, (self._pairs[source].ring(ring, shape),))
        given = own_values(self.mesh.name, ring, values, shape)
        drawn = (self._pairs[rank].ring(ring, shape) for rank in self._others)
        return Share(ring, (functools.reduce(ring.sub, drawn, given),))

    def refresh(self, share: Share) -> Share:
        """Add a sharing of zero. Nothing is sent."""
        return Share(share.ring, (share.ring.add(share.parts[0], self._zero(share.ring, share.shape)),))

    def _zero(self, ring: Ring, shape: Shape) -> RingArray:
        """Return our summand of a random sharing of zero: of every two parties one adds and one subtracts a draw."""
        total = ring.zeros(shape)
        for rank in self._others:
            drawn = self._pairs[rank].ring(ring, shape)
            total = ring.add(total, drawn) if self.rank < rank else ring.sub(total, drawn)
        return total
