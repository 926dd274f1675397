"""The plan of a study, and what it promises."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from cofit.errors import InvalidInputError
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from cofit.roles.service.other_parties import OtherParties
from cofit.sharing import scheme_named
from cofit.study import study_plan
from cofit.study.statement import expected_certificate, learned
from cofit.transport import generate_identity
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


BEST = {"kind": "logistic_regression"}


def test_the_default_recipe_knows_the_ranges_of_the_features() -> None:
    study = study_of(model=BEST, privacy={"epsilon": 1.0})
    facts = study_plan(study).facts
    assert (facts.recipe, facts.method, facts.delta) == ("best", "descent", Fraction(1e-6))
    numbers = sum(feature.type == "number" for feature in study.data.features)
    assert 0 < numbers < facts.cols
    assert (facts.feature_bound, facts.feature_lower) == (Fraction(1), Fraction(-numbers, facts.cols))
    assert facts.normalised_by == "parties"  # 1000 rows: the level is worth its price
    assert study_of(model=BEST, privacy={"epsilon": 1.0}, data__normalised_by="owners").data.normalised_by == "owners"


@pytest.mark.parametrize(("kind", "loss"), [("linear_svc", "huber_hinge"), ("hinge_svc", "hinge")])
def test_a_study_says_which_hinge(kind: str, loss: str) -> None:
    """``linear_svc`` means what it meant in studies from before there was the other one."""
    assert study_plan(study_of(model={"kind": kind}, privacy={"epsilon": 1.0})).facts.loss == loss


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("model__l2", 1.0), ("model__epochs", 5), ("model__solver", "auto"), ("model__tolerance", 1e-3),
        ("model__intercept_scaling", 1.0), ("model__allow_unproven", False), ("privacy__mechanism", "gaussian"),
        ("privacy__sensitivity", "tight"),
    ],
)  # fmt: skip
def test_what_the_default_recipe_does_not_have_is_refused(path: str, value: object) -> None:
    section, name = path.split("__")
    given: dict[str, Any] = {"model": dict(BEST), "privacy": {"epsilon": 1.0}}
    if section in given:
        given[section][name] = value
    else:
        given[path] = value
    with pytest.raises(InvalidInputError, match=rf"'{section}\.{name}'.*recipe 'best'"):
        study_of(**given)


def test_sparse_rows_without_delta() -> None:
    sparse = study_of(model=BEST, privacy={"epsilon": 1.0, "delta": 0.0}, data__row_nonzeros=2)
    assert study_plan(sparse).facts.norm == "l1"
    dense = study_of(model=BEST, privacy={"epsilon": 1.0, "delta": 0.0})
    assert study_plan(dense).facts.method == "minimiser"


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


@pytest.mark.parametrize("scheme", ["rep3", "clear"])
def test_study_greeting_and_certificate_carry_one_spec(scheme: str) -> None:
    study = study_of(compute__scheme=scheme)
    certificate = expected_certificate(study, study_plan(study))
    assert certificate.spec == study.spec == scheme_named(scheme).info.spec(3)
    stated = certificate.scheme, certificate.secret, certificate.adversary, certificate.threshold
    assert stated == (study.spec.name, study.spec.secret, study.spec.adversary, study.spec.corrupted)
    assert study.spec.assumptions in certificate.assumptions[0]
    identity = generate_identity("party-a")
    assert OtherParties(study, identity).terms(bytes(16)).scheme == study.spec.agreed


def test_who_learns_what() -> None:
    told = learned(study_of())
    assert set(told) == {"owners", "parties", "analysts", "network"}
    assert "row key" not in str(told)
    assert "row key" in str(learned(study_of(VERTICAL))["owners"])
    assert "1 of 3" in str(told["parties"])
    clear = study_of(compute__scheme="clear")
    assert "EVERYTHING" in str(learned(clear)["parties"])
    assert expected_certificate(clear, study_plan(clear)).headline.startswith("NO SECRECY")


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 8.0])
def test_owners_agree_to_the_openings_that_the_certificate_states(epsilon: float) -> None:
    """Named before a contribution as they are named after the release: here with a level, or with clipped rows."""
    study = study_of(privacy={"epsilon": epsilon, "delta": 1e-6}, model={"kind": "logistic_regression"})
    plan = study_plan(study)
    parts = plan.opened.in_words()
    assert any(parts in fact for fact in learned(study)["parties"])
    assert parts in expected_certificate(study, plan).learned["parties"][0]
    assert isinstance(plan, DescentPlan)
    assert ("the noisy mean of the rows" in parts) == plan.clipped
