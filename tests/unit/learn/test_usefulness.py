"""Rows that a useful model needs: from public facts; more columns and less budget need more."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent.many_scores import scores_of_releases
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.twin import cleartext_descent
from cofit.learn.usefulness import about, few_rows, rows_needed, shown, wanted_strength


def needed(rows: int, cols: int, **facts: Any) -> int:
    return plan_training(training_facts(rows, cols, **facts)).rows_needed


def test_it_falls_with_epsilon_and_grows_with_columns() -> None:
    by_epsilon = [needed(1000, 20, epsilon=epsilon) for epsilon in (0.01, 0.1, 1.0, 8.0)]
    assert by_epsilon == sorted(by_epsilon, reverse=True)
    assert all(first > 2 * second for first, second in itertools.pairwise(by_epsilon))
    by_cols = [needed(1000, cols) for cols in (1, 10, 100, 1000)]
    assert by_cols == sorted(set(by_cols))


@pytest.mark.parametrize("rows", [100, 10_000, 1_000_000])
def test_it_hardly_depends_on_how_many_rows_there_are(rows: int) -> None:
    assert needed(rows, 200) == pytest.approx(needed(1000, 200), rel=0.1)


@pytest.mark.parametrize(
    ("rows", "cols", "facts"),
    [
        (10, 3, {}),
        (4000, 3, {"epsilon": 0.001}),
        (200, 500, {"epsilon": 0.3}),
        (50, 40, {"delta": 0.0, "row_nonzeros": 4, "epsilon": 0.1}),
    ],
)
def test_too_few_are_announced(rows: int, cols: int, facts: dict[str, Any]) -> None:
    plan = plan_training(training_facts(rows, cols, **facts))
    assert f"{rows:,} rows with {cols} columns are few" in plan.warnings[0]
    assert f"about {plan.rows_needed:,} rows" in plan.warnings[0]
    assert plan.rows_needed > 2 * rows
    assert plan.to_dict()["rows_needed"] == plan.rows_needed


@pytest.mark.parametrize(("rows", "cols"), [(426, 30), (2000, 4), (1713, 1874), (100_000, 100)])
def test_enough_are_not(rows: int, cols: int) -> None:
    assert plan_training(training_facts(rows, cols)).warnings == ()


def test_the_papers_recipe_has_a_figure_too() -> None:
    plan = plan_training(training_facts(50, 30, recipe="paper", epsilon=0.5))
    assert any(f"more rows (about {plan.rows_needed:,})" in warning for warning in plan.warnings)
    enough = plan_training(training_facts(2 * plan.rows_needed, 30, recipe="paper", epsilon=0.5))
    assert not enough.warnings


def test_figures_are_round() -> None:
    assert [about(x) for x in (0.1, 3.2, 99.2, 101.0, 12_345.0, 1e30)] == [2, 4, 100, 110, 13_000, 10**18]
    assert (shown(13_000), shown(10**18)) == ("13,000", "10^18 or more")
    assert rows_needed(10, 4, 0.0) == 10**18
    assert few_rows(10, 4, wanted_strength(4)) == ()


@pytest.mark.slow
@pytest.mark.parametrize("cols", [3, 10, 30, 100])
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_so_many_rows_are_useful_and_a_sixth_of_them_is_not(cols: int, epsilon: float) -> None:
    """Made-up rows with a tenth as many factors as columns; 78 % of the labels can be told."""

    def accuracy(rows: int) -> float:
        rng, fixed = np.random.default_rng(rows), np.random.default_rng(cols)
        factors = fixed.normal(size=(max(1, cols // 10), cols)) / np.sqrt(max(1, cols // 10))
        x = rng.normal(size=(rows + 4000, len(factors))) @ factors + rng.normal(size=(rows + 4000, cols))
        weights = fixed.normal(size=cols)
        weights *= 2 / np.sqrt(weights @ (factors.T @ factors + np.eye(cols)) @ weights)
        y = (rng.random(len(x)) < 1 / (1 + np.exp(-x @ weights))).astype(np.int64)
        plan = plan_training(training_facts(rows, cols, epsilon=epsilon))
        assert isinstance(plan, DescentPlan)
        released = cleartext_descent(plan, x[:rows], y[:rows], 40, rng)
        return float(np.mean((scores_of_releases(plan, released, x[rows:]) > 0) == (y[rows:] == 1)[:, None]))

    enough = needed(1000, cols, epsilon=epsilon)
    assert accuracy(enough) > 0.585
    assert accuracy(max(4, enough // 6)) < 0.575
