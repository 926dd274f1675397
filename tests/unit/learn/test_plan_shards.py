"""A plan with shards is the plan without them, but for its hash: what is proven does not depend on where rows are."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from cofit.errors import InvalidInputError
from cofit.learn.division import MOST_SHARDS
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.rebuild import rebuilt_plan
from cofit.learn.stated_facts import facts_as_stated, facts_from_stated
from cofit.privacy.certificate import Certificate
from support.certified import certificate_of

KINDS: dict[str, dict[str, Any]] = {
    "owners": {},
    "ranges": {"feature_bound": 1.0, "feature_lower": 0.0},
    "columns": {"partition": "vertical"},
    "clipped": {"clip_rows": True},
    "numbers": {"loss": "huber"},
    "four classes": {"classes": 4},
    "sparse rows": {"delta": 0.0, "row_nonzeros": 2},
    "little memory": {"memory": "1 GB"},
    "others' products": {"scheme": "shamir", "route": "king"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_everything_but_the_number_of_shards_is_the_same(kind: str) -> None:
    alone = plan_training(training_facts(4000, 20, **KINDS[kind]))
    divided = plan_training(training_facts(4000, 20, **KINDS[kind], shards=3))
    assert divided.facts == replace(alone.facts, shards=3)
    for one in fields(alone):  # type: ignore[arg-type]  # all kinds of plans are dataclasses
        if one.name != "facts":
            assert getattr(divided, one.name) == getattr(alone, one.name), one.name
    assert divided.hash != alone.hash
    assert divided.hash != plan_training(training_facts(4000, 20, **KINDS[kind], shards=4)).hash
    assert divided.releases == alone.releases
    assert divided.total_delta == alone.total_delta


def test_facts_state_shards_where_there_are_some() -> None:
    facts = training_facts(4000, 20, shards=3)
    stated = facts_as_stated(facts)
    assert stated["shards"] == facts.to_dict()["shards"] == 3
    assert facts_from_stated(stated) == facts
    alone = training_facts(4000, 20)
    assert "shards" not in facts_as_stated(alone)
    assert "shards" not in alone.to_dict()


@pytest.mark.parametrize("wrong", [0, MOST_SHARDS + 1, "3", True, 2.0])
def test_what_is_no_number_of_shards_is_refused(wrong: Any) -> None:
    with pytest.raises(
        InvalidInputError, match=f"'shards' parameter of a plan must be an integer from 1 to {MOST_SHARDS}"
    ):
        training_facts(10_000, 20, shards=wrong)


def test_there_are_no_more_shards_than_rows() -> None:
    assert training_facts(100, 20, shards=100).shards == 100
    with pytest.raises(InvalidInputError, match=r"'shards' .*at most 100, the number of rows"):
        training_facts(100, 20, shards=101)


@pytest.mark.parametrize("asked", [{"recipe": "paper"}, {"delta": 0.0}, {"delta": 0.0, "row_nonzeros": 18}])
def test_only_noisy_descent_has_shards(asked: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=r"'shards' .*left out .*only noisy descent divides rows among shards"):
        training_facts(4000, 20, shards=3, **asked)


def test_a_certificate_says_how_rows_are_divided_and_gives_the_plan_again() -> None:
    plan = plan_training(training_facts(4000, 20, shards=3))
    certificate = certificate_of(plan)
    read = Certificate.from_json(certificate.to_json())
    assert rebuilt_plan(read) == plan
    assert read.facts["shards"] == 3
    assert all("divides its rows evenly among 3 of its own processes" in facts for facts in _public(read))
    assert "the workers of a computing party are its own, and count as that party" in " ".join(read.assumptions)
    alone = certificate_of(plan_training(training_facts(4000, 20)))
    assert "shards" not in alone.facts
    assert "workers" not in alone.to_text()
    assert "workers of a computing party" in " ".join(read.to_text().split())
    for name in ("epsilon", "delta", "delta_total", "releases", "statement", "adversary", "threshold"):
        assert getattr(read, name) == getattr(alone, name), name


def _public(certificate: Certificate) -> list[str]:
    return [text for role in ("owners", "parties") for text in certificate.learned[role] if "public facts" in text]


@pytest.mark.parametrize("shards", [4, 2001, None])
def test_a_certificate_of_another_division_is_found(shards: int | None) -> None:
    read = certificate_of(plan_training(training_facts(4000, 20, shards=3)))
    facts = {name: fact for name, fact in read.facts.items() if name != "shards"}
    changed = replace(read, facts=facts | ({} if shards is None else {"shards": shards}))
    with pytest.raises(InvalidInputError):
        rebuilt_plan(changed)
