"""What a query costs, before anybody asks."""

from __future__ import annotations

from cofit.learn.inference.cost import query_cost, upload_bytes
from support.asking import PAPER, TWO, inference
from support.schemes import form


def test_rounds_do_not_depend_on_the_number_of_rows_and_bytes_do() -> None:
    plan, spec = inference(TWO), form("rep3").spec
    small, large = (query_cost(plan, spec, rows, "scores") for rows in (64, 640))
    assert small.rounds == large.rounds
    assert 4 < large.bytes / small.bytes < 10


def test_published_weights_cost_less_and_probabilities_more() -> None:
    spec = form("rep3").spec
    shared, public = (inference(TWO, public=public) for public in (False, True))
    assert query_cost(public, spec, 64, "scores").bytes < query_cost(shared, spec, 64, "scores").bytes
    assert query_cost(shared, spec, 64, "probabilities").rounds > query_cost(shared, spec, 64, "scores").rounds + 30


def test_a_client_of_rep3_sends_two_copies_of_one_summand() -> None:
    plan = inference(PAPER)
    values = 100 * plan.served.columns + 100
    assert 2 * 8 * values <= upload_bytes(plan, form("rep3").spec, 100, "scores") < 2 * 8 * values + 1000
