"""The one way in which a party of ``repn`` tells something: it deals a value, a summand to every group that it is in.

All summands but one are draws of the groups; the rest goes to the party's own group. Whoever is not in all of these
groups misses a uniform summand (``proof.md``). What a party tells several others, they compare before anything is
opened: a digest of it all (``transcript.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cofit.arithmetic import Generator, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.prg import derive_seed
from cofit.sharing.active import Active
from cofit.sharing.group_streams import Group, GroupStreams
from cofit.sharing.operands import own_values
from cofit.sharing.repn.geometry import Geometry, geometry_of
from cofit.sharing.repn.transcript import Transcript
from cofit.sharing.shares import Share
from cofit.sharing.spec import Spec
from cofit.sharing.steps import Messages, Protocol, Steps
from cofit.transport import Mesh

Known = Mapping[Group, RingArray]
"""Summands, by the group that knows them; those that we know."""


class Dealing(Steps, Active, GroupStreams):
    """One party, with what it tells others."""

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self._places = {group: place for place, group in enumerate(self._own_groups)}
        self._constant_part = self._places.get(self.geometry.openers)  # a constant is the openers' summand
        self._everybody = tuple(range(len(self.names)))
        self.transcript = Transcript(self.geometry, self.rank)
        self._proofs: dict[Group, bytes] = {}

    @property
    def geometry(self) -> Geometry:
        """Who does what."""
        return geometry_of(self.spec.parties)

    def _all_groups(self) -> Sequence[Group]:
        return self.geometry.groups

    @property
    def _part_count(self) -> int:
        return len(self._places)

    # --- keys --------------------------------------------------------------------------------------------

    def setup(self) -> None:
        """As for all groups; then every two parties compare what they derived, before any of it is used. 2 rounds.

        Who is in a group may choose its contribution last, and so influence the key; but it knows that key anyway.
        """
        super().setup()
        texts = {rank: b"".join(self._proofs[of] for of in self._proofs if rank in of) for rank in self._peers}
        self._agree_on("setup", texts, "They have different keys.")
        self._proofs = {}

    def _stream(self, kind: str, given: dict[int, bytes]) -> Generator:
        """Keep a proof of the key, which says nothing of it."""
        material = b"".join(given[rank] for rank in sorted(given)) + self.mesh.terms.session
        members = tuple(sorted(given))
        self._proofs[members] = self._proofs.get(members, b"") + derive_seed(
            material, f"repn proof of {kind} {members}"
        )
        return super()._stream(kind, given)

    def _parts_in_common(self, rank: int) -> list[int]:
        return [place for group, place in self._places.items() if rank in group]

    def _forget(self) -> None:
        self._pairs, self._groups, self._common = {}, {}, {rank: [] for rank in self._peers}

    # --- values that groups know -------------------------------------------------------------------------

    def _of_groups(self, ring: Ring, shape: Shape, terms: Sequence[Known]) -> Share:
        """Return our share of the sum of values that groups know. Local."""
        summands: list[list[RingArray]] = [[] for _ in self._places]
        for known in terms:
            for group, value in known.items():
                summands[self._places[group]].append(value)
        none = ring.zeros(shape) if not all(summands) else None
        parts = [
            none if none is not None and not few else few[0] if len(few) == 1 else ring.signed_sum(few)
            for few in summands
        ]
        return Share(ring, tuple(part for part in parts if part is not None))

    def _of_openers(self, ring: Ring, shape: Shape, value: RingArray | None) -> Share:
        """Return our share of a value that the openers know; the others pass None. Local."""
        return self._of_groups(ring, shape, [] if value is None else [{self.geometry.openers: value}])

    # --- dealing -----------------------------------------------------------------------------------------

    def _given(
        self, ring: Ring, shape: Shape, dealers: Sequence[int], own: RingArray | None
    ) -> Protocol[dict[int, Share]]:
        """Share a value of each of the dealers; ``own``: ours, if we are one. 1 round, t elements for each."""
        dealt = yield from self._dealt(ring, shape, dealers, own)
        return {dealer: self._of_groups(ring, shape, [known]) for dealer, known in dealt.items()}

    def _summed(self, ring: Ring, shape: Shape, dealers: Sequence[int], own: RingArray | None) -> Protocol[Share]:
        """Share the sum of values of the dealers. 1 round, t elements for each."""
        dealt = yield from self._dealt(ring, shape, dealers, own)
        return self._of_groups(ring, shape, list(dealt.values()))

    def _dealt(
        self, ring: Ring, shape: Shape, dealers: Sequence[int], own: RingArray | None
    ) -> Protocol[dict[int, dict[Group, RingArray]]]:
        geometry = self.geometry
        self.transcript.pending = True
        known = {dealer: self._drawn(geometry.drawn_groups[dealer], ring, shape) for dealer in dealers}
        told: dict[int, RingArray] = {}
        send: dict[int, list[RingArray]] = {}
        for dealer in dealers:
            group = geometry.own_groups[dealer]
            if dealer == self.rank and own is not None:
                told[dealer] = ring.signed_sum([own], list(known[dealer].values()))
                send = {rank: [told[dealer]] for rank in group if rank != self.rank}
            elif self.rank in group:
                told[dealer] = ring.empty(shape)
        yield Messages(send, {dealer: value for dealer, value in told.items() if dealer != self.rank})
        for dealer, value in told.items():
            self._admit(ring, value)
            self.transcript.dealt(dealer, value)
            known[dealer][geometry.own_groups[dealer]] = value
        return known

    def _admit(self, ring: Ring, value: RingArray) -> None:
        if not ring.every_pattern and not ring.admits(value):
            raise self._failed("deal", f"A message holds what is no element of {ring.name}.")

    def input(self, source: int, values: RingArray | None, ring: Ring, shape: Shape) -> Share:
        """1 round; the value under draws, to the t others of the source's own group."""
        self.verification.refuse_after_failure()
        own = own_values(self.mesh.name, ring, values, shape) if self.rank == source else None
        return self._run("input", self._given(ring, shape, [source], own))[source]

    # --- under a mask, to the openers --------------------------------------------------------------------

    def _to_openers(self, ring: Ring, own: RingArray) -> Protocol[RingArray | None]:
        """Every party has a summand; the openers learn the sum, which must be under a mask, and nothing else of them.

        The others return None. 1 round, 2 t (t + 1) elements. Draws of pairs, which cancel, hide the single summands.
        """
        self.transcript.pending = True
        plus: list[RingArray] = [own]
        minus: list[RingArray] = []
        for rank in self._everybody:
            if rank != self.rank:
                (plus if self.rank < rank else minus).append(self._pairs[rank].ring(ring, own.shape))
        masked, openers = ring.signed_sum(plus, minus), self.geometry.openers
        heard: dict[int, RingArray] = {}
        if self.rank in openers:
            heard = {rank: ring.empty(own.shape) for rank in self._everybody if rank != self.rank}
        yield Messages({rank: [masked] for rank in openers if rank != self.rank}, heard)
        if self.rank not in openers:
            return None
        for rank in self._everybody:
            self._admit(ring, masked if rank == self.rank else heard[rank])
            self.transcript.opened(rank, masked if rank == self.rank else heard[rank])
        return ring.signed_sum([masked, *heard.values()])

    # --- draws -------------------------------------------------------------------------------------------

    def _random(self, ring: Ring, shape: Shape) -> Share:
        """Return a sharing of a uniform value that nobody knows. Free."""
        return self._of_groups(ring, shape, [self._drawn(self._own_groups, ring, shape)])

    def _masks(self, ring: Ring, shape: Shape) -> dict[Group, RingArray]:
        """Return our summands of a mask that is uniform to every t parties with an opener among them. Free."""
        return self._drawn(self.geometry.masking, ring, shape)

    def _random_words(self, shape: Shape) -> Share:
        return self._random(BITS, shape)
