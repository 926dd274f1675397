"""A model with bounds takes rows in the owners' own units, from one row on; one without says when it is given such."""

from __future__ import annotations

import csv
import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cofit.cli.main import cli
from cofit.errors import InvalidInputError
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.models.linear_model import LinearModel
from cofit.models.model_files import load_model
from cofit.models.study_model import StudyModel
from cofit.roles.local.tables import OwnerTable
from cofit.roles.local.training import run_training
from unit.cli.study_models import model_of
from unit.study.studies import study_of

RNG = np.random.default_rng(12)
NAMES = ("age", "pressure", "dose")
BOUNDS = ((18.0, 98.0), (60.0, 240.0), (0.0, 0.5))
LOWER, UPPER = np.array(BOUNDS).T
RAW = RNG.uniform(LOWER, UPPER, (60, 3))
SCALED = 2 * (RAW - LOWER) / (UPPER - LOWER) - 1
Y = (SCALED[:, 0] > 0).astype(np.int64)


@pytest.fixture(scope="module")
def scaled() -> LinearModel:
    """The model of scaled rows, as training gives it."""
    plan = plan_training(training_facts(60, 3, epsilon=8.0, scheme="clear", feature_bound=1.0, clip_rows=False))
    return LinearModel.from_training(run_training(plan, {"a": OwnerTable(SCALED, Y)}), ("well", "ill"), NAMES)


@pytest.fixture(scope="module")
def bounded(scaled: LinearModel) -> LinearModel:
    return replace(scaled, bounds=BOUNDS)


@pytest.mark.parametrize("rows", [1, 5, 60])
def test_raw_rows_have_the_scores_of_scaled_ones(scaled: LinearModel, bounded: LinearModel, rows: int) -> None:
    expected = scaled.decision_function(SCALED[:rows])
    np.testing.assert_allclose(bounded.decision_function(RAW[:rows]), expected, rtol=1e-12)
    beyond = RAW[:rows] + np.array([0, 0, 100])
    assert (bounded.decision_function(beyond) == bounded.decision_function(np.clip(beyond, LOWER, UPPER))).all()


def test_rows_in_other_units_are_warned_of(scaled: LinearModel, bounded: LinearModel) -> None:
    with pytest.warns(UserWarning, match=r"1 of 1 rows have most of their values beyond the bounds of the columns"):
        bounded.decision_function([[0.2, -0.3, -0.1]])  # somebody has scaled them already
    with pytest.warns(UserWarning, match=r"1 of 1 rows have values beyond what was agreed on for training"):
        scaled.decision_function(RAW[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bounded.decision_function(RAW + np.array([0, 0, 100]))
        scaled.decision_function(SCALED[:1])


def test_a_file_keeps_the_bounds(scaled: LinearModel, bounded: LinearModel, tmp_path: Path) -> None:
    bounded.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert isinstance(again, LinearModel)
    assert again.bounds == BOUNDS
    assert again.to_json() == bounded.to_json()
    assert "bounds" not in json.loads(scaled.to_json())


@pytest.mark.parametrize(
    "bad",
    [
        [[0, 1], [0, 1]],
        [[0, 1], [0, 1], [1, 1]],
        [[0, 1], [0, 1], [2, 1]],
        [[0, 1], [0, 1], [0, float("inf")]],
        [[0, 1], [0, 1], [-1.7e308, 1.7e308]],
        [[0, 1], [0, 1], [False, True]],
        [[0, 1], [0, 1], ["0", "1"]],
        [[0, 1], [0, 1], [0, 1, 2]],
        [0, 1, 2],
        "012",
        3,
    ],
    ids=str,
)
def test_bad_bounds_are_refused(scaled: LinearModel, bad: object) -> None:
    with pytest.raises(InvalidInputError, match=r"The 'bounds' parameter of a LinearModel must be None, or 3 pairs"):
        replace(scaled, bounds=bad)  # type: ignore[arg-type]


def test_the_command_scores_tables_in_their_own_units(bounded: LinearModel, tmp_path: Path) -> None:
    bounded.save(tmp_path / "model.json")
    with (tmp_path / "new.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("dose", "name", "age", "pressure"), (RAW[0, 2], "p1", RAW[0, 0], RAW[0, 1])])
    done = CliRunner().invoke(cli, ["predict", str(tmp_path / "model.json"), str(tmp_path / "new.csv")])
    assert done.exit_code == 0, done.output
    (row,) = csv.DictReader(done.stdout.splitlines())
    assert float(row["score"]) == pytest.approx(float(bounded.decision_function(RAW[:1])[0]), rel=1e-12)
    assert row["class"] == bounded.predict(RAW[:1])[0]


def test_without_bounds_the_command_says_that_rows_must_be_prepared(scaled: LinearModel, tmp_path: Path) -> None:
    scaled.save(tmp_path / "model.json")
    (tmp_path / "new.csv").write_text("age,pressure,dose\n50,120,0.2\n")
    files = [str(tmp_path / "model.json"), str(tmp_path / "new.csv")]
    for command, told in (
        ("predict", "Prepare them as for training, with the same public bounds and the same order of columns"),
        ("evaluate", "names no column of labels"),
    ):
        refused = CliRunner().invoke(cli, [command, *files])
        assert isinstance(refused.exception, InvalidInputError)
        assert told in str(refused.exception)
        assert not refused.stdout


def test_the_model_of_a_study_has_its_bounds_in_its_features() -> None:
    """Bounds beside them would scale rows twice."""
    study = study_of(data__features=[{"names": ["a", "b"], "type": "number", "lower": -2, "upper": 2}])
    document = json.loads(model_of(study, {"a": 1.0}).to_json())
    document["model"]["bounds"] = [[-2, 2], [-2, 2]]
    with pytest.raises(InvalidInputError, match=r"'model\.bounds' parameter of a study model must be left out"):
        StudyModel.from_json(json.dumps(document))
