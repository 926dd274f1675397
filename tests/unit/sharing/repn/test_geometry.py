"""Who does what among three, five and seven parties."""

from __future__ import annotations

from itertools import combinations
from math import comb

import pytest

from cofit.sharing.repn.geometry import Geometry, geometry_of

EVERY = pytest.mark.parametrize("geometry", [geometry_of(n) for n in (3, 5, 7)], ids=lambda g: str(g.parties))


@EVERY
def test_every_t_parties_miss_exactly_one_group(geometry: Geometry) -> None:
    n, t = geometry.parties, geometry.threshold
    assert n == 2 * t + 1 and len(set(geometry.groups)) == comb(n, t + 1)
    for some in combinations(range(n), t):
        assert sum(not set(group) & set(some) for group in geometry.groups) == 1
    for fewer in combinations(range(n), t - 1):
        assert sum(not set(group) & set(fewer) for group in geometry.groups) == t + 2


@EVERY
def test_parties_hold_what_their_groups_know(geometry: Geometry) -> None:
    for rank in range(geometry.parties):
        assert geometry.held[rank] == tuple(group for group in geometry.groups if rank in group)
        own = geometry.own_groups[rank]
        assert rank in own and own in geometry.groups
        assert set(geometry.drawn_groups[rank]) | {own} == set(geometry.held[rank])
        assert own not in geometry.drawn_groups[rank]
    assert len(set(geometry.own_groups)) == geometry.parties


@EVERY
def test_every_pair_of_groups_is_taken_once(geometry: Geometry) -> None:
    taken = [
        (held[i], held[j])
        for held, masks in zip(geometry.held, geometry.pairs, strict=True)
        for i, mask in enumerate(masks)
        for j in range(len(held))
        if mask >> j & 1
    ]
    assert len(taken) == len(set(taken)) == len(geometry.groups) ** 2
    assert all(mask < 1 << len(masks) for masks in geometry.pairs for mask in masks)


@EVERY
def test_the_work_is_shared_fairly(geometry: Geometry) -> None:
    load = [sum(mask.bit_count() for mask in masks) for masks in geometry.pairs]
    assert max(load) <= 2 * min(load)


@EVERY
def test_openers_and_maskers(geometry: Geometry) -> None:
    assert geometry.openers == geometry.groups[0]
    assert sorted([*geometry.openers, *geometry.maskers]) == list(range(geometry.parties))
    assert len(geometry.maskers) == geometry.threshold
    assert geometry.masking == geometry.groups[1:]
    counted = {group: geometry.masker_of(group) for group in geometry.masking}
    assert all(masker in group and masker in geometry.maskers for group, masker in counted.items())
    assert set(counted.values()) == set(geometry.maskers)


@EVERY
def test_a_coalition_with_an_opener_lacks_a_mask_and_one_without_sees_nothing(geometry: Geometry) -> None:
    for some in combinations(range(geometry.parties), geometry.threshold):
        lacked = [group for group in geometry.masking if not set(group) & set(some)]
        assert len(lacked) == (1 if set(some) & set(geometry.openers) else 0)


@EVERY
def test_openers_multiply_every_summand_once(geometry: Geometry) -> None:
    taken = [geometry.held[rank][i] for rank in range(geometry.parties) for i in geometry.with_openers[rank]]
    assert sorted(taken) == sorted(geometry.groups)
    assert all(not geometry.with_openers[rank] for rank in geometry.maskers)


def test_the_geometry_is_made_once() -> None:
    assert geometry_of(5) is geometry_of(5)
