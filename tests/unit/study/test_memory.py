"""The limit of memory in a study: a part of the agreement where it is stated, and nothing where it is not."""

from __future__ import annotations

import json

import pytest

from cofit.errors import InvalidInputError
from cofit.study.plan import study_facts, study_plan
from unit.study.studies import HORIZONTAL, changed, study_of


def test_a_limit_is_a_fact_of_the_plan_in_bytes() -> None:
    study = study_of(changed(HORIZONTAL, {"compute.memory": "1.5 GB"}))
    assert study.compute.memory == study_facts(study).memory == 1_500_000_000
    assert study_plan(study).facts.memory == 1_500_000_000
    assert json.loads(study.canonical())["compute"]["memory"] == 1_500_000_000
    same = study_of(changed(HORIZONTAL, {"compute.memory": "1500MB"}))
    assert same.hash == study.hash


def test_without_a_limit_the_study_says_nothing_of_it() -> None:
    study = study_of(HORIZONTAL)
    assert "memory" not in study.canonical()
    assert study_facts(study).memory is None
    assert study.hash != study_of(changed(HORIZONTAL, {"compute.memory": "1 GB"})).hash


@pytest.mark.parametrize("wrong", ["much", "", "1", 1000, "-1 GB"])
def test_what_is_no_size_is_refused_by_the_name_of_its_field(wrong: object) -> None:
    with pytest.raises(InvalidInputError, match=r"'compute\.memory'"):
        study_of(changed(HORIZONTAL, {"compute.memory": wrong}))


@pytest.mark.parametrize("little", ["0 B", "20 MB"])
def test_what_is_too_little_is_refused_with_what_is_enough(little: str) -> None:
    with pytest.raises(InvalidInputError, match=r"The 'compute\.memory' parameter of the study must be .*Got"):
        study_plan(study_of(changed(HORIZONTAL, {"compute.memory": little})))
