"""Shards in a study: a part of the agreement where they are stated, and nothing where they are not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cofit.errors import InvalidInputError
from cofit.learn.division import MOST_SHARDS
from cofit.study import Study
from cofit.study.parse_program import parse_program_study
from cofit.study.plan import study_facts, study_plan
from unit.study.studies import HORIZONTAL, LEFT_OUT, VERTICAL, changed, study_of

BEST: dict[str, Any] = {"model.recipe": "best", "model.l2": LEFT_OUT}


def best(changes: dict[str, Any], document: dict[str, Any] = HORIZONTAL) -> Study:
    return study_of(changed(document, {**BEST, **changes}))


def test_shards_are_agreed_on_and_a_fact_of_the_plan() -> None:
    study = best({"compute.shards": 4})
    assert study.compute.shards == study_facts(study).shards == study_plan(study).facts.shards == 4
    assert json.loads(study.canonical())["compute"]["shards"] == 4
    hashes = {best({"compute.shards": count}).hash for count in (1, 2, 4)} | {best({}).hash}
    assert len(hashes) == 4, "one process, and one shard on one worker, are two agreements"


def test_without_shards_study_and_plan_say_nothing_of_them() -> None:
    study = best({})
    assert "shards" not in study.canonical()
    assert study.compute.shards is None
    assert study_facts(study).shards is None
    assert "shards" not in study_plan(study).to_dict()


@pytest.mark.parametrize("wrong", [0, -1, MOST_SHARDS + 1, 2.0, True, "4"])
def test_what_is_no_number_of_shards_is_refused_by_the_name_of_its_field(wrong: object) -> None:
    with pytest.raises(
        InvalidInputError, match=rf"'compute\.shards' .*a whole number from 1 to {MOST_SHARDS}, or left"
    ):
        best({"compute.shards": wrong})


def test_every_owner_has_rows_for_every_shard() -> None:
    assert best({"compute.shards": 400}).compute.shards == 400
    with pytest.raises(InvalidInputError, match=r"'compute\.shards' .*at most 400, the rows of 'owner-b'.*Got 401"):
        best({"compute.shards": 401})
    assert best({"compute.shards": 1000}, VERTICAL).compute.shards == 1000
    with pytest.raises(InvalidInputError, match=r"'compute\.shards' .*at most 1000, the rows of 'owner-a'.*Got 1001"):
        best({"compute.shards": 1001}, VERTICAL)


@pytest.mark.parametrize("changes", [{"model.recipe": "paper", "model.l2": 0.5}, {"privacy.delta": 0.0}])
def test_what_runs_in_one_process_has_no_shards(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=r"'compute\.shards' .*left out .*unless recipe='best' and delta > 0"):
        best({"compute.shards": 4, **changes})


def test_programs_have_no_shards() -> None:
    document = {"format": 1, "job": {}, "compute": {"scheme": "rep3", "shards": 2}}
    with pytest.raises(InvalidInputError, match=r"'compute\.shards' .*left out: a program runs in one process"):
        parse_program_study(document, {})
