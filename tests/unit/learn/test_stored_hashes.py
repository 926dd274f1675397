"""Plans and certificates of stored facts are what they were, for ever: else old certificates could not be made again.

A change that fails here changes what a run of today is. Where a plan must differ, that is a new fact, or a field whose
metadata are ``learn.exact.ADDED``, with a default that gives what is stored.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cofit.errors import InvalidInputError
from cofit.learn import stated_facts
from cofit.learn.exact import ADDED
from cofit.learn.facts import Facts, training_facts
from cofit.learn.plan import plan_training
from cofit.learn.rebuild import rebuilt_plan
from cofit.learn.stated_facts import facts_as_stated, facts_from_stated
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


@dataclass(frozen=True)
class Later(Facts):
    """The facts of a later version, with one more."""

    extra: int = field(default=3, metadata=ADDED)


def test_certificates_without_a_fact_that_came_later_give_what_held_before(monkeypatch: pytest.MonkeyPatch) -> None:
    before = training_facts(100, 5)
    stated = facts_as_stated(before)
    monkeypatch.setattr(stated_facts, "Facts", Later)
    monkeypatch.setattr(stated_facts, "training_facts", lambda **asked: Later(**vars(training_facts(**asked))))
    read = facts_from_stated(stated)
    assert read == Later(**vars(before), extra=3)
    assert facts_as_stated(read) == stated, "stated again as it was"
    assert facts_as_stated(Later(**vars(before), extra=4)) == {**stated, "extra": 4}
    with pytest.raises(InvalidInputError, match=r"facts\.rows"):
        facts_from_stated({name: fact for name, fact in stated.items() if name != "rows"})
