"""``cofit predict``: the study's encoding is applied, in any order of columns and from any kind of file."""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from cofit.cli.main import cli
from cofit.cli.model import tell_of_shrinkage, write_model
from cofit.errors import InvalidInputError
from cofit.models.model_files import load_model
from cofit.models.study_classifier import StudyClassifier
from cofit.study.document import Study
from unit.cli.study_models import model_file, model_of
from unit.study.studies import HORIZONTAL, VERTICAL, study_of

HEADER = ["id", "w2", "group", "age", "w0", "treated", "dose", "smoker", "w1"]
ROWS = [
    ["p1", "0", "y", "75", "1", "1", "", "no", "0.5"],
    ["p2", "-1", "", "0", "-0.5", "0", "9", "yes", "0"],
]
WEIGHTS = {"age": 1.0, "group=y": 0.5, "group=z": -2.0, "w0": 0.25, "dose": 3.0, "smoker": -1.0}


def table() -> dict[str, list[str]]:
    return {name: [row[i] for row in ROWS] for i, name in enumerate(HEADER)}


def expected(study: Study) -> list[float]:
    """The scores by hand: encode, append the intercept's 1, divide by the length."""
    first = {"age": 0.5, "group=y": 1.0, "w0": 1.0, "dose": 0.0, "smoker": 0.0, "w1": 0.5, "treated": 1.0}
    second = {"age": -1.0, "group=z": 1.0, "w0": -0.5, "dose": 1.0, "smoker": 1.0, "w2": -1.0}
    floor = study.data.norm_floor if study.data.normalised_by == "parties" else 0.0
    scores = []
    for row in (first, second):
        length = math.sqrt(sum(v * v for v in row.values()) + 1.0)
        scores.append((sum(WEIGHTS.get(k, 0.0) * v for k, v in row.items()) + 0.75) / max(length, floor))
    return scores


def predictions(
    model: Path, data: Path, out: Path | None = None, *more: str, about: str = " rows scored"
) -> list[dict[str, str]]:
    """The table that the command writes; ``about`` is what it says beside it."""
    arguments = ["predict", str(model), str(data), *(() if out is None else ("--out", str(out))), *more]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.exception
    assert about in result.stderr
    return list(csv.DictReader((result.stdout if out is None else out.read_text()).splitlines()))


@pytest.mark.parametrize("document", [HORIZONTAL, VERTICAL], ids=["horizontal", "vertical"])
@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow"])
def test_scores_are_those_by_hand(tmp_path: Path, document: dict[str, object], ending: str) -> None:
    study = study_of(document)
    model = model_file(tmp_path, study, WEIGHTS, intercept=0.75)
    path = tmp_path / f"new.{ending}"
    if ending in ("csv", "tsv"):
        separator = "," if ending == "csv" else "\t"
        path.write_text("\n".join(separator.join(row) for row in (HEADER, *ROWS)) + "\n")
    elif ending == "parquet":
        pa.parquet.write_table(pa.table(table()), path)
    else:
        pa.feather.write_feather(pa.table(table()), str(path))
    found = predictions(model, path, tmp_path / "scores.csv")
    assert list(found[0]) == ["id", "score", "probability", "class"]
    assert [row["id"] for row in found] == ["p1", "p2"]
    np.testing.assert_allclose([float(row["score"]) for row in found], expected(study), rtol=1e-12)
    np.testing.assert_allclose(
        [float(row["probability"]) for row in found], 1 / (1 + np.exp(-np.array(expected(study)))), rtol=1e-12
    )
    assert [row["class"] for row in found] == ["yes" if score > 0 else "no" for score in expected(study)]


def test_an_array_of_features_in_the_order_of_the_study(tmp_path: Path) -> None:
    study = study_of(data__features=[{"names": ["a", "b"], "type": "number", "lower": -2, "upper": 2}])
    model = model_file(tmp_path, study, {"a": 1.0}, intercept=0.0)
    np.savez(tmp_path / "new.npz", X=np.array([[2.0, 0.0], [-2.0, 2.0]]))
    found = predictions(model, tmp_path / "new.npz")
    assert list(found[0]) == ["score", "probability", "class"]
    np.testing.assert_allclose([float(row["score"]) for row in found], [1 / math.sqrt(2), -1 / math.sqrt(3)])


