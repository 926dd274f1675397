"""A certificate is made again from its own facts: every field follows, and whatever does not is named."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import pytest

from cofit.errors import InvalidInputError
from cofit.learn.certify import certify
from cofit.learn.exact import added_defaults
from cofit.learn.facts import Facts, training_facts
from cofit.learn.rebuild import of_another_release, rebuilt_plan
from cofit.learn.stated_facts import facts_as_stated, facts_from_stated
from cofit.privacy.certificate import Certificate, CertifiedOpening
from support.certified import CASES, certified, planned


@pytest.mark.parametrize("case", CASES)
def test_facts_and_plan_come_back(case: str) -> None:
    plan, certificate = planned(case), Certificate.from_json(certified(case).to_json())
    stated = json.loads(json.dumps(facts_as_stated(plan.facts), sort_keys=True))
    usual = {name for name, default in added_defaults(Facts).items() if getattr(plan.facts, name) == default}
    assert set(stated) == {field.name for field in fields(Facts)} - usual
    assert facts_from_stated(stated) == plan.facts
    assert rebuilt_plan(certificate) == plan
    assert rebuilt_plan(replace(certificate, openings=())) == plan, "before the run"
    assert certificate.proven == (case != "paper, unproven")


def refused(certificate: Certificate, field: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(f"The '{field}' parameter of a certificate must be ")):
        rebuilt_plan(certificate)


OTHER: dict[str, Any] = {
    "plan_hash": "00" * 32,
    "warnings": (),
    "assumptions": ("nobody lies",),
    "noise_distribution": "none",
    "model": "another one",
    "loss": "huber_hinge",
    "delta_total": Fraction(1, 10),
    "learned": dict.fromkeys(("owners", "parties", "analyst", "public"), ("everything",)),
    "epochs": 7,
    "normalised_by": "parties",
    "sampler_distance": None,
}


@pytest.mark.parametrize("field", ["plan_hash", "noise_distribution", "model", "loss", "delta_total", "assumptions"])
@pytest.mark.parametrize("case", ["clipped", "paper"])
def test_a_field_that_only_the_plan_can_judge(case: str, field: str) -> None:
    """The certificate's own check has nothing against it."""
    refused(replace(certified(case), **{field: OTHER[field]}), {"assumptions": "assumptions"}.get(field, field))


def test_lists_and_parts_are_named_by_their_place() -> None:
    certificate = certified("paper, unproven")
    plan = planned("paper, unproven")
    refused(replace(certificate, warnings=("all is well", *certificate.warnings[1:])), "warnings[0]")
    more = replace(certificate, warnings=(*certificate.warnings, "and one more, of the run"))
    assert rebuilt_plan(more) == plan
    learned = {**certificate.learned, "public": ("nothing",)}
    refused(replace(certificate, learned=learned), "learned.public")
    assumptions = ("all parties are honest", *certificate.assumptions[1:])
    refused(replace(certificate, assumptions=assumptions), "assumptions[0]")


@pytest.mark.parametrize(
    "opening",
    [
        {"reason": "nothing"},
        {"shape": (12,)},
        {"shape": ()},
        {"learned_by": ()},
        {"number": 2},
    ],
    ids=str,
)
def test_openings_are_the_one_of_the_plan(opening: dict[str, Any]) -> None:
    certificate = certified("paper")
    refused(replace(certificate, openings=(replace(certificate.openings[0], **opening),)), "openings")
    part = CertifiedOpening(1, "a part", (1,), ())
    refused(replace(certificate, openings=(part, part)), "openings")


