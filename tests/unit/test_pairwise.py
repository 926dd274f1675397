"""Pairwise combinations: every two values of any two facts meet, with far fewer cases than all."""

from __future__ import annotations

import itertools

import pytest

from support.pairwise import pairwise


@pytest.mark.parametrize("sizes", [(2, 2), (3, 3, 3), (4, 3, 2, 2), (1, 5), (15, 2, 2, 2)])
def test_every_pair_is_there(sizes: tuple[int, ...]) -> None:
    facts = [[(i, k) for k in range(size)] for i, size in enumerate(sizes)]
    chosen = pairwise(*facts)
    there = {frozenset(pair) for one in chosen for pair in itertools.combinations(one, 2)}
    assert there == {frozenset((x, y)) for a, b in itertools.combinations(facts, 2) for x, y in itertools.product(a, b)}
    largest = sorted(sizes)[-2:]
    assert len(chosen) <= 2 * largest[0] * largest[1]