def test_raw_weights_and_shrunk_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = study_of(data__features=[{"names": ["a", "b"], "type": "number", "lower": -2, "upper": 2}])
    released = model_of(study, {"a": 30.0, "b": 1e-6}, intercept=0.0)
    shrunk = replace(released, model=released.model.shrunk(0.5))
    write_model(shrunk, tmp_path / "model.json")
    np.savez(tmp_path / "new.npz", X=np.array([[0.0, 2.0], [0.0, -2.0]]))
    used = predictions(tmp_path / "model.json", tmp_path / "new.npz", about="shrinkage 0.5; --raw predicts")
    assert [float(row["score"]) for row in used] == [0.0, 0.0]
    raw = predictions(
        tmp_path / "model.json", tmp_path / "new.npz", None, "--raw", about="Predicted with the weights as released."
    )
    expected = released.model.decision_function(released.encode(pa.table({"a": [0.0, 0.0], "b": [2.0, -2.0]})))
    assert [float(row["score"]) for row in raw] == expected.tolist()
    assert expected[0] > 0
    capsys.readouterr()
    tell_of_shrinkage(released)
    assert capsys.readouterr().out == ""
    tell_of_shrinkage(shrunk)
    assert "predictions use the 1 of 2 weights that exceed 0.5 standard" in capsys.readouterr().out


def test_only_scores_are_overwritten(tmp_path: Path) -> None:
    model = model_file(tmp_path, study_of(), WEIGHTS)
    path, out = tmp_path / "new.csv", tmp_path / "scores.csv"
    path.write_text("\n".join(",".join(row) for row in (HEADER, *ROWS)) + "\n")
    first = predictions(model, path, out, about=f"2 rows scored: {out}. Predicted with the weights as released.")
    assert predictions(model, path, out) == first
    for other in (path, model):
        before = other.read_bytes()
        result = CliRunner().invoke(cli, ["predict", str(model), str(path), "--out", str(other)])
        assert isinstance(result.exception, InvalidInputError)
        assert f"'{other}' exists, and is not overwritten" in str(result.exception)
        assert "'id,score,probability,class'" in str(result.exception)
        assert other.read_bytes() == before


