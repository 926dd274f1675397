"""Few combinations of many facts, in which every two values of any two facts still meet."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any


def pairwise(*facts: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return combinations of one value of each fact, such that every pair of values of two facts is in one of them.

    Greedy: the next combination is the one with the most pairs that are not there yet, the first of them if there are
    several. The same arguments give the same list.
    """
    places = [range(len(values)) for values in facts]
    missing = {
        ((i, a), (j, b)) for i, j in itertools.combinations(range(len(facts)), 2) for a in places[i] for b in places[j]
    }
    chosen: list[tuple[int, ...]] = []
    while missing:
        best = max(itertools.product(*places), key=lambda one: len(missing & _pairs(one)))
        missing -= _pairs(best)
        chosen.append(best)
    return [tuple(values[k] for values, k in zip(facts, one, strict=True)) for one in chosen]


def _pairs(one: tuple[int, ...]) -> set[tuple[tuple[int, int], tuple[int, int]]]:
    return set(itertools.combinations(enumerate(one), 2))
