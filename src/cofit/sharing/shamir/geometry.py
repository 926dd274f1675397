"""Who does what among n parties of whom t may collude, and the public coefficients that follow from it.

Parties have the ranks 0 to n-1. A *group* is a set of n - t parties: for every t that collude, the others are one, and
it has a key that none of the t knows. The words below are those of ``proof.md``:

    groups        all sets of n - t parties, each with a common key
    own_group(i)  i and the n - t - 1 parties after it, cyclically: who gets what party i sends
    openers       the first t + 1 parties: they see values under masks
    maskers       the last t parties: each knows one summand of every mask, and sees no masked value
    multipliers   both together, 2t + 1 parties: their products of shares make up the product of the values

A party's share of a value is f(a_i) in a Galois ring, in m coefficients of the base ring; f has degree t and f(0) is
the value. All tables are of coefficients in the base ring.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from cofit.arithmetic import IntegerRing, Ring, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.errors import parameter_error
from cofit.sharing.group_streams import Group
from cofit.sharing.shamir.galois import Element, GaloisRing, degree_for


@dataclass(frozen=True)
class Geometry:
    """``parties``: n. ``threshold``: t, with 2t < n."""

    parties: int
    threshold: int

    def __post_init__(self) -> None:
        if not 0 < 2 * self.threshold < self.parties:
            raise parameter_error("threshold", "a geometry", "above 0 and below half of the parties", self.threshold)

    @property
    def degree(self) -> int:
        """The number m of coefficients of a share."""
        return degree_for(self.parties + 1)

    @property
    def group_size(self) -> int:
        """How many parties a group has."""
        return self.parties - self.threshold

    @functools.cached_property
    def groups(self) -> tuple[Group, ...]:
        """All groups, in a fixed order."""
        return tuple(combinations(range(self.parties), self.group_size))

    @functools.cached_property
    def own_groups(self) -> tuple[Group, ...]:
        """By rank: who gets what it sends, itself included."""
        return tuple(
            tuple(sorted((rank + i) % self.parties for i in range(self.group_size))) for rank in range(self.parties)
        )

    @property
    def openers(self) -> Group:
        """Who see masked values."""
        return tuple(range(self.threshold + 1))

    @property
    def maskers(self) -> Group:
        """Who know a summand of every mask each."""
        return tuple(range(self.parties - self.threshold, self.parties))

    @property
    def multipliers(self) -> Group:
        """Whose products of shares are summed up."""
        return self.openers + self.maskers

    def readers(self, rank: int) -> Group:
        """Return whose shares make up what is opened to a party: itself and the t after it."""
        return tuple((rank + i) % self.parties for i in range(self.threshold + 1))

    @functools.cache  # noqa: B019 - there are few geometries, and they live as long as the process
    def hiding(self, senders: Group, relay: int | None = None) -> dict[Group, int]:
        """Return the groups whose draws must be in the sum that ``senders`` send, and which sender adds each.

        Senders mask their messages with a sharing of zero. That hides the messages from t parties who do not see all
        of the honest senders' messages; if they do, a draw of the group of all others must be in the sum. With a
        ``relay`` all send to it, and it sends the sum to its own group: t parties with one of that group see the sum.
        """
        chosen: dict[Group, int] = {}
        for corrupted in combinations(range(self.parties), self.threshold):
            honest = [rank for rank in senders if rank not in corrupted]
            receivers = [self.own_groups[rank if relay is None else relay] for rank in honest]
            if all(set(group) & set(corrupted) for group in receivers):
                group = tuple(rank for rank in range(self.parties) if rank not in corrupted)
                loads = {rank: list(chosen.values()).count(rank) for rank in honest}
                chosen[group] = min(honest, key=lambda rank: loads[rank])
        return chosen


@dataclass(frozen=True)
class Tables:
    """The coefficients of one geometry in one ring."""

    geometry: Geometry
    ring: Ring

    @functools.cached_property
    def _galois(self) -> GaloisRing:
        return GaloisRing(modulus_of(self.ring), self.geometry.degree)

    def _point(self, rank: int) -> Element:
        return self._galois.point(rank + 1)

    def _weight(self, rank: int, among: Group) -> Element:
        """Return what f(a_rank) is multiplied with to give f(0), for the shares of ``among``."""
        points = tuple(self._point(other) for other in among)
        return self._galois.lagrange(points, among.index(rank), self._galois.whole(0))

    @functools.cache  # noqa: B019 - as above
    def summand(self, rank: int, among: Group) -> RingArray:
        """Return the row of coefficients that gives a party's summand of a value from its share, (1, m)."""
        weight, ring = self._weight(rank, among), self._galois
        return self._elements([[ring.mul(weight, ring.power(c))[0] for c in range(ring.degree)]])

    @functools.cache  # noqa: B019
    def product(self, rank: int) -> RingArray:
        """Return the bilinear form that gives a multiplier's summand of a product from its two shares, (m, m)."""
        weight, ring = self._weight(rank, self.geometry.multipliers), self._galois
        powers = [ring.power(c) for c in range(ring.degree)]
        return self._elements([[ring.mul(weight, ring.mul(x, y))[0] for y in powers] for x in powers])

    @functools.cache  # noqa: B019
    def share_of(self, rank: int, terms: tuple[tuple[Group, int], ...]) -> RingArray:
        """Return how a party's share follows from terms that groups know each, (m, terms); a sign goes with each.

        A value that a group knows is shared by the polynomial that is it at 0, and 0 at the points of all others.
        """
        columns = [[sign * c for c in self._known(rank, group)] for group, sign in terms]
        return self._elements([list(row) for row in zip(*columns, strict=True)])

    def _known(self, rank: int, group: Group) -> Element:
        outside = [other for other in range(self.geometry.parties) if other not in group]
        points = (self._galois.whole(0), *(self._point(other) for other in outside))
        return self._galois.lagrange(points, 0, self._point(rank))

    def _elements(self, rows: Sequence[Sequence[int]]) -> RingArray:
        """Return integers as elements: of words of bits, all zeros or all ones."""
        if self.ring is BITS:
            return np.asarray([[(1 << 64) - 1 if c & 1 else 0 for c in row] for row in rows], np.uint64)
        modulus = modulus_of(self.ring)
        half = modulus // 2
        signed = [[(c + half) % modulus - half for c in row] for row in rows]
        return self.ring.from_int(np.array(signed, dtype=object))


def modulus_of(ring: Ring) -> int:
    """Return the modulus of a ring of integers, or 2 for words of bits."""
    return ring.modulus if isinstance(ring, IntegerRing) else 2


@functools.cache
def geometry_of(parties: int, threshold: int) -> Geometry:
    """Return the one geometry of these numbers."""
    return Geometry(parties, threshold)


@functools.cache
def tables_of(geometry: Geometry, ring: Ring) -> Tables:
    """Return the one set of tables of a geometry and a ring."""
    return Tables(geometry, ring)