def test_a_full_disk_is_told_in_a_line(tmp_path: Path) -> None:
    model = model_file(tmp_path, study_of(), WEIGHTS)
    path = tmp_path / "new.csv"
    path.write_text("\n".join(",".join(row) for row in (HEADER, *ROWS)) + "\n")
    command = [sys.executable, "-m", "cofit.cli.main", "predict", str(model), str(path)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "The scores cannot be written to standard output: No space left on device." in done.stderr


def test_a_vector_machine_has_no_probabilities(tmp_path: Path) -> None:
    model = model_file(tmp_path, study_of(model__kind="linear_svc"), WEIGHTS)
    path = tmp_path / "new.csv"
    path.write_text("\n".join(",".join(row) for row in (HEADER, *ROWS)) + "\n")
    usual = predictions(model, path)
    assert list(usual[0]) == ["id", "score", "class"]
    limit = min(float(row["score"]) for row in usual)
    moved = predictions(model, path, None, "--threshold", repr(limit))
    assert [row["class"] for row in moved] == ["yes" if float(row["score"]) > limit else "no" for row in usual]
    assert {row["class"] for row in predictions(model, path, None, "--threshold", repr(limit - 1))} == {"yes"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("age", "Age"), "column 'age' is missing (did you mean 'Age'?)"),
        (("age", "years"), "column 'age' is missing; add it"),
        (("75", "175"), "row 1: it is beyond the agreed bounds 0 to 100; correct it\n"),
        (("75", ""), "row 1: the value is missing; fill it in, or remove the row\n"),
        (("y", "q"), "is none of 'x', 'y', 'z'; write one of these"),
        (("0.5\n", "a lot\n"), "is not a number"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    model = model_file(tmp_path, study_of(), WEIGHTS)
    path = tmp_path / "new.csv"
    text = "\n".join(",".join(row) for row in (HEADER, *ROWS)) + "\n"
    path.write_text(text.replace(*change, 1))
    result = CliRunner().invoke(cli, ["predict", str(model), str(path), "--out", str(tmp_path / "scores.csv")])
    assert message in f"{result.exception}\n"
    assert not (tmp_path / "scores.csv").exists()


def many(folder: Path, ages: list[int]) -> tuple[Path, Path]:
    """A model that says yes above 50, with probabilities from 0.27 to 0.73, and rows of these ages."""
    study = study_of(data__features=[{"name": "age", "type": "number", "lower": 0, "upper": 100}])
    (folder / "new.csv").write_text("age\n" + "".join(f"{age}\n" for age in ages))
    return model_file(folder, study, {"age": 2.0}), folder / "new.csv"


def test_a_threshold_decides_by_the_probability(tmp_path: Path) -> None:
    model, path = many(tmp_path, [10, 40, 60, 90])
    usual = predictions(model, path)
    assert [row["class"] for row in usual] == ["no", "no", "yes", "yes"]
    limit = (float(usual[0]["probability"]) + float(usual[1]["probability"])) / 2
    moved = predictions(model, path, None, "--threshold", repr(limit))
    assert [row["class"] for row in moved] == ["no", "yes", "yes", "yes"]
    exact = predictions(model, path, None, "--threshold", usual[2]["probability"])
    assert [row["class"] for row in exact] == ["no", "no", "no", "yes"]  # above it, not at it
    assert [row["probability"] for row in moved] == [row["probability"] for row in usual]
    for bad in ("0", "1", "1.5", "nan", "-0.1"):
        out = tmp_path / "scores.csv"
        result = CliRunner().invoke(cli, ["predict", str(model), str(path), "--out", str(out), "--threshold", bad])
        assert isinstance(result.exception, InvalidInputError)
        assert "'threshold' parameter of predict must be a probability above 0 and below 1" in str(result.exception)
        assert not out.exists()


def test_one_class_for_many_rows_is_told_on_standard_error(tmp_path: Path) -> None:
    model, path = many(tmp_path, [10] * 100)
    result = CliRunner().invoke(cli, ["predict", str(model), str(path)])
    assert result.exit_code == 0
    (warning,) = [line for line in result.stderr.splitlines() if line.startswith("Warning: ")]
    assert "All 100 rows are predicted to be of the class 'no'. Where 'yes' is rare" in warning
    assert "a lower threshold (--threshold)" in warning
    assert "calibrate_intercept" in warning
    assert "Warning" not in result.stdout
    to_a_file = CliRunner().invoke(cli, ["predict", str(model), str(path), "--out", str(tmp_path / "scores.csv")])
    told = result.stderr.replace("rows scored.", f"rows scored: {tmp_path / 'scores.csv'}.")
    assert (to_a_file.stdout, to_a_file.stderr) == ("", told)
    for ages in ([10] * 99, [10] * 99 + [90]):
        model, path = many(tmp_path, ages)
        assert "Warning" not in CliRunner().invoke(cli, ["predict", str(model), str(path)]).stderr


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "npz"])
def test_a_table_without_rows_is_an_error(tmp_path: Path, ending: str) -> None:
    model, _ = many(tmp_path, [])
    path, out = tmp_path / f"empty.{ending}", tmp_path / "scores.csv"
    if ending in ("csv", "tsv"):
        path.write_text("age\n")
    elif ending == "parquet":
        pa.parquet.write_table(pa.table({"age": pa.array([], pa.float64())}), path)
    elif ending == "arrow":
        pa.feather.write_feather(pa.table({"age": pa.array([], pa.float64())}), str(path))
    else:
        np.savez(path, age=np.zeros(0))
    result = CliRunner().invoke(cli, ["predict", str(model), str(path), "--out", str(out)])
    assert isinstance(result.exception, InvalidInputError)
    assert f"'{path}' has no rows" in str(result.exception)
    assert not out.exists()


