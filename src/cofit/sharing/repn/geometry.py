"""Who does what among n = 2t + 1 parties of whom t may be corrupted.

Parties have the ranks 0 to n-1. A *group* is a set of t + 1 parties: whichever t are corrupted, the others are one. A
value is a sum with a summand for every group, known to its members: a party holds those of the groups it is in.

    own_group(i)  i and the t parties after it, cyclically: whom party i tells what it deals
    openers       the first t + 1 parties, the first group: they see values under masks
    maskers       the last t parties: they see none, and know the masks
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import combinations

from cofit.sharing.group_streams import Group


@dataclass(frozen=True)
class Geometry:
    """``threshold``: t."""

    threshold: int

    @property
    def parties(self) -> int:
        """The number n of parties."""
        return 2 * self.threshold + 1

    @functools.cached_property
    def groups(self) -> tuple[Group, ...]:
        """All groups, in a fixed order: the openers are the first."""
        return tuple(combinations(range(self.parties), self.threshold + 1))

    @functools.cached_property
    def held(self) -> tuple[tuple[Group, ...], ...]:
        """By rank: the groups that it is in, in the order of its parts."""
        return tuple(tuple(g for g in self.groups if rank in g) for rank in range(self.parties))

    @functools.cached_property
    def own_groups(self) -> tuple[Group, ...]:
        """By rank: whom it tells what it deals, itself included."""
        size = self.threshold + 1
        return tuple(tuple(sorted((rank + i) % self.parties for i in range(size))) for rank in range(self.parties))

    @functools.cached_property
    def drawn_groups(self) -> tuple[tuple[Group, ...], ...]:
        """By rank: the groups whose draws hide what it deals."""
        return tuple(tuple(g for g in held if g != own) for held, own in zip(self.held, self.own_groups, strict=True))

    @property
    def openers(self) -> Group:
        """Who see masked values."""
        return self.groups[0]

    @property
    def maskers(self) -> Group:
        """Who do not."""
        return tuple(range(self.threshold + 1, self.parties))

    @functools.cached_property
    def masking(self) -> tuple[Group, ...]:
        """The groups whose draws make up a mask: all but the openers. Each has a masker in it."""
        return self.groups[1:]

    def masker_of(self, group: Group) -> int:
        """Return the masker that counts a group's mask among its own."""
        return min(rank for rank in group if rank in self.maskers)

    @functools.cached_property
    def pairs(self) -> tuple[tuple[int, ...], ...]:
        """By rank: for each of its parts a, which of its parts b it multiplies with a: a set of bits.

        Every pair of groups has a party in common; the one of them that has least to do so far takes it.
        """
        masks = [[0] * len(held) for held in self.held]
        load = [0] * self.parties
        for a in self.groups:
            for b in self.groups:
                rank = min(set(a) & set(b), key=lambda r: (load[r], r))
                load[rank] += 1
                masks[rank][self.held[rank].index(a)] |= 1 << self.held[rank].index(b)
        return tuple(tuple(mask) for mask in masks)

    @functools.cached_property
    def with_openers(self) -> tuple[tuple[int, ...], ...]:
        """By rank: with which of its parts an opener multiplies a value that all openers know."""
        chosen: list[list[int]] = [[] for _ in range(self.parties)]
        for group in self.groups:
            rank = min(set(group) & set(self.openers))
            chosen[rank].append(self.held[rank].index(group))
        return tuple(map(tuple, chosen))


@functools.cache
def geometry_of(parties: int) -> Geometry:
    """Return the one geometry of so many parties."""
    return Geometry((parties - 1) // 2)
