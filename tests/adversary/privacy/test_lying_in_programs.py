"""Owners who put anything into a program: what its page says keeps their values out, and what does not.

A comparison counts on the public bound of what it compares, and looks at as many bits as that has. An owner who lies
puts in a multiple of a higher power of two: every such comparison takes it for a small number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cofit import Contribution, FixedPoint, Party, SecretArray, run_local
from cofit.protocols import less, select
from support.lies import lying, raw
from support.schemes import also_slow, local

BOUND, BITS = 100, 8
HONEST = [0, 1, -1, BOUND << BITS, -BOUND << BITS]
LIES = [
    (BOUND << BITS) + 1,
    (-BOUND << BITS) - 1,
    *(1 << bits for bits in range(17, 64, 3)),
    *(-5 << bits for bits in range(17, 60, 4)),
    (1 << 40) + (5 << BITS),
    (1 << 63) + 1,
    (1 << 63) - 1,
]


def within(x: SecretArray, bound: float) -> SecretArray:
    """As docs/how-to/run-a-program-study.md has it."""
    too_small, too_large = less(x, -bound, unbounded=True), less(-x, -bound, unbounded=True)
    return (1 - too_small) * (1 - too_large)


def by_bounds(x: SecretArray, bound: float) -> SecretArray:
    return (1 - less(x, -bound)) * (1 - less(-x, -bound))


def passed(test: Callable[[SecretArray, float], SecretArray], scheme: str) -> tuple[list[int], float]:
    """Which values pass, and the sum of what is left of all."""

    def program(party: Party) -> tuple[Any, Any]:
        x = party.input("owner", "x")
        kept = test(x, BOUND)
        total = select(kept, x, x * 0).sum()
        return party.open(kept, reason="a test"), party.open(total, reason="a test")

    given = {"owner": {"x": Contribution(raw([*HONEST, *LIES]), BOUND, FixedPoint(BITS))}}
    with lying():
        kept, total = next(iter(run_local(program, owners=given, **local(scheme)).results.values()))
    return np.asarray(kept).astype(int).tolist(), float(total)


@pytest.mark.parametrize("scheme", also_slow(["rep3", "semi2k"], "pair", "rep4", "shamir", "repn"))
def test_what_the_page_says_keeps_every_lie_out(scheme: str) -> None:
    kept, total = passed(within, scheme)
    assert kept == [1] * len(HONEST) + [0] * len(LIES)
    assert total == sum(HONEST) / (1 << BITS)


def test_a_comparison_that_counts_on_the_bound_does_not() -> None:
    kept, _ = passed(by_bounds, "rep3")
    assert sum(kept[len(HONEST) :]) > 5
