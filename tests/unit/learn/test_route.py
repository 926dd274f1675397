"""The route of products follows from counts and the latency alone."""

from __future__ import annotations

import pytest

from cofit.errors import InvalidInputError
from cofit.learn.facts import training_facts
from cofit.learn.forecast import forecast
from cofit.learn.plan import plan_training
from cofit.learn.route import BANDWIDTH, routed_plan

SCHEME = "shamir"


def test_the_faster_one_is_taken() -> None:
    direct, king = (training_facts(300, 20, scheme=SCHEME, route=route) for route in ("direct", "king"))
    costs = [forecast(plan_training(facts), owners=3, parties=5).total for facts in (direct, king)]
    assert costs[0].rounds < costs[1].rounds
    assert costs[0].bytes > costs[1].bytes
    even = (costs[0].bytes - costs[1].bytes) / (BANDWIDTH * (costs[1].rounds - costs[0].rounds))
    for latency, facts in ((even * 0.99, king), (even * 1.01, direct)):
        for asked in (direct, king):
            assert routed_plan(asked, latency, owners=3, parties=5) == plan_training(facts)


def test_without_a_latency_the_route_is_as_the_facts_have_it() -> None:
    for route in ("direct", "king"):
        facts = training_facts(300, 20, scheme=SCHEME, route=route)
        assert routed_plan(facts, None) == plan_training(facts)
    assert training_facts(300, 20, scheme=SCHEME, route="direct") == training_facts(300, 20, scheme=SCHEME)


def test_a_route_that_there_is_not() -> None:
    with pytest.raises(InvalidInputError, match=r"'route' parameter of a plan must be one of \['direct'\]"):
        training_facts(300, 20, route="king")
