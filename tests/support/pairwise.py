"""Few combinations of many facts: those in which every two values of any two facts still meet, or some in turn."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest


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


def in_turn(*facts: Sequence[Any], every: int = 2, always: Callable[..., bool] = lambda *_: False) -> list[Any]:
    """Return parameters of a test: all combinations, of which only every second one (third, ...) is not slow.

    These are the ones whose places add up to a multiple of ``every``: a value of one fact is with every second value of
    another, and where there are three facts of so many values, every two values of any two facts still meet.
    ``always``: of one combination, whether it is never slow.
    """
    chosen = []
    for places in itertools.product(*(range(len(values)) for values in facts)):
        one = tuple(values[k] for values, k in zip(facts, places, strict=True))
        quick = sum(places) % every == 0 or always(*one)
        chosen.append(pytest.param(*one, marks=[] if quick else [pytest.mark.slow]))
    return chosen


def _pairs(one: tuple[int, ...]) -> set[tuple[tuple[int, int], tuple[int, int]]]:
    return set(itertools.combinations(enumerate(one), 2))
