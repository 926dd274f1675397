"""Recipe best as a contender: its plan, its scores, its guarantee, and the table that compares it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cofit.baselines.central_objective import CentralObjective
from cofit.baselines.method import Part
from cofit.errors import InvalidInputError
from cofit.experiments import measure as module
from cofit.experiments.ask import Answering, Collecting
from cofit.experiments.best import best_accuracies, plan_best
from cofit.experiments.cells import AccuracyCell, Best, Cell, RunCell, key_of
from cofit.experiments.datasets import DataSet, load_data_set
from cofit.experiments.folds import folds
from cofit.experiments.measure import measure
from cofit.experiments.settings import QUICK
from cofit.experiments.tables.best import EPSILONS, table9
from cofit.learn.facts import training_facts
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.planning import plan_descent
from cofit.learn.recipes.descent.row_map import RowMap

RNG = np.random.default_rng(4)
BOOLEAN = load_data_set("claims:rows=400,cols=20,density=0.3,signal=20,seed=2")
REALS = DataSet("reals", "reals", "", RNG.normal(size=(400, 8)), RNG.integers(0, 2, 400))


def _cell(contender: Best, fold: int = 1, draws: int = 4) -> AccuracyCell:
    return AccuracyCell("claims", contender, 2, 4, fold, draws, 7)


def test_ranges_are_those_that_are_declared_and_of_boolean_columns() -> None:
    assert BOOLEAN.ranges == (0.0, 1.0)
    assert load_data_set("breast-cancer").ranges == (-1.0, 1.0)
    assert REALS.ranges is None
    assert replace(REALS, features=np.abs(REALS.features)).ranges is None
    assert replace(REALS, declared=(-9.0, 9.0)).digest != REALS.digest


def test_the_plan_uses_declared_ranges_and_no_others() -> None:
    ours = Best(3.0, 1e-5)
    boolean, reals = (plan_best(data, 300, ours, "clear") for data in (BOOLEAN, REALS))
    assert (boolean.facts.normalised_by, reals.facts.normalised_by) == ("parties", "owners")
    assert (float(boolean.facts.feature_lower), float(boolean.facts.feature_bound)) == (0.0, 1.0)
    assert (boolean.level is None, reals.level is None) == (False, True)
    columns = plan_best(REALS, 300, replace(ours, partition="vertical"), "clear")
    assert float(columns.facts.feature_bound) == np.abs(REALS.features).max()
    with pytest.raises(InvalidInputError, match="'delta'"):
        Best(1.0, 0.0)


def test_a_score_is_that_of_the_models_own_map() -> None:
    """By hand: level, length, centre and intercept of a made-up release."""
    facts = training_facts(
        400, 20, epsilon=8.0, delta=1e-5, feature_bound=1.0, feature_lower=0.0, scheme="clear", clip_rows=False
    )
    plan = plan_descent(facts)
    assert plan.level is not None
    assert plan.centre is not None
    cols = plan.facts.cols
    released = np.concatenate([RNG.normal(size=cols), [3.0], [0.25], 0.1 * RNG.normal(size=cols)])
    x = BOOLEAN.features[:50].astype(np.float64)
    y = x - (3 * x.mean(axis=1, keepdims=True) + 5 * 0.25) / 8
    z = y / np.linalg.norm(y, axis=1, keepdims=True) - released[cols + 2 :]
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    scores = z @ released[:cols] + float(plan.formats.constant) * 3.0
    assert (scores > 0).any()
    assert (scores < 0).any()
    rows = np.arange(50)
    for labels in (scores > 0, scores < 0):
        data = replace(BOOLEAN, labels=np.where(np.arange(400) < 50, np.resize(labels, 400), 0).astype(np.int64))
        assert best_accuracies(plan, released[np.newaxis], data, rows) == [float((labels == (scores > 0)).mean())]


def test_it_learns_repeats_with_its_seed_and_states_its_guarantee() -> None:
    weak, strong = (measure(_cell(Best(epsilon, 1e-5), draws=20), BOOLEAN) for epsilon in (0.05, 20.0))
    assert np.mean(strong["accuracies"]) > np.mean(weak["accuracies"]) + 0.15
    assert measure(_cell(Best(20.0, 1e-5), draws=20), BOOLEAN)["accuracies"] == strong["accuracies"]
    assert (strong["epsilon"], strong["delta"]) == (20.0, 1e-5)
    assert len(strong["accuracies"]) == 20


def test_rows_held_out_are_not_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def capture(plan: DescentPlan, data: DataSet, rows: Any, draws: int, rng: Any) -> Any:
        assert plan.facts.rows == len(rows)
        seen.extend(rows.tolist())
        return np.zeros((draws, plan.released))

    monkeypatch.setattr(module, "best_draws", capture)
    measure(_cell(Best(1.0, 1e-5)), BOOLEAN)
    assert sorted(seen) == folds(BOOLEAN, 4, 7)[1].train.tolist()


@pytest.mark.parametrize("rows", ["unit", "centred"])
@pytest.mark.parametrize("columns", [8, 600], ids=["as they are", "in coordinates of their own"])
def test_a_baseline_gets_rows_prepared_as_it_asks(monkeypatch: pytest.MonkeyPatch, rows: str, columns: int) -> None:
    """Centred ones as recipe best has them without a level; in any coordinates, inner products are the same."""
    data = replace(REALS, features=RNG.normal(size=(400, columns)) + 1)
    seen: list[Part] = []
    train = CentralObjective.train

    def capture(self: CentralObjective, parts: Any) -> Any:
        seen.extend(parts)
        return train(self, parts)

    monkeypatch.setattr(CentralObjective, "train", capture)
    cell = AccuracyCell("reals", CentralObjective(1.0, 1e-5, rows=rows), 1, 4, 1, 2, 7)
    measure(cell, data)
    x = data.features[folds(data, 4, 7)[1].train]
    expected = x / np.linalg.norm(x, axis=1, keepdims=True) if rows == "unit" else RowMap("l2", 1.0, 0.0)(x)
    assert seen[0].features @ seen[0].features.T == pytest.approx(expected @ expected.T, abs=1e-12)
    assert seen[0].unseen == max(0, columns - 400)


@pytest.mark.slow
def test_a_run_of_the_protocol_is_scored_as_its_twin() -> None:
    ours = Best(20.0, 1e-5)
    real = measure(RunCell("claims", ours, "rep3", 2, 4, 1, 7), BOOLEAN)
    twin = measure(_cell(ours, draws=40), BOOLEAN)
    mean, spread = np.mean(twin["accuracies"]), np.std(twin["accuracies"])
    assert abs(real["accuracies"][0] - mean) < 5 * spread + 0.01
    assert (real["epsilon"], real["delta"]) == (twin["epsilon"], twin["delta"])
    assert real["seconds"] > 0


def test_keys_tell_recipes_and_runs_apart() -> None:
    ours = Best(1.0, 1e-5)
    keys = [key_of(cell, "x") for cell in (_cell(ours), RunCell("claims", ours, "rep3", 2, 4, 1, 7))]
    assert keys[0] != keys[1]
    assert all(key["method"] == "Best" for key in keys)
    assert key_of(_cell(replace(ours, raw=True)), "x") != keys[0]


def test_without_shrinkage_the_noise_is_the_same() -> None:
    rng = np.random.default_rng(3)
    x = rng.choice([-1.0, 1.0], (900, 200))
    sparse = DataSet("few", "few", "few columns matter", x, (x[:, 7] + 0.5 * rng.normal(size=900) > 0).astype(np.int64))
    for data, same in ((BOOLEAN, True), (sparse, False)):
        found, raw = (measure(_cell(Best(3.0, 1e-5, raw=raw)), data)["accuracies"] for raw in (False, True))
        assert (found == raw) == same
    assert np.mean(found) > np.mean(raw)


def _made_up(cell: Cell) -> dict[str, Any]:
    accuracy = {0.1: 0.6, 0.3: 0.7, 1.0: 0.65}.get(getattr(getattr(cell, "contender", None), "learning_rate", 0), 0.5)
    epsilon = getattr(getattr(cell, "contender", None), "epsilon", None)
    return {"accuracies": [accuracy], "epsilon": epsilon, "delta": 1e-5, "seconds_training": 1.0, "seconds": 2.5}


def test_the_table_has_all_epsilons_and_marks_what_was_chosen_in_hindsight() -> None:
    collecting = Collecting(BOOLEAN, QUICK)
    table9(collecting)
    contenders = [cell.contender for cell in collecting.cells if isinstance(cell, AccuracyCell)]
    asked = {contender.epsilon for contender in contenders if isinstance(contender, Best)}
    assert asked == set(EPSILONS) == {0.5, 1.0, 3.0, 8.0}
    table = table9(Answering(BOOLEAN, QUICK, _made_up))
    rows = {row.label: row for row in table.rows}
    hindsight = [row for label, row in rows.items() if "hindsight" in label]
    assert len(hindsight) == 6
    assert not any(row.guaranteed for row in hindsight)
    assert all(str(row.figures[-1]).startswith("nothing") for row in hindsight)
    assert str(rows["DP-SGD, every owner alone, learning rate in hindsight"].figures[0]) == "70.0 ± 0.0 %"
    assert rows["cofit, recipe best (delta 1e-05)"].guaranteed
    assert rows["cofit, recipe best (delta 1e-05), without shrinkage"].guaranteed
    assert str(rows["cofit, recipe best (delta 1e-05)"].figures[-1]) == "epsilon (delta 1e-05)"
    objective = [row for label, row in rows.items() if label.startswith("trusted curator, objective")]
    assert [row.guaranteed for row in objective] == [True, True, True, False]
    assert {one.rows for one in contenders if isinstance(one, CentralObjective)} == {"unit", "centred"}
    assert any("features between 0 and 1" in note for note in table.notes)
    assert any("time: 2.50 s" in note for note in table.notes)
    share = np.bincount(BOOLEAN.labels).max() / 400
    assert rows["the more common class, always"].figures[0].value == pytest.approx(share)
