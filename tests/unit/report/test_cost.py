"""The cost of a run: a strict file, phases that add up, and a forecast that is the plan's own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cofit.errors import InvalidInputError
from cofit.learn.facts import training_facts
from cofit.learn.forecast import forecast
from cofit.learn.plan import plan_training
from cofit.learn.rebuild import rebuilt_plan
from cofit.models.linear_model import LinearModel
from cofit.models.study_model import StudyModel
from cofit.report.cost import Cost, PhaseCost, forecast_cost
from cofit.study.plan import study_plan
from cofit.study.statement import expected_certificate
from unit.cli.study_models import model_of
from unit.report.models import DESCENTS, MECHANISMS, certified_by, descended, planned, released
from unit.study.studies import HORIZONTAL, VERTICAL, study_of

COST = Cost(
    "ab12",
    "2026-03-01",
    "rep3",
    ("clinic-a", "party-a"),
    (PhaseCost("share", 3, 100, 0.5), PhaseCost("train", 40, 2000, 1.25), PhaseCost("release", 1, 8, 0.25)),
)


def test_phases_add_up() -> None:
    assert COST.total == PhaseCost("total", 44, 2108, 2.0)
    assert Cost("a", "b", "c", (), (*COST.phases, PhaseCost("noise", 1, 1, None))).total.seconds is None


def test_there_and_back(tmp_path: Path) -> None:
    assert Cost.from_json(COST.to_json()) == COST
    (tmp_path / "cost.json").write_text(COST.to_json())
    assert Cost.load(tmp_path / "cost.json") == COST


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"kind": "cofit costs"}, "'kind'"),
        ({"version": 2}, "'version'"),
        ({"version": True}, "'version'"),
        ({"plan_hash": 3}, "'plan_hash'"),
        ({"members": "party-a"}, "members"),
        ({"members": [1]}, "'members'"),
        ({"phases": []}, "'phases'"),
        ({"phases": {"share": 1}}, "phases"),
        ({"phases": [{"name": "a", "rounds": 1, "bytes": 1, "seconds": 0.0}] * 2}, "'phases'"),
        ({"phases": [{"name": "a", "rounds": -1, "bytes": 1, "seconds": 0.0}]}, "'phases.rounds'"),
        ({"phases": [{"name": "a", "rounds": 1, "bytes": 10**400, "seconds": 0.0}]}, "'phases.bytes'"),
        ({"phases": [{"name": "a", "rounds": 1, "bytes": 1.5, "seconds": 0.0}]}, "'phases.bytes'"),
        ({"phases": [{"name": "a", "rounds": 1, "bytes": 1, "seconds": float("nan")}]}, "'phases.seconds'"),
        ({"phases": [{"name": "", "rounds": 1, "bytes": 1, "seconds": 0.0}]}, "'phases.name'"),
        ({"phases": [{"name": "a", "rounds": 1}]}, "'phases'"),
        ({"weather": "fine"}, "'weather'"),
    ],
)
def test_anything_else_is_refused_by_name(changes: dict[str, Any], named: str, tmp_path: Path) -> None:
    path = tmp_path / "cost.json"
    path.write_text(json.dumps(json.loads(COST.to_json()) | changes))
    with pytest.raises(InvalidInputError, match=named) as refused:
        Cost.load(path)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("field", ["scheme", "created", "members"])
def test_a_missing_field_is_named(field: str) -> None:
    document = json.loads(COST.to_json())
    del document[field]
    with pytest.raises(InvalidInputError, match=f"'{field}'"):
        Cost.from_json(json.dumps(document))


def test_no_json_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="JSON"):
        Cost.from_json("{")
    with pytest.raises(InvalidInputError, match=r"missing\.json"):
        Cost.load(tmp_path / "missing.json")


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    ("scheme", "partition"),
    [("rep3", "horizontal"), ("semi2k", "vertical"), ("rep4", "horizontal"), ("repn", "vertical")],
)
def test_the_forecast_is_that_of_the_plan(mechanism: str, scheme: str, partition: str) -> None:
    plan = planned(mechanism=mechanism, scheme=scheme, partition=partition)
    found = forecast_cost(released(plan))
    expected = forecast(plan, owners=2)
    assert found is not None
    assert (found.scheme, found.plan_hash) == (scheme, plan.hash)
    assert (found.total.rounds, found.total.bytes) == pytest.approx(
        (expected.total.rounds, expected.total.bytes), rel=0.1 if partition == "vertical" else 0
    )
    assert [phase.name for phase in found.phases] == ["share", "check", "train", "noise", "release"]
    assert found.total.rounds == sum(phase.rounds for phase in found.phases)


@pytest.mark.parametrize("document", [HORIZONTAL, VERTICAL])
def test_the_plan_of_a_study_is_rebuilt_from_its_model(document: dict[str, Any]) -> None:
    study = study_of(document)
    found = forecast_cost(model_of(study, {}))
    assert found is not None
    assert found.members == ("owner-a", "owner-b", "party-a", "party-b", "party-c")


@pytest.mark.parametrize(
    "kind",
    [k if k in ("owners", "level, centred", "shards") else pytest.param(k, marks=pytest.mark.slow) for k in DESCENTS],
)
def test_the_plan_of_noisy_descent_is_rebuilt(kind: str) -> None:
    model = descended(**DESCENTS[kind])
    plan = rebuilt_plan(model.certificate)
    assert plan is not None
    assert plan.hash == model.certificate.plan_hash
    found = forecast_cost(model)
    assert found is not None
    expected = forecast(plan, owners=2)
    assert found.total.rounds == pytest.approx(expected.total.rounds, rel=0.1)


@pytest.mark.parametrize("document", [HORIZONTAL, VERTICAL])
@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_the_plan_of_a_study_by_descent_is_rebuilt(document: dict[str, Any], epsilon: float) -> None:
    study = study_of(document, model={"kind": "logistic_regression"}, privacy={"epsilon": epsilon, "delta": 1e-6})
    plan = study_plan(study)
    weights = np.zeros(plan.released)
    model = StudyModel.from_release(study, tuple(weights.tolist()), expected_certificate(study, plan))
    assert rebuilt_plan(model.model.certificate) == plan
    assert forecast_cost(model) is not None


def test_recipe_best_without_delta_is_rebuilt() -> None:
    plan = plan_training(training_facts(400, 5, delta=0.0))
    model = LinearModel.from_weights(plan, [0.0] * 6, certified_by(plan), ("no", "yes"))
    assert rebuilt_plan(model.certificate) == plan


def test_ranges_of_any_kind_are_in_the_facts() -> None:
    facts: dict[str, Any] = {"epsilon": 0.1, "partition": "vertical", "feature_bound": 1.0, "feature_lower": -0.3}
    assert forecast_cost(descended(100, 5, **facts)) is not None
    assert forecast_cost(released(planned(tolerance=0.02))) is not None


def test_a_plan_of_another_release_has_no_forecast() -> None:
    model = descended(epsilon=1.0)
    facts = {name: value for name, value in model.certificate.facts.items() if name != "row_limit"}
    other = replace(model, certificate=replace(model.certificate, cofit_version="9.9", facts=facts))
    assert forecast_cost(other) is None
    with pytest.raises(InvalidInputError, match=r"'facts\.row_limit' parameter of a certificate must be stated"):
        forecast_cost(replace(model, certificate=replace(model.certificate, facts=facts)))
