"""The table for choosing a scheme says what a forecast of each says."""

from __future__ import annotations

import pytest

from cofit.learn.comparison import compare_schemes
from cofit.learn.forecast import forecast
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from cofit.sharing import SCHEMES
from support.facts import paper_facts


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_every_secret_scheme_with_its_own_costs(partition: str) -> None:
    facts = paper_facts(40, 5, partition=partition, scheme="rep4")
    choices = compare_schemes(facts, owners=3)
    assert {one.scheme for one in choices} == {name for name, scheme in SCHEMES.items() if scheme.info.secret}
    assert [one.bytes_per_epoch for one in choices] == sorted(one.bytes_per_epoch for one in choices)
    for one in choices:
        own = paper_facts(40, 5, partition=partition, scheme=one.scheme)
        cost = forecast(plan_minimiser(own), owners=3)
        assert (one.rounds_per_epoch, one.bytes_per_epoch) == (cost.epoch.rounds, cost.epoch.bytes)
        assert one.members == f"{one.parties} parties" + (" and a dealer" if one.dealer else "")
        assert one.to_dict()["threshold"] == SCHEMES[one.scheme].info.spec().corrupted


def test_more_parties_cost_more() -> None:
    plan = plan_minimiser(paper_facts(40, 5, scheme="semi2k"))
    two, three = (forecast(plan, parties=n) for n in (2, 3))
    assert three.total.bytes > two.total.bytes
    assert three.epoch.rounds == two.epoch.rounds


def test_an_epoch_at_the_size_of_the_paper() -> None:
    """The figures that the documentation quotes; that runs cost what forecasts say, other tests show."""
    found = {
        one.scheme: (one.rounds_per_epoch, one.bytes_per_epoch) for one in compare_schemes(paper_facts(1713, 1874))
    }
    three = {"rep3": (10, 458_112), "semi2k": (10, 872_424), "rep4": (10, 1_557_024)}
    more = {"shamir": (10, 583_344), "repn": (10, 1_166_688)}
    assert found == three | more | {"pair": (10, 20_815_208)}  # with what is made before, an epoch's part of it