@pytest.mark.parametrize(
    "owners",
    [
        {"a": {"features": (1713, 13)}},
        {"a": {"features": (1713, 13), "labels": (1713,), "names": (1713,)}},
        {"a": {"features": (1713, 12), "labels": (1713,)}},
        {"a": {"features": (1713, 13), "labels": (1713, 1)}},
        {"a": {"features": (1713,), "labels": (1713,)}},
        {"a": {"features": (1000, 13), "labels": (1000,)}, "b": {"features": (713, 13)}},
        {"a": {"features": (1712, 13), "labels": (1712,)}},
        {"a": {"features": (1713, 13), "labels": (1713,)}, "b": {}},
        {},
    ],
    ids=str,
)
def test_owners_that_do_not_make_up_the_data_are_never_certified(owners: dict[str, dict[str, tuple[int, ...]]]) -> None:
    plan = planned("paper")
    with pytest.raises(InvalidInputError, match="'owners' parameter of a certificate must be shapes that make up 1713"):
        certify(plan, parties=("a", "b", "c"), owners=owners, openings=(), created="2026-03-01")


def test_owners_of_columns_make_up_the_columns() -> None:
    plan = planned("vertical")
    good: dict[str, dict[str, tuple[int, ...]]] = {"a": {"features": (1000, 5)}, "b": {"features": (1000, 7)}}
    run: dict[str, Any] = {"parties": ("a", "b", "c"), "openings": (), "created": "2026-03-01"}
    certify(plan, owners={**good, "c": {"labels": (1000,)}}, **run)
    short: dict[str, dict[str, tuple[int, ...]]] = {"a": {"features": (1000, 11), "labels": (1000,)}}
    wrong: dict[str, dict[str, tuple[int, ...]]] = {**good, "c": {"labels": (999,)}}
    for bad in (good, wrong, short):
        with pytest.raises(InvalidInputError, match="'owners'"):
            certify(plan, owners=bad, **run)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rows", 1),
        ("rows", "1713"),
        ("rows", True),
        ("cols", 0),
        ("l2", "1"),
        ("l2", "2/2"),
        ("l2", "-1/1"),
        ("epsilon", "2000/1"),
        ("epsilon", 1),
        ("scheme", "rep5"),
        ("fit_intercept", "true"),
        ("partition", "diagonal"),
        ("normalised_by", "nobody"),
        ("budget_shares", {"level": "1/20"}),
        ("budget_shares", None),
        ("row_limit", "3/1"),
        ("mechanism", "none"),
        ("loss", 3),
        ("epochs", 0),
    ],
    ids=str,
)
def test_facts_that_nobody_could_have_asked_for(field: str, value: Any) -> None:
    stated = {**facts_as_stated(planned("paper").facts), field: value}
    with pytest.raises(InvalidInputError, match=r"facts|'\w+' parameter of a plan"):
        facts_from_stated(stated)


def test_facts_are_complete_and_no_more() -> None:
    stated = facts_as_stated(planned("paper").facts)
    with pytest.raises(InvalidInputError, match=r"'facts\.tolerance' parameter of a certificate must be stated"):
        facts_from_stated({name: value for name, value in stated.items() if name != "tolerance"})
    with pytest.raises(InvalidInputError, match=r"'facts\.mood' parameter of a certificate must be left out"):
        facts_from_stated({**stated, "mood": "good"})


def test_facts_that_follow_from_others_are_compared() -> None:
    """The penalty of recipe 'best' without delta is not a choice."""
    stated = {**facts_as_stated(planned("pure, dense").facts), "l2": "1/100"}
    with pytest.raises(InvalidInputError, match=r"'facts\.l2' .* which follows from the others"):
        facts_from_stated(stated)
    clipped = facts_as_stated(training_facts(3000, 12))
    with pytest.raises(InvalidInputError, match=r"'facts\.row_limit' .* which follows from the others"):
        facts_from_stated({**clipped, "row_limit": "1/2"})


def test_what_another_release_wrote_is_not_judged() -> None:
    """Nor claimed: unless this release makes the same of it."""
    certificate = replace(certified("clipped"), cofit_version="9.9", software={"python": "9"})
    assert rebuilt_plan(certificate) == planned("clipped")
    assert rebuilt_plan(replace(certificate, plan_hash="00" * 32)) is None
    assert rebuilt_plan(replace(certificate, facts={"rows": 3})) is None
    assert of_another_release(certificate).startswith("The certificate was written by cofit 9.9; this is cofit ")
