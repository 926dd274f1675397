"""What a party of ``shamir`` makes of the streams that it has with others: shares of values that groups know."""

from __future__ import annotations

from collections.abc import Sequence

from cofit.arithmetic import Ring, RingArray, Shape
from cofit.sharing.group_streams import Group, GroupStreams
from cofit.sharing.shamir.geometry import Geometry, Tables, geometry_of, tables_of
from cofit.sharing.shares import Share


class Streams(GroupStreams):
    """One party, with its streams."""

    _constant_part = 0  # a public value is the constant polynomial: everybody's share is the value

    @property
    def geometry(self) -> Geometry:
        """Who does what."""
        return geometry_of(self.spec.parties, self.spec.threshold)

    def _all_groups(self) -> Sequence[Group]:
        return self.geometry.groups

    @property
    def _part_count(self) -> int:
        return self.geometry.degree

    def _tables(self, ring: Ring) -> Tables:
        return tables_of(self.geometry, ring)

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
