"""A study that chooses threshold and latency: what is agreed on, planned, greeted with and certified follows."""

from __future__ import annotations

import re
from typing import Any

import pytest

from cofit.errors import InvalidInputError
from cofit.learn.rebuild import rebuilt_plan
from cofit.privacy.certificate import Certificate
from cofit.roles.jobs.training import Training
from cofit.roles.service.other_parties import OtherParties
from cofit.study import Study, parse_study, study_plan
from cofit.study.statement import check_certificate_of, expected_certificate
from cofit.transport import generate_identity
from unit.study.studies import CERTIFICATES, HORIZONTAL, changed, study_of

SCHEME = "shamir"
IDENTITIES = {f"party-{x}": generate_identity(f"party-{x}") for x in "de"}
AROUND_THE_WORLD, NEXT_DOOR = 0.1, 1e-6


def study_among_five(**compute: Any) -> Study:
    more = {
        f"parties.{i}": {"name": name, "address": f"{name}.example:7100", "certificate": f"{name}.pem"}
        for i, name in enumerate(IDENTITIES, start=3)
    }
    pems = {f"{name}.pem": identity.certificate_pem for name, identity in IDENTITIES.items()}
    return parse_study(
        changed(HORIZONTAL, {**more, "compute": {"scheme": SCHEME, **compute}}), {**CERTIFICATES, **pems}
    )


def test_what_is_left_out_is_not_in_the_hash() -> None:
    plain, chosen = study_among_five(), study_among_five(threshold=1, latency=0.02)
    assert "threshold" not in plain.canonical()
    assert "latency" not in plain.canonical()
    assert '"latency":0.02' in chosen.canonical()
    assert '"threshold":1' in chosen.canonical()
    assert len({study_among_five(**c).hash for c in ({}, {"threshold": 1}, {"threshold": 2}, {"latency": 0.02})}) == 4


def test_a_threshold_reaches_greeting_plan_and_certificate() -> None:
    study, usual = study_among_five(threshold=1), study_among_five()
    assert (study.spec.threshold, usual.spec.threshold) == (1, 2)
    plan = study_plan(study)
    assert (plan.facts.threshold, study_plan(usual).facts.threshold) == (1, None)
    assert plan.hash != study_plan(usual).hash
    assert study_plan(study_among_five(threshold=2)).hash == study_plan(usual).hash
    assert Training(study).spec == study.spec
    certificate = Certificate.from_json(expected_certificate(study, plan).to_json())
    assert certificate.spec == study.spec
    assert certificate.threshold == "1 of 5 (honest majority)"
    assert certificate.facts["threshold"] == 1
    assert "threshold" not in expected_certificate(usual, study_plan(usual)).facts
    assert rebuilt_plan(certificate) == plan
    check_certificate_of(study, plan, certificate)
    with pytest.raises(InvalidInputError, match="The 'threshold' parameter of a certificate must be"):
        Certificate.from_json(certificate.to_json().replace('"threshold": 1', '"threshold": 2'))
    with pytest.raises(InvalidInputError, match="'threshold' parameter of scheme 'shamir' must be from 1 to 2 among"):
        Certificate.from_json(certificate.to_json().replace('"threshold": 1', '"threshold": 3'))


@pytest.mark.parametrize(("latency", "route"), [(AROUND_THE_WORLD, "direct"), (NEXT_DOOR, "king"), (None, "direct")])
def test_the_latency_chooses_the_route(latency: float | None, route: str) -> None:
    study = study_among_five(**({} if latency is None else {"latency": latency}))
    job = Training(study)
    assert job.spec.route == route
    assert job.plan.facts.route == (None if route == "direct" else route)
    assert (job.hash == study_plan(study_among_five()).hash) == (route == "direct")
    terms = OtherParties(study, IDENTITIES["party-d"]).terms(bytes(16), job.spec)
    assert terms.scheme == "shamir/5/2/none" + ("/king" if route == "king" else "")
    certificate = expected_certificate(study, job.plan)
    assert certificate.spec == job.spec
    assert rebuilt_plan(certificate) == job.plan


@pytest.mark.parametrize(
    ("compute", "told"),
    [
        ({"threshold": 3}, "[[parties]] and compute.threshold do not fit together: The 'threshold' parameter of scheme "
         "'shamir' must be from 1 to 2 among 5 parties (how many of them may be corrupted together); left out, it is "
         "2. Got 3 instead."),
        ({"threshold": 0}, "'compute.threshold' parameter of the study must be a whole number from 1"),
        ({"threshold": "two"}, "'compute.threshold' parameter of the study must be a whole number from 1"),
        ({"threshold": True}, "'compute.threshold' parameter of the study must be a whole number from 1"),
        ({"threshold": 1.0}, "'compute.threshold' parameter of the study must be a whole number from 1"),
        ({"latency": -0.1}, "'compute.latency' parameter of the study must be"),
        ({"latency": 20}, "'compute.latency' parameter of the study must be"),
        ({"latency": "20 ms"}, "'compute.latency' parameter of the study must be"),
        ({"scheme": "rep3"}, "[[parties]] and compute.scheme do not fit together: The 'parties' parameter of scheme "
         "'rep3' must be exactly 3 computing parties. Got 5 instead."),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(compute: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(told)):
        study_among_five(**compute)


def test_a_scheme_without_a_choice_has_the_threshold_that_it_has() -> None:
    assert study_plan(study_of(compute__threshold=1)).hash == study_plan(study_of()).hash
    with pytest.raises(InvalidInputError, match="must be 1 among 3 parties"):
        study_of(compute__threshold=2)


def test_a_latency_says_nothing_where_there_is_one_route() -> None:
    assert study_plan(study_of(compute__latency=0.05)) == study_plan(study_of())
