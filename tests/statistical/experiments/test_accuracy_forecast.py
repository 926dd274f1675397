"""The forecast of the accuracy against real runs: the same made-up rows, trained by the parties' program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cofit.experiments.public_rows import made_up_rows
from cofit.experiments.simulation import Simulation
from cofit.experiments.twin import twin_draws
from cofit.learn.facts import training_facts
from cofit.learn.plan import Plan, plan_training
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.models.linear_model import LinearModel
from cofit.roles.local.tables import OwnerTable
from cofit.roles.local.training import run_training
from unit.report.models import certified_by

RUNS, DRAWS = 32, 200
SETTINGS: dict[str, dict[str, Any]] = {
    "best": {"epsilon": 0.6},
    "best, level": {"epsilon": 0.3, "feature_bound": 1.0, "feature_lower": 0.0},
    "paper, gaussian": {"epsilon": 1.2, "recipe": "paper", "l2": 0.01, "delta": 1e-6},
    "paper, knorm": {"epsilon": 1.2, "recipe": "paper", "l2": 0.01},
}


def releases(plan: Plan, owners: dict[str, OwnerTable]) -> list[list[float]]:
    """Weights of real runs: 32 of noisy descent, or one of the paper's method that draws 200 times."""
    if isinstance(plan, MinimiserPlan):
        weights: list[list[float]] = twin_draws(plan, owners, DRAWS).tolist()
        return weights
    return [run_training(plan, owners, parties=["p"]).weights.tolist() for _ in range(RUNS)]


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_forecast_is_what_real_runs_reach(setting: str) -> None:
    """Means over draws and runs differ by sampling error alone: 4.5 standard errors. Twice the epsilon is seen."""
    facts = dict(SETTINGS[setting])
    data = made_up_rows(400, 12).split(400)
    epsilon = facts.pop("epsilon")
    forecast = Simulation(400, 12, data, 400, 10**9).accuracies(epsilon, facts)
    assert not isinstance(forecast, str)
    plan = plan_training(training_facts(400, 12, epsilon=epsilon, scheme="clear", **facts))
    x, y = data.features[data.filled], data.labels[data.filled]
    owners = {"a": OwnerTable(x[:150], y[:150]), "b": OwnerTable(x[150:], y[150:])}
    certificate = certified_by(plan)
    measured = []
    for weights in releases(plan, owners):
        model = LinearModel.from_weights(plan, weights, certificate, (0, 1))
        measured.append(
            float(((model.decision_function(data.features[data.test]) > 0) == data.labels[data.test]).mean())
        )
    error = float(forecast.std() * np.sqrt(1 / len(forecast) + 1 / len(measured)))
    assert float(np.mean(measured)) == pytest.approx(float(forecast.mean()), abs=4.5 * error)
