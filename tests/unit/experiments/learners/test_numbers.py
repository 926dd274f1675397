"""Table 10 on numbers: who is compared with whom, and that each does what its label says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cofit.experiments.learners.measured import PROBLEMS, LearnerCell, measure_learner
from cofit.experiments.learners.numbers import FunctionalMechanism, LeastSquares, OwnersAlone, WithoutPrivacy
from cofit.experiments.learners.problem import Task
from cofit.experiments.run import Source, run_experiments
from cofit.experiments.settings import Settings
from cofit.experiments.tables.learners import EPSILONS


def figures(name: str, contender: str, epsilon: float) -> list[float]:
    found = measure_learner(LearnerCell(name, contender, epsilon, 5, 0, 4, 1))
    return [float(value) for value in found["figures"]]


def test_privacy_costs_something_and_the_others_rows_bring_something() -> None:
    at = {
        kind: np.mean(figures("diabetes", kind.label, 1.0)) for kind in (LeastSquares, OwnersAlone, FunctionalMechanism)
    }
    plain = figures("diabetes", WithoutPrivacy.label, 0.0)[0]
    assert at[OwnersAlone] < at[LeastSquares] < plain
    assert at[FunctionalMechanism] < at[LeastSquares]


def test_the_functional_mechanism_without_noise_is_least_squares() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (500, 3))
    y = np.clip(x @ [0.3, -0.2, 0.1] + 0.2, -1, 1)
    task = Task(x[:400], y[:400], (np.arange(200), np.arange(200, 400)), x[400:], y[400:], 1e9, 0.0, 2, 0)
    assert min(FunctionalMechanism().figures(task)) > 0.999
    noisy = Task(x[:400], y[:400], (np.arange(200), np.arange(200, 400)), x[400:], y[400:], 0.1, 0.0, 2, 0)
    assert max(FunctionalMechanism().figures(noisy)) < 0.9


def test_columns_and_targets_keep_to_their_ranges() -> None:
    for name in ("diabetes", "districts"):
        features, targets = PROBLEMS[name].data
        assert max(np.abs(features).max(), np.abs(targets).max()) <= 1
        assert f"{len(targets):,} x {features.shape[1]}" in PROBLEMS[name].about


@pytest.mark.timeout(300)
def test_table_10_has_every_contender_on_every_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two folds and a draw, without the large sets, which take most of the time."""
    for name in ("digits", "districts"):
        monkeypatch.delitem(PROBLEMS, name)
    settings = Settings(folds=2, draws=1, repetitions=1, long_runs=False)
    (table,) = run_experiments(("table10",), (Source("breast-cancer"),), settings, tmp_path, workers=1)
    labels = [row.label for row in table.rows]
    assert labels == [f"{p.name}: {c.label}" for p in PROBLEMS.values() for c in p.contenders]
    assert all(figure.value is not None for row in table.rows for figure in row.figures)
    assert len(table.columns) == len(EPSILONS)
    assert "diabetes" in (tmp_path / "tables.md").read_text()
