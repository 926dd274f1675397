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
    bits: dict[Any, int] = {}
    combinations = {one: _pairs(one, bits) for one in itertools.product(*(range(len(values)) for values in facts))}
    chosen: list[tuple[int, ...]] = []
    missing = (1 << len(bits)) - 1
    while missing:
        best = max(combinations, key=lambda one: (combinations[one] & missing).bit_count())
        missing &= ~combinations[best]
        chosen.append(best)
    return [tuple(values[k] for values, k in zip(facts, one, strict=True)) for one in chosen]


def _pairs(one: tuple[int, ...], bits: dict[Any, int]) -> int:
    """Return the pairs of a combination as a number: a bit for each, which it has in ``bits`` once it was seen."""
    return sum(1 << bits.setdefault(pair, len(bits)) for pair in itertools.combinations(enumerate(one), 2))
