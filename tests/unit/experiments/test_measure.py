"""One cell: the right rows, the right weights, the stated guarantee, and refusals instead of wrong numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from cofit.baselines.central import CentralNoPrivacy, CentralOutput
from cofit.baselines.method import Part
from cofit.baselines.minimiser import minimise
from cofit.errors import InvalidInputError
from cofit.experiments import measure as module
from cofit.experiments.cells import AccuracyCell, Cofit, TimingCell
from cofit.experiments.coordinates import unit_rows
from cofit.experiments.datasets import DataSet, load_data_set
from cofit.experiments.folds import folds
from cofit.experiments.measure import measure
from cofit.experiments.twin import twin_draws
from cofit.learn.facts import training_facts
from cofit.learn.plan import Plan
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from cofit.roles.local.tables import OwnerTable

DATA = load_data_set("claims:rows=240,cols=30,density=0.2,signal=20,seed=2")


def _cell(contender: Any, **changes: Any) -> AccuracyCell:
    given = {"owners": 2, "folds": 4, "fold": 1, "draws": 3, "seed": 7, **changes}
    return AccuracyCell("claims", contender, **given)


def _clear_cut() -> DataSet:
    """Rows far from every boundary, a fifth of them with the wrong label: a little noise changes no prediction."""
    rng = np.random.default_rng(5)
    side = rng.choice([-1.0, 1.0], 240)
    features = np.hstack([side[:, np.newaxis], 0.2 * rng.uniform(-1, 1, (240, 4))])
    return DataSet("clear", "clear", "", features, ((side > 0) ^ (rng.random(240) < 0.2)).astype(np.int64))


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
@pytest.mark.parametrize("owners", [1, 3])
def test_with_hardly_any_noise_the_accuracy_is_that_of_the_exact_minimiser(partition: str, owners: int) -> None:
    data = _clear_cut()
    fold = folds(data, 4, 7)[1]
    part = Part(unit_rows(data.features[fold.train]), data.labels[fold.train])
    scores = unit_rows(data.features[fold.test]) @ minimise(part, 0.3, tolerance=1e-9).weights
    assert np.abs(scores).min() > 0.1  # the noise has a standard deviation of 0.0035
    expected = ((scores > 0) == data.labels[fold.test]).mean()
    assert 0.6 < expected < 0.95
    result = measure(_cell(Cofit(100.0, 1e-5, l2=0.3, partition=partition), owners=owners), data)
    plain = measure(_cell(CentralNoPrivacy(0.3), owners=owners, draws=1), data)
    assert plain["accuracies"] == [expected]
    assert result["accuracies"] == [expected] * 3
    assert (result["epsilon"], plain["epsilon"]) == (100.0, None)


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_rows_held_out_are_not_trained_on(monkeypatch: pytest.MonkeyPatch, partition: str) -> None:
    marked = DataSet("m", "m", "", np.arange(240.0)[:, np.newaxis] + np.zeros((1, 4)), DATA.labels)
    seen: list[float] = []

    def capture(plan: Plan, owners: Mapping[str, OwnerTable], draws: int) -> Any:
        tables = [table.features for table in owners.values() if table.features is not None]
        seen.extend(np.concatenate(tables, axis=int(partition == "vertical"))[:, 0].tolist())
        labels = np.concatenate([table.labels for table in owners.values() if table.labels is not None])
        assert labels.tolist() == [int(marked.labels[int(row)]) for row in seen]
        assert plan.facts.rows == len(seen)
        return np.zeros((draws, 4))

    monkeypatch.setattr(module, "twin_draws", capture)
    measure(_cell(Cofit(1.0, partition=partition)), marked)
    fold = folds(marked, 4, 7)[1]
    assert sorted(seen) == fold.train.tolist()


def test_baselines_repeat_with_their_seed() -> None:
    noisy = CentralOutput(0.5)
    first, again = measure(_cell(noisy, draws=20), DATA), measure(_cell(noisy, draws=20), DATA)
    assert first["accuracies"] == again["accuracies"]
    assert len(set(first["accuracies"])) > 3
    assert measure(_cell(noisy, draws=20, seed=8), DATA)["accuracies"] != first["accuracies"]


def test_what_cannot_be_done_is_refused_with_the_reason() -> None:
    assert "epsilon" in measure(_cell(Cofit(5000.0)), DATA)["refused"]
    assert "owners" in measure(_cell(Cofit(1.0), owners=10_000), DATA)["refused"]


def test_the_twin_is_for_the_scheme_without_secrets_only() -> None:
    table = OwnerTable(np.ones((4, 2)), np.array([0, 1, 0, 1]))
    with pytest.raises(InvalidInputError, match="other schemes release once"):
        twin_draws(plan_minimiser(training_facts(4, 2, recipe="paper")), {"a": table}, 1)
    with pytest.raises(InvalidInputError, match="'draws'"):
        twin_draws(plan_minimiser(training_facts(4, 2, recipe="paper", scheme="clear")), {"a": table}, 0)


def test_a_zero_row_stays_zero() -> None:
    rows = unit_rows(np.array([[0, 0], [3, 4]], dtype=np.uint8))
    np.testing.assert_allclose(rows, np.array([[0, 0], [0.6, 0.8]]))


@pytest.mark.parametrize("scale", [1e300, 1e-300, 5e-324 * 2**20])
def test_rows_of_any_size_get_length_1(scale: float) -> None:
    np.testing.assert_allclose(unit_rows(np.array([[3.0, 4.0]]) * scale), [[0.6, 0.8]], rtol=1e-5)


def test_the_least_integer_of_a_type_counts_in_the_bound() -> None:
    features = np.tile(np.array([[-128, 1], [1, 3]], dtype=np.int8), (10, 1))
    data = DataSet("small", "small", "", features, np.arange(20) % 2)
    assert "accuracies" in measure(AccuracyCell("small", Cofit(1.0, partition="vertical"), 2, 2, 0, 1, 1), data)


def test_a_timed_run_is_a_real_one() -> None:
    result = measure(TimingCell("claims", "rep3", 3, "horizontal", 2, None, 1.0, 1.0, 1), DATA)
    assert result["seconds"] > 0
    assert result["rounds"] > 100
    assert result["bytes"] > 10_000


def test_a_run_that_does_not_fit_this_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MEMORY_SHARE", 1e-9)
    result = measure(TimingCell("claims", "rep3", 3, "horizontal", 2, None, 1.0, 1.0, 1), DATA)
    assert "on one machine" in result["refused"]
