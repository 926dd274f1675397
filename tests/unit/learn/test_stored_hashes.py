"""Plans and certificates of stored facts are what they were, for ever: else old certificates could not be made again.

A change that fails here changes what a run of today is. Where a plan must differ, that is a new fact, or a field whose
metadata are ``learn.exact.ADDED``, with a default that gives what is stored.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.rebuild import rebuilt_plan
from cofit.privacy.certificate import Certificate
from support.certified import CASES, certified

STORED = json.loads((Path(__file__).parents[2] / "fixtures" / "0.1.0" / "plans.json").read_text())
OF_THE_SOFTWARE = ("cofit_version", "software")


def digest(certificate: Certificate) -> str:
    fields = {name: value for name, value in json.loads(certificate.to_json()).items() if name not in OF_THE_SOFTWARE}
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


@pytest.mark.parametrize("case", STORED)
def test_a_plan_has_the_hash_that_it_had(case: str) -> None:
    facts = dict(STORED[case]["facts"])
    assert plan_training(training_facts(facts.pop("rows"), facts.pop("cols"), **facts)).hash == STORED[case]["plan"]


@pytest.mark.parametrize("case", STORED)
def test_a_certificate_is_what_it_was_and_gives_the_plan_again(case: str) -> None:
    assert json.loads(json.dumps(CASES[case])) == STORED[case]["facts"]
    certificate = certified(case)
    assert digest(certificate) == STORED[case]["certificate"]
    plan = rebuilt_plan(Certificate.from_json(certificate.to_json()))
    assert plan is not None
    assert plan.hash == STORED[case]["plan"]


def test_every_kind_of_facts_is_stored() -> None:
    assert set(STORED) == set(CASES)
