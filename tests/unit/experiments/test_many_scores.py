"""Scores under many releases at once are those of each release's own model."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.experiments.many_scores import scores_of_releases
from cofit.learn.descent.cleartext import cleartext_descent
from cofit.learn.facts import training_facts
from cofit.learn.plan import DescentPlan, plan_training
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
