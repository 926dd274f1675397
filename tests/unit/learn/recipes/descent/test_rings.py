"""Noisy descent in the smaller ring: which sizes fit it, at what price, and truncated weights in runs."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from unittest import mock

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128
from cofit.errors import RangeError
from cofit.learn.facts import training_facts
from cofit.learn.forecast import forecast
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent import planning, ranges
from cofit.learn.recipes.descent.formats import DescentFormats, Layout
from cofit.learn.recipes.descent.plan import DescentPlan
from support.descent import fixed_noise, opened, plan_of, table_of, truncating

RANGES = {"feature_bound": 1.0, "feature_lower": 0.0}
PRODUCT = "a product of a row with the weights"


def planned(rows: int, cols: int, **facts: Any) -> DescentPlan:
    plan = plan_training(training_facts(rows, cols, **facts))
    assert isinstance(plan, DescentPlan)
    return plan


@pytest.mark.parametrize(
    ("rows", "cols", "facts"),
    [
        (5_000, 5_000, RANGES),
        (20_000, 5_000, RANGES),
        (2_000, 20_000, RANGES),
        (200_000, 20_000, RANGES),
        (1_000_000, 1_000, RANGES),
        (10_000_000, 1_000, {}),
        (1_000_000, 100, {}),
        (4_000_000, 100, RANGES),
    ],
)
def test_these_sizes_fit_the_smaller_ring_with_as_little_noise(rows: int, cols: int, facts: dict[str, Any]) -> None:
    plan = planned(rows, cols, **facts)
    assert plan.formats.ring is Z64
    forecast(plan)  # refuses a program that states a bound beyond the ring
    wide = planning._in_ring(plan.facts, Z128)
    for event, other in zip(plan.events, wide.events, strict=True):
        assert event.scale <= other.scale * 1.001, event.name


def test_truncated_weights_cost_two_rounds_a_step_and_less_than_the_larger_ring() -> None:
    plan = planned(2_000, 20_000, **RANGES)
    assert plan.formats.carried < plan.formats.weights
    wide, full = planning._in_ring(plan.facts, Z128), planned(2_000, 5_000, **RANGES)
    assert full.formats.carried == full.formats.weights
    narrow, usual, larger = (forecast(one) for one in (plan, full, wide))
    assert narrow.epoch.rounds == usual.epoch.rounds + 2
    assert narrow.total.rounds < larger.total.rounds, "of uploads half as long"
    assert narrow.epoch.bytes < larger.epoch.bytes
    assert narrow.epoch.seconds < larger.epoch.seconds / 2


def test_what_fits_with_all_bits_keeps_them() -> None:
    for plan in (planned(1713, 1874, **RANGES), planned(5_000, 5_000, **RANGES), planned(100_000, 100)):
        assert plan.formats.carried == plan.formats.weights
    assert planned(100_000, 100).formats.carried_error, "stretched weights are truncated in any case"
    assert not planned(1713, 1874, **RANGES).formats.carried_error


@pytest.mark.parametrize("kind", ["owners", "parties, level, centred", "clipped, bounds", "pure"])
def test_truncated_weights_move_the_release_by_little_of_its_noise(kind: str) -> None:
    """At the fewest bits there are: a score is off by 2^-8, and so is the gradient of a row between both margins."""
    plan = plan_of(kind)
    table = table_of("random", plan, np.random.default_rng(2))
    with fixed_noise(3):
        full = opened(plan, table)
    with fixed_noise(3):
        coarse = opened(truncating(plan), table)
    cols = plan.layout.cols
    moved = np.abs((full - coarse)[:cols]).max() * 2.0**-plan.formats.weights / plan.averaged
    assert 0 < moved < plan.noise_of_weights / 20
    assert (full == coarse)[cols:].all() or plan.calibration, "the preparation of rows has no weights"


@pytest.mark.parametrize(("kind", "fewest"), [("owners", 10), ("parties, level, centred", 10), ("clipped", 17)])
def test_no_plan_has_fewer_bits_of_weights_than_keep_a_score_fine(kind: str, fewest: int) -> None:
    """However little room there is: 2^-8 sqrt(d), times what u and the row make of it where rows are clipped."""
    plan, every = plan_of(kind), ranges.largest_integers

    def products(formats: DescentFormats, layout: Layout) -> dict[str, int]:
        found = every(formats, layout)
        name = PRODUCT if PRODUCT in found else "a score before its truncation"
        return {name: found[name]}

    found = set()
    with mock.patch.object(ranges, "largest_integers", products):
        for room in range(20, 63):
            with mock.patch.object(ranges, "_room", return_value=room), suppress(RangeError):
                found.add(ranges.with_radius(plan.formats, plan.layout, plan.formats.radius).carried)
    assert found == set(range(fewest, plan.formats.carried + 1))


def test_a_size_beyond_the_smaller_ring_takes_the_larger_one() -> None:
    """Where the fewest bits of weights do not fit either, or something else does not."""
    assert planned(100_000_000, 100).formats.ring is Z128
    with pytest.raises(RangeError, match=r"need more than 64 bits \(.* could overflow\)\. Use fewer rows or columns"):
        planning._in_ring(training_facts(100_000_000, 100), Z64)
