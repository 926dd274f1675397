"""The plan of a study, and what it promises."""

from __future__ import annotations

import pytest

from cofit.errors import InvalidInputError
from cofit.learn.plan import plan_minimiser
from cofit.study import study_plan
from cofit.study.statement import expected_certificate, learned
from support.facts import paper_facts
from unit.study.studies import VERTICAL, study_of


def test_the_plan_is_that_of_the_encoded_columns() -> None:
    plan = study_plan(study_of())
    assert plan == plan_minimiser(paper_facts(1000, 10, l2=0.5, epsilon=1.0, delta=1e-6, mechanism="gaussian"))


def test_the_plan_of_a_vertical_study() -> None:
    study = study_of(
        VERTICAL, model={"kind": "linear_svc", "recipe": "paper", "l2": 1, "epochs": 2000, "intercept": False}
    )
    expected = paper_facts(
        1000, 10, partition="vertical", loss="huber_hinge", l2=1.0, epsilon=1.0, delta=1e-6, epochs=2000,
        fit_intercept=False, feature_bound=1.0, normalised_by="parties",
    )  # fmt: skip
    assert study_plan(study).facts == expected


def test_what_cannot_be_planned_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="epochs"):
        study_plan(study_of(model__epochs=1))
    assert not study_plan(study_of(model__epochs=1, model__allow_unproven=True)).proven


def test_the_expected_certificate() -> None:
    study = study_of(VERTICAL)
    plan = study_plan(study)
    certificate = expected_certificate(study, plan)
    assert certificate.plan_hash == plan.hash
    assert certificate.parties == ("party-a", "party-b", "party-c")
    assert {name: dict(parts) for name, parts in certificate.owners.items()} == {
        "owner-a": {"features": (1000, 6)},
        "owner-b": {"features": (1000, 4), "labels": (1000,)},
    }
    assert "factor of at most 2.72" in certificate.headline
    horizontal = study_of()
    shared = expected_certificate(horizontal, study_plan(horizontal)).owners["owner-b"]
    assert dict(shared) == {"features": (400, 11), "labels": (400,)}  # with the constant of the intercept


def test_who_learns_what() -> None:
    told = learned(study_of())
    assert set(told) == {"owners", "parties", "analysts", "network"}
    assert "row key" not in str(told)
    assert "row key" in str(learned(study_of(VERTICAL))["owners"])
    assert "1 of 3" in str(told["parties"])
    clear = study_of(compute__scheme="clear")
    assert "EVERYTHING" in str(learned(clear)["parties"])
    assert expected_certificate(clear, study_plan(clear)).headline.startswith("NO SECRECY")
