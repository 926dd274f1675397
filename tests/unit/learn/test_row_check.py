"""The numbers of the check of rows, against what its proof asks of them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cofit.errors import RangeError
from cofit.learn import base_plan
from cofit.learn.facts import training_facts
from cofit.learn.forecast import forecast
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.learn.row_check import (
    CONSTANTS,
    DEVIATIONS,
    LARGEST_DELTA,
    BlockCheck,
    absolute_check,
    block_check,
    check_delta,
    check_of,
    projection_matrix,
)

COIN = bytes(range(32))
CASES = [
    (cols, square, bits, summands, rows)
    for cols in (1, 3, 20, 27, 28, 60, 500, 1874, 5000)
    for square in (4**16, cols * 4**16, 4**21, 4**27 + 12345, cols * 4**24)
    for bits, summands, rows in ((64, 4, 1714), (64, 7, 3 * 10**6), (128, 4, 40_001))
]


def checks() -> list[tuple[BlockCheck, int, int, int]]:
    found = []
    for cols, square, bits, summands, rows in CASES:
        try:
            found.append((block_check(cols, square, bits, summands, rows, LARGEST_DELTA), bits, summands, rows))
        except RangeError:
            assert bits == 64
            assert square > 4**22
    return found


def test_all_that_passes_is_far_from_a_wrap() -> None:
    """d u^2 < M / 2, or the same of shifted entries; and the conditions of the lemma."""
    kinds = set()
    for check, bits, summands, _ in checks():
        modulus, length = 1 << bits, math.isqrt(check.square - 1) + 1
        reached = 2 * check.offset if check.projections else check.offset
        kinds.add((check.projections > 0, check.shift > 0))
        if check.projections:
            assert 12 * check.offset <= modulus
            assert 8 * (check.cols * check.width * length + check.offset) < modulus
        if not check.shift:
            assert 2 * check.cols * reached**2 < modulus
            continue
        small = modulus >> check.shift
        entry = (reached >> check.shift) + 1 + summands
        root = math.isqrt(check.cols - 1) + 1
        assert 2 * check.cols * entry**2 < small
        assert math.isqrt(check.shifted_square) >= (length >> check.shift) + root * summands
        shown = (math.isqrt(check.shifted_square) + 1 + root * summands) << check.shift
        assert 2 * shown**2 < modulus
        assert check.shifted_square << check.shift < modulus // 2
    assert kinds == {(False, False), (True, False), (True, True)}


def test_an_honest_projection_never_leaves_the_arc() -> None:
    """Nine m B and what the ignored bits may take away; Hoeffding's bound is below 2^-58."""
    assert math.exp(-(DEVIATIONS**2) / 2) < 2.0**-58
    for check, _, summands, _ in checks():
        length = math.isqrt(check.square - 1) + 1
        needed = DEVIATIONS * check.width * length if check.projections else length
        assert check.offset >= needed + (summands << check.low)


def test_a_lie_passes_with_the_stated_probability_at_most() -> None:
    for check, _, _, rows in checks():
        assert rows * check.passes <= LARGEST_DELTA
        if check.projections:
            assert rows * check.passes * Fraction(2 * check.width + 1, check.width + 1) > LARGEST_DELTA, "one too many"


def test_few_columns_are_tested_one_by_one() -> None:
    assert block_check(20, 4**16, 64, 4, 1714, LARGEST_DELTA).projections == 0
    assert 50 < block_check(60, 4**16, 64, 4, 1714, LARGEST_DELTA).projections < 60


def test_what_cannot_be_checked_is_refused() -> None:
    with pytest.raises(RangeError, match="10000000 columns cannot be checked in 64 bits"):
        block_check(10**7, 10**7 * 4**16, 64, 4, 1000, LARGEST_DELTA)


def test_rows_of_the_1_norm_do_not_wrap() -> None:
    for cols in (1, 40, 1874, 60_000):
        check = absolute_check(cols, 16, 64, 4)
        assert cols * check.offset < 1 << 63
        assert check.offset == (1 << 16) + (4 << check.low)


def test_the_probability_is_a_small_part_of_delta() -> None:
    assert check_delta(Fraction(0)) == check_delta(Fraction(1, 10**6)) == Fraction(1, 1 << 40)
    assert check_delta(Fraction(1, 10**12)) == Fraction(1, 10**12 * 4096)


