"""The random streams of a party of ``shamir``: one with every other party, and one for every group it belongs to.

All members of a group, and both of a pair, contribute to its seed. What is drawn from a stream costs no message, and
is uniform to whoever is not a member. Sources: Cramer, Damgard, Ishai, "Share conversion, pseudorandom secret-sharing
and applications to secure computation", TCC 2005, sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cofit.arithmetic import Generator, Ring, RingArray, Shape
from cofit.arithmetic.prg import SEED_BYTES, derive_seed, fresh_seed
from cofit.sharing.member import SPREAD
from cofit.sharing.scheme import Scheme
from cofit.sharing.shamir.geometry import Geometry, Group, Tables, geometry_of, tables_of
from cofit.sharing.shares import Share
from cofit.sharing.spec import Spec
from cofit.transport import Mesh


class Streams(Scheme):
    """One party, with its streams."""

    _constant_part = 0  # a public value is the constant polynomial: everybody's share is the value

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self.geometry: Geometry = geometry_of(self.spec.parties, self.spec.threshold)
        self._others = [rank for rank in range(len(self.names)) if rank != self.rank]
        self._own_groups = [group for group in self.geometry.groups if self.rank in group]
        self._pairs: dict[int, Generator] = {}
        self._groups: dict[Group, Generator] = {}
        self._common: dict[int, list[Generator]] = {rank: [] for rank in self._others}

    @property
    def _part_count(self) -> int:
        return self.geometry.degree

    def _tables(self, ring: Ring) -> Tables:
        return tables_of(self.geometry, ring)

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
        return Generator(derive_seed(material, f"shamir {kind} {members}"))

    # --- draws -------------------------------------------------------------------------------------------

    def _drawn(self, groups: Iterable[Group], ring: Ring, shape: Shape) -> dict[Group, RingArray]:
        """Return a draw for each of the groups that we belong to."""
        return {group: self._groups[group].ring(ring, shape) for group in groups if self.rank in group}

    def _from_groups(self, ring: Ring, terms: Sequence[tuple[Group, int]], values: Sequence[RingArray]) -> Share:
        """Return our share of the sum of values that groups know, each with a sign; we know those given. Local."""
        return Share(ring, ring.combined(values, self._tables(ring).share_of(self.rank, tuple(terms))))

    def _random(self, ring: Ring, shape: Shape, known_to: int | None = None) -> tuple[Share, list[RingArray]]:
        """Return a sharing of a uniform value, and our draws for it. Free.

        known_to: a party that knows the value, the sum of all its draws; to t others it is uniform. Otherwise nobody.
        """
        groups = [g for g in self._own_groups if known_to is None or known_to in g]
        draws = list(self._drawn(groups, ring, shape).values())
        return self._from_groups(ring, [(group, 1) for group in groups], draws), draws

    def _summand(self, share: Share, among: Group) -> RingArray:
        """Return our summand of a value, one of those of ``among``. Local."""
        return share.ring.combined(share.parts, self._tables(share.ring).summand(self.rank, among))[0]
