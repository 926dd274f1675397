"""The forecast of the accuracy against real runs: the same made-up rows, trained by the parties' program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cofit.experiments.public_rows import made_up_rows
from cofit.experiments.simulation import Simulation
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.models.linear_model import LinearModel
from cofit.roles.owner_tables import OwnerTable
from cofit.roles.training import run_training

RUNS = 16
SETTINGS: dict[str, dict[str, Any]] = {
    "best": {"epsilon": 0.6},
    "best, level": {"epsilon": 1.0, "feature_bound": 1.0, "feature_lower": 0.0},
    "paper, gaussian": {"epsilon": 0.6, "recipe": "paper", "l2": 0.1, "delta": 1e-6},
    "paper, knorm": {"epsilon": 2.0, "recipe": "paper", "l2": 0.1},
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_forecast_is_what_real_runs_reach(setting: str) -> None:
    """Means over draws and runs differ by sampling error alone: 4.5 standard errors."""
    facts = dict(SETTINGS[setting])
    data = made_up_rows(400, 12).split(400)
    epsilon = facts.pop("epsilon")
    forecast = Simulation(400, 12, data, 400, 10**9).accuracies(epsilon, facts)
    assert not isinstance(forecast, str)
    plan = plan_training(training_facts(400, 12, epsilon=epsilon, scheme="clear", **facts))
    x, y = data.features[data.filled], data.labels[data.filled]
    owners = {"a": OwnerTable(x[:150], y[:150]), "b": OwnerTable(x[150:], y[150:])}
    measured = []
    for _ in range(RUNS):
        model = LinearModel.from_training(run_training(plan, owners, parties=["p"]), (0, 1))
        measured.append(float((model.predict(data.features[data.test]) == data.labels[data.test]).mean()))
    error = float(np.hypot(forecast.std() / np.sqrt(len(forecast)), forecast.std() / np.sqrt(RUNS)))
    assert float(np.mean(measured)) == pytest.approx(float(forecast.mean()), abs=4.5 * error)
    assert error < 0.03