@pytest.mark.parametrize("width", [1, 3, 7, 15])
def test_projections_are_uniform_and_follow_from_the_coin(width: int) -> None:
    check = BlockCheck(400, 1, 60, width, 1, 0)
    matrix = projection_matrix(COIN, 0, check)
    assert matrix.shape == (400, 60)
    values, counts = np.unique(matrix, return_counts=True)
    assert values.tolist() == list(range(-width, width + 1))
    expected = matrix.size / (2 * width + 1)
    assert ((counts - expected) ** 2 / expected).sum() < 2 * width + 8 * math.sqrt(4 * width)
    assert np.array_equal(matrix, projection_matrix(COIN, 0, check))
    for other in (projection_matrix(COIN, 1, check), projection_matrix(bytes(32), 0, check)):
        assert abs(float(np.corrcoef(matrix.ravel(), other.ravel())[0, 1])) < 0.04


def test_the_lemma_in_a_small_ring() -> None:
    """Every entry beyond 2 t and every rest, by brute force: never beyond (m + 1) / (2 m + 1), and close to it."""
    modulus = 1 << 10
    most = Fraction(0)
    for width in (1, 3, 7):
        r = np.arange(-width, width + 1)
        for offset in (3, 17, modulus // 12):
            beyond = [v for v in range(modulus) if min(v, modulus - v) > 2 * offset]
            rests = np.arange(modulus)
            for v in beyond:
                t = (rests[:, None] + r[None, :] * v) % modulus
                signed = np.where(t >= modulus // 2, t - modulus, t)
                # both signs of the whole projection are equally likely: the mean over T and -T
                inside = (signed >= -offset) & (signed < modulus // 4)
                mirrored = (-signed >= -offset) & (-signed < modulus // 4)
                passed = int((inside.sum(axis=1) + mirrored.sum(axis=1)).max())
                share = Fraction(passed, 2 * len(r))
                assert share <= Fraction(width + 1, 2 * width + 1), (width, offset, v)
                most = max(most, share / Fraction(width + 1, 2 * width + 1))
    assert most > Fraction(9, 10)


def test_a_plan_has_a_ring_in_which_its_rows_can_be_checked() -> None:
    """Its other numbers would fit a smaller one."""
    facts = training_facts(1713, 20_000, recipe="paper", partition="vertical")
    plan = plan_training(facts)
    assert plan.formats.ring.bits == 128
    with pytest.raises(RangeError, match="cannot be checked in 64 bits"):
        check_of(facts, 64, 23, 0.001, 20_000)


def test_the_hash_of_a_plan_covers_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that another release began without it, or with another one, is not taken up."""
    plan = plan_training(training_facts(100, 5, recipe="paper"))
    before = plan.hash
    monkeypatch.setattr(base_plan, "CONSTANTS", (2, *CONSTANTS[1:]))
    assert plan.hash != before


@pytest.mark.parametrize("facts", [{}, {"recipe": "paper", "mechanism": "gaussian"}, {"delta": 1e-13}])
def test_lies_that_pass_are_within_the_delta_that_was_asked_for(facts: dict[str, Any]) -> None:
    plan = plan_training(training_facts(2000, 30, **{"delta": 1e-6, **facts}))
    assert plan.total_delta == plan.facts.delta
    if isinstance(plan, DescentPlan):
        assert plan.account.delta + plan.check_delta <= plan.facts.delta
    else:
        assert isinstance(plan, MinimiserPlan)
        assert plan.mechanism.total_delta + plan.check_delta == plan.facts.delta


@pytest.mark.parametrize("facts", [{"recipe": "paper"}, {"row_nonzeros": 3}])
def test_where_delta_is_0_they_are_added_to_the_distance_of_the_sampler(facts: dict[str, Any]) -> None:
    plan = plan_training(training_facts(2000, 30, delta=0.0, **facts))
    assert plan.check_delta == LARGEST_DELTA
    assert isinstance(plan, DescentPlan | MinimiserPlan)
    own = plan.account.delta if isinstance(plan, DescentPlan) else plan.mechanism.total_delta
    assert plan.total_delta == own + LARGEST_DELTA
    assert plan.to_dict()["delta_total"] == float(plan.total_delta)


@pytest.mark.parametrize(("scheme", "megabytes"), [("rep3", 16), ("semi2k", 27), ("rep4", 36)])
@pytest.mark.parametrize("facts", [{}, {"feature_bound": 1.0}])
def test_what_it_costs_at_the_size_of_the_paper(scheme: str, megabytes: int, facts: dict[str, Any]) -> None:
    """Whoever scales the rows."""
    cost = forecast(plan_training(training_facts(1713, 1874, scheme=scheme, **facts)))
    assert cost.check.bytes <= megabytes * 10**6


@pytest.mark.parametrize("cols", [1, 10, 20, 27, 28, 50, 100, 128])
def test_what_it_costs_for_tall_data(cols: int) -> None:
    cost = forecast(plan_training(training_facts(20_000, cols)))
    assert cost.check.bytes <= 3000 * 20_000
