"""Answers to clients under every scheme: those of the cleartext, within the proven error, for the forecast's price."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cofit.learn.inference.cost import query_cost
from cofit.roles.local.run import run_local
from support.asking import FIVE, NUMBER, PAPER, TWO, asked, inference, run_query, unmasked, worst
from support.schemes import EVERY, SECRET, form, local

ROWS = 70
CASES: list[tuple[dict[str, Any], str, bool]] = [
    (TWO, "scores", False),
    (TWO, "probabilities", False),
    (TWO, "classes", True),
    (PAPER, "scores", True),
    (FIVE, "classes", False),
    (FIVE, "probabilities", True),
    (NUMBER, "scores", False),
]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].get('classes', 2)}-{case[1]}-{case[2]}")
def test_answers_are_within_the_proven_error(name: str, case: tuple[dict[str, Any], str, bool]) -> None:
    facts, kind, public = case
    plan = inference(facts, public=public)
    question = asked(plan, kind, ROWS)
    run = run_query(name, question)
    first, *others = list(run.results.values())
    assert all((other == first).all() for other in others)
    error = plan.error(kind)
    assert worst(question, unmasked(question, first)) <= (0 if error is None else error)


@pytest.mark.parametrize("name", [one for one in EVERY if one != "pair"])
@pytest.mark.parametrize("kind", ["scores", "classes"])
def test_rounds_and_bytes_are_those_of_the_forecast(name: str, kind: str) -> None:
    plan, spec = inference(TWO), form(name).spec
    run, nothing = run_query(name, asked(plan, kind, ROWS)), run_local(lambda party: None, **local(name))
    cost = query_cost(plan, spec, ROWS, kind)
    sent = [sum(counts.total.bytes_sent for counts in one.traffic.values()) for one in (run, nothing)]
    assert sent[0] - sent[1] == cost.bytes
    waited = [max(one.traffic[party].total.rounds for party in one.results) for one in (run, nothing)]
    assert waited[0] - waited[1] <= cost.rounds
    if name in ("clear", "rep3", "rep4", "semi2k"):
        assert waited[0] - waited[1] == cost.rounds


@pytest.mark.parametrize("name", SECRET)
def test_what_is_opened_says_nothing_but_to_the_client(name: str) -> None:
    """The same question twice: the opened numbers are the mask's, and have nothing in common."""
    plan = inference(PAPER)
    first, second = asked(plan, "scores", ROWS), asked(plan, "scores", ROWS)
    assert (first.scores == second.scores).all()
    seen = [next(iter(run_query(name, one).results.values())) for one in (first, second)]
    assert not (seen[0] == seen[1]).any()
    top = np.concatenate(seen) < 0  # of a score most top bits would be those of the sign
    assert 30 < top.sum() < 110
    assert np.abs(seen[0].astype(np.float64)).max() > 2.0**60
    bare = next(iter(run_query(name, first, with_mask=False).results.values()))
    assert np.abs(bare.astype(np.float64)).max() < 2.0**30  # without the mask this test would fail


@pytest.mark.parametrize("name", [one for one in EVERY if one != "pair"])
def test_rows_of_any_integers_pass_for_zeros_and_trip_no_check(name: str) -> None:
    """Whether a product of a lying row leaves its range depends on the weights: no party may learn that, by a check
    of the scheme that fails or in any other way."""
    plan = inference(TWO)
    question = asked(plan, "scores", 6)
    rows, columns = question.rows.copy(), plan.served.columns
    rng = np.random.default_rng(3)
    rows[0] = plan.ring.from_int(np.zeros(columns, dtype=np.int64))
    for row in range(1, 6):
        rows[row] = plan.ring.from_int(rng.integers(-(1 << 63), (1 << 63) - 1, columns).astype(object))
    found = unmasked(question, next(iter(run_query(name, replace(question, rows=rows)).results.values())))
    assert (found[1:] == found[0]).all()
