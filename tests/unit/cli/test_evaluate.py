"""``cofit evaluate``: figures that can be counted by hand, and what they are not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from cofit.cli.evaluate import _print
from cofit.cli.main import cli
from cofit.cli.model import write_model
from cofit.errors import InvalidInputError
from cofit.models.evaluation import evaluate
from unit.cli.study_models import model_file, model_of
from unit.study.studies import study_of

FEATURES = [{"name": "age", "type": "number", "lower": 0, "upper": 100}]


def run(folder: Path, labels: list[str], *more: str, kind: str = "logistic_regression") -> str:
    """Ages 10, 30, 70, 90 under a model that says yes above 50."""
    study = study_of(data__features=FEATURES, model__kind=kind)
    model = model_file(folder, study, {"age": 2.0})
    rows = [f"{age},{label}" for age, label in zip((10, 30, 70, 90), labels, strict=True)]
    (folder / "test.csv").write_text("age,ill\n" + "\n".join(rows) + "\n")
    result = CliRunner().invoke(cli, ["evaluate", str(model), str(folder / "test.csv"), *more])
    if result.exception is not None:
        raise result.exception
    return result.output


def test_counts_by_hand(tmp_path: Path) -> None:
    found = json.loads(run(tmp_path, ["no", "yes", "yes", "yes"], "--json"))
    assert (found["rows"], found["accuracy"], found["auc"]) == (4, 0.75, 1.0)
    assert found["confusion"] == [[1, 0], [1, 2]]
    assert found["classes"] == ["no", "yes"]
    assert sum(one["rows"] for one in found["calibration"]) == 4
    assert "outside the guarantee" in found["note"]


def test_for_people(tmp_path: Path) -> None:
    text = " ".join(run(tmp_path, ["no", "no", "yes", "yes"]).split())
    assert "accuracy 1.0000, AUC 1.0000" in text
    assert "Expected calibration error" in text
    assert "publishing them is outside the guarantee" in text


def test_the_weights_as_released(tmp_path: Path) -> None:
    """With a threshold that leaves no weight, everything scores 0; --raw scores with the weights of the file."""
    study = study_of(data__features=FEATURES)
    released = model_of(study, {"age": 2.0})
    write_model(replace(released, model=released.model.shrunk(1e9)), tmp_path / "model.json")
    (tmp_path / "test.csv").write_text("age,ill\n90,yes\n80,yes\n10,no\n")
    found = {}
    for more in ((), ("--raw",)):
        arguments = ["evaluate", str(tmp_path / "model.json"), str(tmp_path / "test.csv"), "--json", *more]
        found[more] = json.loads(CliRunner().invoke(cli, arguments).output)["accuracy"]
    assert found == {(): pytest.approx(1 / 3), ("--raw",): 1.0}
    for more, said in (((), "with shrinkage 1e+09; --raw"), (("--raw",), "with the weights as released.")):
        told = CliRunner().invoke(cli, ["evaluate", str(tmp_path / "model.json"), str(tmp_path / "test.csv"), *more])
        assert said in told.output


def test_one_class_and_no_probabilities(tmp_path: Path) -> None:
    found = json.loads(run(tmp_path, ["yes"] * 4, "--json", kind="linear_svc"))
    assert found["auc"] is None
    assert (found["calibration_error"], found["calibration"]) == (None, [])


@pytest.mark.parametrize("labels", [["no", "", "yes", "yes"], ["no", "maybe", "yes", "yes"]])
def test_labels_that_are_none(tmp_path: Path, labels: list[str]) -> None:
    with pytest.raises(InvalidInputError, match="column 'ill', row 2: it must be 'no' or 'yes'"):
        run(tmp_path, labels)


def test_calibration_by_hand() -> None:
    labels = np.array([0, 1, 1, 1, 0])
    probabilities = np.array([0.05, 0.55, 0.55, 1.0, 0.0])
    found = evaluate(labels, probabilities - 0.5, probabilities, probabilities > 0.5)
    assert [(b.lower, b.rows, b.observed) for b in found.calibration] == [(0.0, 2, 0.0), (0.5, 2, 1.0), (0.9, 1, 1.0)]
    assert found.calibration_error == pytest.approx((2 * 0.025 + 2 * 0.45 + 0.0) / 5)
    with pytest.raises(InvalidInputError, match="no rows"):
        evaluate(labels[:0], probabilities[:0], None, labels[:0] > 0)


def test_a_threshold_moves_the_decision_and_not_the_ranking(tmp_path: Path) -> None:
    """Ages 10, 30, 70, 90: the probabilities of 'yes' rise with the age, and 0.9 is above all of them."""
    usual = json.loads(run(tmp_path, ["no", "yes", "yes", "yes"], "--json"))
    low = json.loads(run(tmp_path, ["no", "yes", "yes", "yes"], "--json", "--threshold", "0.3"))
    assert (usual["threshold"], low["threshold"]) == (None, 0.3)
    assert (usual["confusion"], low["confusion"]) == ([[1, 0], [1, 2]], [[1, 0], [0, 3]])
    assert (low["auc"], low["calibration"]) == (usual["auc"], usual["calibration"])
    for bad in ("0", "1", "nan", "-2"):
        with pytest.raises(InvalidInputError, match="'threshold' parameter of predict must be a probability above 0"):
            run(tmp_path, ["no", "yes", "yes", "yes"], "--threshold", bad)
    machine = json.loads(run(tmp_path, ["no", "yes", "yes", "yes"], "--json", "--threshold", "-100", kind="linear_svc"))
    assert machine["confusion"] == [[0, 1], [0, 3]]
    with pytest.raises(InvalidInputError, match="'threshold' parameter of predict must be a finite score"):
        run(tmp_path, ["no", "yes", "yes", "yes"], "--threshold", "inf", kind="linear_svc")


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_one_class_for_many_rows_is_told_on_standard_error(tmp_path: Path, more: tuple[str, ...]) -> None:
    model = model_file(tmp_path, study_of(data__features=FEATURES), {"age": 2.0})
    arguments = ["evaluate", str(model), str(tmp_path / "test.csv"), *more]
    (tmp_path / "test.csv").write_text("age,ill\n" + "90,no\n90,yes\n" * 50)
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0
    assert result.stderr.startswith("Warning: All 100 rows are predicted to be of the class 'yes'.")
    assert "a higher threshold (--threshold)" in result.stderr
    assert "Warning" not in result.stdout
    (tmp_path / "test.csv").write_text("age,ill\n10,no\n" + "90,yes\n" * 99)
    assert CliRunner().invoke(cli, arguments).stderr == ""


def test_the_commoner_class_stands_beside_and_one_bin_is_told() -> None:
    labels = np.array([0] * 95 + [1] * 5)
    scores = np.linspace(-3, -2, 100)
    result = evaluate(labels, scores, np.full(100, 0.05), scores > 0)
    console = Console(record=True, width=200)
    _print(console, result, ["no", "yes"])
    text = console.export_text()
    assert "Always naming the more common class has an accuracy of 0.9500." in text
    assert "Nearly all rows are in one bin" in text
    spread = evaluate(labels, scores, np.linspace(0.01, 0.99, 100), scores > 0)
    _print(console, spread, ["no", "yes"])
    assert "one bin" not in console.export_text()
