"""Random streams that sets of parties have in common: one with every other party, and one for every group.

All members of a group, and both of a pair, contribute to its seed. What is drawn from a stream costs no message, and
is uniform to whoever is not a member. Sources: Cramer, Damgard, Ishai, "Share conversion, pseudorandom secret-sharing
and applications to secure computation", TCC 2005, sections 3 and 4.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence

import numpy as np

from cofit.arithmetic import Generator, Ring, RingArray, Shape
from cofit.arithmetic.prg import SEED_BYTES, derive_seed, fresh_seed
from cofit.sharing.member import SPREAD
from cofit.sharing.scheme import Scheme
from cofit.sharing.spec import Spec
from cofit.transport import Mesh

Group = tuple[int, ...]
"""The ranks of some parties, in order."""


class GroupStreams(Scheme):
    """One party, with its streams. A scheme says which groups there are."""

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self._others = [rank for rank in range(len(self.names)) if rank != self.rank]
        self._own_groups = [group for group in self._all_groups() if self.rank in group]
        self._pairs: dict[int, Generator] = {}
        self._groups: dict[Group, Generator] = {}
        self._common: dict[int, list[Generator]] = {rank: [] for rank in self._others}

    @abstractmethod
    def _all_groups(self) -> Sequence[Group]: ...

    def _common_state(self, rank: int) -> int:
        """The positions of all streams that we share with that party, spread over 32 bits."""
        state = 0
        for stream in self._common[rank]:
            state = (state + stream.position) * SPREAD & 0xFFFFFFFF
        return state

    def setup(self) -> None:
        """Agree on the seeds: HKDF of what every member of a pair or group contributed, in the order of ranks, of
        their names, and of the session. 1 round; to every other party one seed for the pair and one for each group that
        both are in.
        """
        common = {rank: [(rank,), *(g for g in self._own_groups if rank in g)] for rank in self._others}
        mine = {of: fresh_seed() for of in [*((rank,) for rank in self._others), *self._own_groups]}
        heard = {rank: np.empty((len(of), SEED_BYTES), np.uint8) for rank, of in common.items()}
        told = {rank: [np.frombuffer(mine[g], np.uint8) for g in of] for rank, of in common.items()}
        self._exchange("setup", told, heard)
        theirs = {(rank, of): heard[rank][i].tobytes() for rank, sets in common.items() for i, of in enumerate(sets)}
        for rank in self._others:
            given = {self.rank: mine[(rank,)], rank: theirs[rank, (rank,)]}
            self._pairs[rank] = self._stream("pair", given)
        for group in self._own_groups:
            given = {rank: mine[group] if rank == self.rank else theirs[rank, group] for rank in group}
            self._groups[group] = self._stream("group", given)
        for rank in self._others:
            self._common[rank] = [self._pairs[rank], *(self._groups[g] for g in self._own_groups if rank in g)]

    def _stream(self, kind: str, given: dict[int, bytes]) -> Generator:
        """Return the stream of what its members gave."""
        material = b"".join(given[rank] for rank in sorted(given)) + self.mesh.terms.session
        members = [(rank, self.names[rank]) for rank in sorted(given)]
        return Generator(derive_seed(material, f"{self.info.name} {kind} {members}"))

    def _drawn(self, groups: Iterable[Group], ring: Ring, shape: Shape) -> dict[Group, RingArray]:
        """Return a draw for each of the groups that we belong to."""
        return {group: self._groups[group].ring(ring, shape) for group in groups if self.rank in group}