def test_an_empty_file_and_no_rows_have_the_exit_code_of_bad_input(tmp_path: Path) -> None:
    model, path = many(tmp_path, [])
    for content in ("age\n", ""):
        path.write_text(content)
        command = [sys.executable, "-m", "cofit.cli.main", "predict", str(model), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stdout) == (2, "")
        assert ("has no rows" if content else "is empty") in done.stderr


def test_smoothed_scores_are_those_of_the_batch(tmp_path: Path) -> None:
    """Only with --smooth do the other rows of the table matter; Python's classifier has the same scores."""
    study = study_of(HORIZONTAL, model={"kind": "logistic_regression"})
    model = model_file(tmp_path, study, WEIGHTS, intercept=0.1)
    rng = np.random.default_rng(2)
    lines = [
        [
            f"p{i}",
            f"{w2:.3f}",
            rng.choice(["x", "y"]),
            f"{50 + 49 * age:.0f}",
            f"{w0:.3f}",
            "1",
            f"{dose}",
            "no",
            f"{w1}",
        ]
        for i, (w0, w1, w2, age, dose) in enumerate(rng.uniform(-1, 1, (120, 5)).tolist())
    ]
    whole, half = tmp_path / "whole.csv", tmp_path / "half.csv"
    whole.write_text("\n".join(map(",".join, [HEADER, *lines])) + "\n")
    half.write_text("\n".join(map(",".join, [HEADER, *lines[:100]])) + "\n")
    smoothed = predictions(model, whole, None, "--smooth", about="Smoothed by the 120 rows of the table")
    other = predictions(model, half, None, "--smooth", about="Smoothed by the 100 rows of the table")
    assert predictions(model, whole)[:100] == predictions(model, half)
    assert smoothed[0]["score"] != other[0]["score"] != predictions(model, half)[0]["score"]
    found = load_model(model)
    assert isinstance(found, StudyClassifier)
    scores = [float(row["score"]) for row in smoothed]
    np.testing.assert_allclose(found.decision_function(whole, smoothing="batch"), scores, rtol=1e-12)
    labels = ["yes" if i % 3 else "no" for i in range(120)]
    labelled = tmp_path / "labelled.csv"
    rows = [[*line, label] for line, label in zip(lines, labels, strict=True)]
    labelled.write_text("\n".join(map(",".join, [[*HEADER, "ill"], *rows])) + "\n")
    done = CliRunner().invoke(cli, ["evaluate", str(model), str(labelled), "--smooth", "--json"])
    right = np.mean([row["class"] == label for row, label in zip(smoothed, labels, strict=True)])
    assert json.loads(done.output)["smoothed"] is True and json.loads(done.output)["accuracy"] == pytest.approx(right)
    told = CliRunner().invoke(cli, ["evaluate", str(model), str(labelled), "--smooth"])
    assert "Smoothed by the 120 rows of the table" in told.output
    kept = found.smoothed(whole)
    np.testing.assert_allclose(kept.decision_function(half), scores[:100], rtol=1e-9)
    with pytest.raises(InvalidInputError, match="cannot be saved"):
        kept.study_model.to_json()


def test_a_folder_that_is_not_there_is_named_with_the_remedy(tmp_path: Path) -> None:
    model, out = model_file(tmp_path, study_of(), WEIGHTS, intercept=0.75), tmp_path / "absent" / "scores.csv"
    path = tmp_path / "new.csv"
    path.write_text("\n".join(",".join(row) for row in (HEADER, *ROWS)) + "\n")
    result = CliRunner().invoke(cli, ["predict", str(model), str(path), "--out", str(out)])
    assert isinstance(result.exception, InvalidInputError)
    assert str(result.exception) == (
        f"The scores cannot be written to '{out}': there is no folder '{out.parent}'. Make it, or choose another name."
    )
