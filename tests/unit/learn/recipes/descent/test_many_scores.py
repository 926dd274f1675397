"""Scores under many releases at once are those of each release's own model."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.experiments.best import best_accuracies
from cofit.experiments.datasets import DataSet
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent.many_scores import scores_of_releases
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.twin import cleartext_descent
from cofit.models.linear_model import LinearModel
from unit.report.models import DESCENTS, certified_by


@pytest.mark.parametrize("kind", DESCENTS)
def test_as_the_models_score(kind: str) -> None:
    plan = plan_training(training_facts(400, 5, **DESCENTS[kind]))
    assert isinstance(plan, DescentPlan)
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 1, (400, 5))
    released = cleartext_descent(plan, x, (x[:, 0] > 0.5).astype(np.int64), 3, rng)
    rows = np.vstack([x[:40], np.zeros(5), np.full(5, 0.25), np.eye(5)])
    found = scores_of_releases(plan, released, rows)
    assert found.shape == (47, 3)
    certificate = certified_by(plan)
    for i, one in enumerate(released):
        model = LinearModel.from_weights(plan, one.tolist(), certificate, (0, 1))
        assert found[:, i] == pytest.approx(model.decision_function(rows), rel=1e-9, abs=1e-9)


def test_where_few_columns_matter_scores_are_of_the_weights_that_models_use() -> None:
    plan = plan_training(training_facts(1500, 300, epsilon=8.0, delta=1e-5))
    assert isinstance(plan, DescentPlan)
    rng = np.random.default_rng(3)
    x = rng.choice([-1.0, 1.0], (1500, 300))
    labels = (x[:, 7] > 0).astype(np.int64)
    released = cleartext_descent(plan, x, labels, 3, rng)
    rows = np.arange(40)
    found = scores_of_releases(plan, released, x[rows])
    data = DataSet("few", "few", "few columns matter", x, labels)
    accuracies = best_accuracies(plan, released, data, rows)
    for i, one in enumerate(released):
        model = LinearModel.from_weights(plan, one.tolist(), certified_by(plan), (0, 1))
        assert model.shrinkage == plan.shrinkage(one) > 0
        scores = model.decision_function(x[rows])
        assert found[:, i] == pytest.approx(scores, rel=1e-9, abs=1e-9)
        assert found[:, i] != pytest.approx(model.shrunk(0).decision_function(x[rows]), rel=1e-3)
        assert accuracies[i] == ((scores > 0) == labels[rows]).mean()
