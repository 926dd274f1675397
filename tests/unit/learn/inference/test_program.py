"""Answers on the cleartext twin: rows that fail count as zeros, ties, cuts, and the ends of the ranges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.asking import FIVE, NUMBER, TWO, Asked, asked, inference, run_query, unmasked, worst


def answers(question: Asked) -> np.ndarray:
    return unmasked(question, next(iter(run_query("clear", question).results.values())))


@pytest.mark.parametrize("kind", ["scores", "probabilities", "classes"])
@pytest.mark.parametrize("public", [False, True])
def test_rows_that_are_too_long_count_as_zeros(kind: str, public: bool) -> None:
    plan = inference(TWO, public=public)
    question = asked(plan, kind, 6)
    rows = question.rows.copy()
    ring, one = plan.ring, 1 << plan.row_bits
    rows[0] = ring.from_int(np.zeros(6, dtype=np.int64))
    for row, entry in ((1, 2 * one), (2, -(1 << 63)), (3, 1 << 62), (4, one + 2)):
        rows[row] = ring.from_int(np.array([entry, 0, 0, 0, 0, 0], dtype=object))
    found = answers(replace(question, rows=rows))
    assert (found[1:5] == found[0]).all()


def test_of_equal_scores_the_first_class_is_taken() -> None:
    question = asked(inference(FIVE, public=True), "classes", 4)
    weights = replace(question.weights, weights=np.zeros((6, 5)), intercepts=np.array([1.0, 3.0, 3.0, 0.0, 3.0]))
    assert (answers(replace(question, weights=weights)) == 1).all()


def test_a_score_of_zero_is_of_the_first_class() -> None:
    question = asked(inference(TWO, public=True), "classes", 4)
    weights = replace(question.weights, weights=np.zeros((6, 1)), intercepts=np.zeros(1))
    assert (answers(replace(question, weights=weights)) == 0).all()


def test_predictions_of_numbers_are_cut_to_the_range() -> None:
    plan = inference(NUMBER)
    question = asked(plan, "scores", 40)
    found = answers(question)
    assert np.abs(found).max() <= 1 << plan.score_bits
    assert (np.abs(question.scores) > 1).any(), "nothing was cut"
    assert worst(question, found) <= float(plan.score_error)


def test_probabilities_are_safe_at_the_ends_of_the_range() -> None:
    plan = inference(TWO, public=True)
    question = asked(plan, "probabilities", 4)
    most = float(plan.served.largest)
    for intercept, expected in ((most / 2, 1.0), (-most / 2, 0.0)):
        weights = replace(question.weights, weights=np.zeros((6, 1)), intercepts=np.array([intercept]))
        found = answers(replace(question, weights=weights)) / 2.0**plan.score_bits
        assert np.abs(found - expected).max() <= float(plan.error("probabilities") or 0)
