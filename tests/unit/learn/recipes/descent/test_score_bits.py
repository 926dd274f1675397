"""Scores of clipped rows: with so few bits that no product with a row is truncated, and no score moves by much."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from cofit.learn.facts import training_facts
from cofit.learn.forecast import forecast
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent import clipped, ranges
from cofit.learn.recipes.descent.clip_formats import ScoreBits, score_bits, steepest
from cofit.learn.recipes.descent.plan import DescentPlan

CASES: list[dict[str, Any]] = [
    {"rows": 100_000, "cols": 100, "feature_bound": 1.0, "feature_lower": 0.0},
    {"rows": 1_000_000, "cols": 50},
    {"rows": 2000, "cols": 5, "feature_bound": 1.0},
    {"rows": 346, "cols": 17, "epsilon": 38.5, "clip_rows": True},
    {"rows": 500_000, "cols": 128, "epsilon": 3.0},
]


def clipped_plan(case: dict[str, Any]) -> DescentPlan:
    plan = plan_training(training_facts(**case))
    assert isinstance(plan, DescentPlan)
    assert plan.clipped
    return plan


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_product_is_truncated_and_no_score_moves_by_much(case: dict[str, Any]) -> None:
    plan = clipped_plan(case)
    formats, cols = plan.formats, plan.layout.features
    bits = score_bits(formats, cols)
    assert bits.product == formats.data + bits.carried, "exact"
    assert formats.argument_radius * 2 ** (bits.scale + bits.product) < 2**formats.ring.value_bits, "and it fits"
    assert formats.clip is not None
    root = math.sqrt(cols)
    of_weights = steepest(formats, cols) * formats.clip.distance * root / 2**bits.carried
    of_scale = formats.longest / 2**bits.scale
    assert float(of_weights) <= 2**-8
    assert float(of_scale) <= 2**-8, "of the length of the weights"
    largest = formats.radius * (1 + formats.eta + formats.constant) + formats.offset_radius
    moved = (of_scale + Fraction(math.ceil(root), 2**bits.scale)) * formats.carried_radius + of_weights
    assert largest + moved + Fraction(1, 16) <= formats.argument_radius, "also with the longest weights"


def test_without_room_scores_have_the_bits_of_the_formats() -> None:
    plan = clipped_plan(CASES[0])
    wide = replace(plan.formats, radius=plan.formats.radius * 2**12)
    assert score_bits(wide, 100) == ScoreBits(wide.inverse_norm, wide.product, wide.carried)


def test_a_step_takes_a_round_and_some_bytes_a_row_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Than with a truncation of every product of a row with the weights."""
    plan = clipped_plan(CASES[2])
    exact = forecast(plan).epoch
    for module in (clipped, ranges):
        monkeypatch.setattr(module, "score_bits", lambda f, _: ScoreBits(f.inverse_norm, f.product, f.carried))
    truncated = forecast(plan).epoch
    assert truncated.rounds == exact.rounds + 1
    assert truncated.bytes > exact.bytes + 3 * plan.layout.rows
