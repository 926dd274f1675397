"""The plan of answers: formats fit, errors are proven, and what does not fit is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from cofit.arithmetic import Z64, Z128
from cofit.errors import InvalidInputError
from cofit.learn.facts import training_facts
from cofit.learn.inference.plan import BATCH_VALUES, MASK, ROWS, plan_inference
from cofit.learn.plan import plan_training
from support.asking import FIVE, NUMBER, PAPER, TWO, inference

WIDE: dict[str, Any] = {"rows": 1713, "cols": 1874}
LARGE: dict[str, Any] = {"rows": 10_000_000, "cols": 100}
ALL = [TWO, PAPER, FIVE, NUMBER, WIDE, {**WIDE, "recipe": "paper", "l2": 1.0}]


@pytest.mark.parametrize("facts", ALL)
@pytest.mark.parametrize("public", [False, True])
def test_a_score_fits_its_ring_and_its_error_is_small(facts: dict[str, Any], public: bool) -> None:
    plan = inference(facts, public=public)
    room = 1 << plan.ring.value_bits
    assert plan.largest_product * (1 << (plan.row_bits + plan.weight_bits)) < room
    assert plan.largest_score * (1 << plan.score_bits) < room
    assert 0 < plan.score_error < Fraction(1, 200)
    error = plan.error("probabilities")
    assert error is not None and error < Fraction(1, 200)
    assert plan.error("classes") is None


def test_rows_of_many_columns_are_finer_at_the_cost_of_their_check() -> None:
    assert inference(WIDE).check(2238).shift > 0
    assert inference(TWO).check(2238).shift == 0


def test_shares_in_a_large_ring_answer_in_the_small_one() -> None:
    training = plan_training(training_facts(**LARGE, shared_model=True))
    assert training.formats.ring is Z128
    assert plan_inference(training).ring is Z64


def test_the_mean_of_the_last_iterates_is_a_quotient_that_counts_in_the_error() -> None:
    plan = inference(TWO)
    exact = plan.served.unit * Fraction(2) ** plan.exponent
    assert abs(Fraction(plan.factor, 1 << plan.factor_bits) / exact - 1) < Fraction(1, 1 << 20)
    assert plan.rounding > plan.served.largest * abs(Fraction(plan.factor, 1 << plan.factor_bits) / exact - 1)


def test_a_grid_that_is_coarser_than_the_products_is_exact() -> None:
    plan = inference(PAPER)
    assert not plan.truncates and plan.rounding == 0


def test_weights_without_noise_are_shorter_than_noisy_ones() -> None:
    assert inference(PAPER, noise=False).served.largest < inference(PAPER).served.largest


@pytest.mark.parametrize("rows", [0, -1, True, 2.0, None, BATCH_VALUES])
def test_a_batch_has_a_number_of_rows_that_is_allowed(rows: Any) -> None:
    with pytest.raises(InvalidInputError, match="'rows' parameter of a query"):
        inference(TWO).inputs(rows, "scores")


def test_what_a_client_shares() -> None:
    plan = inference(FIVE)
    assert plan.batch_rows == BATCH_VALUES // 6
    for kind, numbers in (("scores", 5), ("classes", 1)):
        inputs = plan.inputs(7, kind)
        assert inputs[ROWS].shape == (7, 6) and inputs[MASK].shape == (7 * numbers,)


def test_a_plan_with_noise_in_every_step_has_no_weights_without() -> None:
    plan = plan_training(training_facts(**TWO))
    with pytest.raises(InvalidInputError, match="noise"):
        plan.exact_release(None, None, bytes, None)  # type: ignore[arg-type]
