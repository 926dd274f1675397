"""Steps with K-norm noise for delta = 0: the rule, what asks for it, what it proves, and that nothing else changed."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import cofit
from cofit.errors import InvalidInputError
from cofit.learn.facts import training_facts
from cofit.learn.forecast import forecast
from cofit.learn.plan import plan_training
from cofit.learn.rebuild import rebuilt_plan
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.pure import KNormBudget, cell_bits, knorm_steps
from cofit.models import row_fields
from cofit.privacy.events import KNormEvent
from cofit.sampling import rounded_knorm
from support.descent import descent_plan

ASKED: dict[str, Any] = {"delta": 0.0, "pure_steps": True}


def planned(rows: int, cols: int, **facts: Any) -> DescentPlan:
    return descent_plan(rows, cols, **{**ASKED, **facts})


@pytest.mark.parametrize(
    ("rows", "cols", "epsilon", "steps"),
    [
        (100, 9, 1.0, 1),
        (239, 9, 1.0, 1),
        (240, 9, 1.0, 2),
        (719, 9, 1.0, 2),
        (720, 9, 1.0, 4),
        (2_000, 9, 1.0, 8),
        (10**6, 9, 1.0, 10),
        (1_000, 9, 1.99, 8),
        (1_000, 9, 2.0, 0),
        (1_000, 128, 0.5, 1),
        (1_000, 129, 0.5, 0),
    ],
)
def test_the_rule(rows: int, cols: int, epsilon: float, steps: int) -> None:
    assert knorm_steps(rows, cols, Fraction(epsilon)) == steps


def test_facts_without_the_setting_are_what_they_were() -> None:
    before = training_facts(1_000, 9, delta=0.0)
    assert not before.pure_steps
    assert before.method == "minimiser"
    assert training_facts(1_000, 9, delta=0.0, pure_steps=False) == before


@pytest.mark.parametrize(
    "facts",
    [
        {"epsilon": 2.0},
        {"delta": 1e-6},
        {"recipe": "paper"},
        {"row_nonzeros": 2},
        {"loss": "huber"},
        {"loss": "huber", "delta": 1e-6},
    ],
    ids=str,
)
def test_where_the_rule_says_nothing_the_setting_changes_nothing(facts: dict[str, Any]) -> None:
    given = {"delta": 0.0, **facts}
    assert training_facts(1_000, 9, **given, pure_steps=True) == training_facts(1_000, 9, **given)


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
@pytest.mark.parametrize(("rows", "cols"), [(60, 5), (5_000, 3), (500, 60)])
def test_every_step_has_its_part_of_epsilon(rows: int, cols: int, partition: str) -> None:
    plan = planned(rows, cols, partition=partition)
    steps = knorm_steps(rows, cols, Fraction(1))
    assert plan.mechanism_name == "knorm"
    assert len(plan.events) == len(plan.steps) == plan.epochs == steps
    assert all(isinstance(event, KNormEvent) for event in plan.events)
    assert sum(event.sensitivity / event.scale for event in plan.events) <= 1
    assert sum(event.sensitivity / event.scale for event in plan.events) > Fraction(999, 1000)
    assert plan.account.rule == "pure"
    assert 0 < plan.total_delta < Fraction(1, 1 << 24)


@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 0.3, 1.99])
@pytest.mark.parametrize(("rows", "cols"), [(2, 1), (300, 128), (10**6, 1), (10**6, 128)])
def test_whatever_the_rule_takes_can_be_planned(rows: int, cols: int, epsilon: float) -> None:
    plan = planned(rows, cols, epsilon=epsilon)
    assert plan.total_delta < Fraction(1, 1 << 22)
    assert forecast(plan).total.rounds < 2_000


def test_the_noise_of_all_steps_moves_a_score_as_with_gaussian_noise() -> None:
    for rows, cols in ((60, 5), (300, 60), (2_000, 9)):
        budget = KNormBudget(Fraction(1), rows, cols, cols + 1)
        scale = 2 * budget.steps / float(budget.epsilon)  # of rows of length 1
        moved = float(budget.pace) * scale * np.sqrt(budget.steps * (cols + 2))
        assert moved == pytest.approx(0.8, rel=1e-6) or budget.pace == Fraction(cols + 10, 2 * rows)


def test_cells_are_fine_beside_the_noise_and_coarse_beside_the_errors_of_draws() -> None:
    for weights in (2, 11, 129):
        for scale in (Fraction(3), Fraction(5_000), Fraction(1 << 30)):
            cell = 1 << cell_bits(scale, weights)
            deviation = float(scale) * (weights + 1) ** 0.5
            assert cell == 1 or deviation / 512 < cell <= deviation / 256
    scale = Fraction(1 << 30)
    fine, coarse = (rounded_knorm.tv_distance(129, scale, bits) for bits in (0, cell_bits(scale, 129)))
    assert coarse < fine / 1_000_000


def test_rows_of_few_columns_are_scaled_and_nothing_else() -> None:
    x = np.random.default_rng(1).normal(size=(50, 5)) + 1
    plain = planned(50, 5).scaled_by_owner(x)
    np.testing.assert_allclose(plain, x / np.linalg.norm(x, axis=1, keepdims=True), atol=1e-4)
    many = np.random.default_rng(1).normal(size=(50, 17)) + 1
    half = many - many.mean(axis=1, keepdims=True) / 2
    wanted = half / np.linalg.norm(half, axis=1, keepdims=True)
    np.testing.assert_allclose(planned(50, 17).scaled_by_owner(many), wanted, atol=1e-4)


# --- estimators, models and certificates -----------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted() -> cofit.LogisticRegression:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 4))
    y = (x @ [2.0, -1.0, 1.0, 0.0] > 0).astype(int)
    return cofit.LogisticRegression(epsilon=1.0, delta=0.0).fit([(x[:150], y[:150]), (x[150:], y[150:])])


def test_an_estimator_takes_steps_where_delta_is_0(fitted: cofit.LogisticRegression) -> None:
    assert fitted.plan_.facts.pure_steps
    assert fitted.model_.certificate.mechanism == "knorm"
    assert fitted.model_.certificate.method == "descent"
    x = np.random.default_rng(4).normal(size=(1_000, 4))
    assert (fitted.predict(x) == (x @ [2.0, -1.0, 1.0, 0.0] > 0)).mean() > 0.8


def test_an_estimator_that_is_told_not_to_does_not() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 2))
    model = cofit.LogisticRegression(epsilon=1.0, delta=0.0, pure_steps=False).fit(x, (x[:, 0] > 0).astype(int))
    assert model.model_.certificate.method == "minimiser"


def test_a_model_is_saved_loaded_and_its_plan_made_again(fitted: cofit.LogisticRegression, tmp_path: Any) -> None:
    fitted.save(tmp_path / "model.json")
    stored = json.loads((tmp_path / "model.json").read_text())
    assert stored["rows"]["plain"] is True
    again = cofit.LogisticRegression.load(tmp_path / "model.json")
    x = np.random.default_rng(5).normal(size=(50, 4))
    np.testing.assert_array_equal(again.decision_function(x), fitted.decision_function(x))
    assert again.pure_steps is True
    plan = rebuilt_plan(again.model_.certificate)
    assert plan is not None
    assert plan.hash == fitted.plan_.hash


def test_a_model_that_states_other_rows_than_its_certificate_is_refused(fitted: cofit.LogisticRegression) -> None:
    model = fitted.model_
    assert model.rows is not None
    with pytest.raises(InvalidInputError, match=r"rows\.plain"):
        row_fields.check_rows(replace(model.rows, plain=False), 4, model.certificate)


def test_a_certificate_of_steps_where_the_rule_has_none_is_refused(fitted: cofit.LogisticRegression) -> None:
    certificate = fitted.model_.certificate
    for change in ({"epsilon": "3/1"}, {"cols": 200}):
        with pytest.raises(InvalidInputError):
            rebuilt_plan(replace(certificate, facts={**certificate.facts, **change}))


def test_scores_are_not_smoothed(fitted: cofit.LogisticRegression) -> None:
    with pytest.raises(InvalidInputError, match="a delta above 0"):
        fitted.predict(np.ones((30, 4)), smoothing="batch")


def test_the_plan_says_what_it_is() -> None:
    texts = {row.name: f"{row.value} {row.note}" for section in planned(60, 5).sections() for row in section.rows}
    assert texts["noise"] == "K-norm epsilon only"
    assert "rounded to cells of" in texts["one step"]
    again = {
        row.name for section in plan_training(training_facts(5_000, 3, **ASKED)).sections() for row in section.rows
    }
    assert "steps 1 to 10" in again
