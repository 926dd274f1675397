"""Studies whose label is a number: its range in the file, in tables, in the model, and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import cofit
from cofit.cli.main import cli
from cofit.errors import InvalidInputError
from cofit.roles.jobs.training import Training
from cofit.study.encode import encode_table
from cofit.study.plan import study_plan
from cofit.study.problems import TableError
from unit.cli.study_models import model_file, model_of, signed
from unit.study.studies import LEFT_OUT, study_of

FEATURES = [{"name": "age", "type": "number", "lower": 0, "upper": 100}]
REAL: dict[str, Any] = {
    "model": {"kind": "linear_regression"},
    "data__label": "pressure",
    "data__label_values": LEFT_OUT,
    "data__label_range": [80, 200],
    "data__features": FEATURES,
}


def real_study(**more: Any) -> Any:
    return study_of(**(REAL | more))


def test_the_range_is_part_of_the_study_and_of_its_hash() -> None:
    study = real_study()
    assert (study.data.label_values, study.data.label_range) == ((), (80.0, 200.0))
    assert study.data.norm_floor == 1.0
    assert study.hash != real_study(data__label_range=[80, 201]).hash
    assert "label_range" not in study_of().canonical()


def test_weights_are_part_of_the_hash_and_of_the_plan() -> None:
    """Whoever has another bound, column or weight of a class has another study; and none of them where it has none."""
    weighed = {"model": {"kind": "logistic_regression"}, "data__weight": "times", "data__weight_bound": 4.0}
    of_classes = {"model": {"kind": "logistic_regression", "class_weights": [1, 3]}}
    changes: list[dict[str, Any]] = [
        {"model": {"kind": "logistic_regression"}},
        weighed,
        {**weighed, "data__weight_bound": 4.5},
        {**weighed, "data__weight": "other"},
        of_classes,
        {"model": {"kind": "logistic_regression", "class_weights": [3, 1]}},
    ]
    studies = [study_of(**one) for one in changes]
    assert len({study.hash for study in studies}) == len(studies)
    plans = [study_plan(study) for study in studies]
    assert len({plan.hash for plan in plans}) == len(plans) - 1, "the name of the column is nothing to the plan"
    assert "weight" not in studies[0].canonical()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"data__label_range": "80 to 200"}, "data.label_range"),
        ({"data__label_range": [200, 80]}, "data.label_range"),
        ({"data__label_range": [80]}, "data.label_range"),
        ({"data__label_range": ["a", "b"]}, "data.label_range"),
        ({"data__label_values": ["no", "yes"]}, "data.label_values"),
        ({"model": {"kind": "linear_regression", "class_weights": [1, 2]}}, "model.class_weights"),
        ({"data__weight": "n"}, "data.weight_bound"),
        ({"data__weight_bound": 2.0}, "data.weight"),
        ({"data__weight": "age", "data__weight_bound": 2.0}, "data.weight"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_path(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInputError, match=f"'{told}'"):
        real_study(**changes)
    if "label_range" in told:
        with pytest.raises(InvalidInputError, match=r"data\.label_range"):
            study_of(data__label_range=[0, 1])


def test_labels_are_scaled_from_their_range_and_weights_from_theirs() -> None:
    study = real_study(data__weight="times", data__weight_bound=4.0, owners__0__rows=3, data__row_key=LEFT_OUT)
    table = pa.table({"age": [0, 50, 100], "pressure": [80.0, 140.0, 200.0], "times": [0.0, 1.0, 4.0]})
    encoded = encode_table(study, "owner-a", table)
    assert encoded.labels is not None
    assert encoded.labels.tolist() == [-1, 0, 1]
    job = Training(study)
    shared = {name: job.encode(name, facts, encoded) for name, facts in job.inputs["owner-a"].items()}
    assert np.asarray(shared["weights"]).reshape(-1).tolist() == [0, 64, 256]
    assert np.asarray(shared["labels"]).astype(np.int64).reshape(-1).tolist() == [-4096, 0, 4096]
    for name, wrong in (("pressure", 201.0), ("times", 4.5), ("times", -1.0)):
        lying = table.set_column(table.column_names.index(name), name, [[80.0, 1.0, wrong][-3:]])
        with pytest.raises(TableError, match=name):
            encode_table(study, "owner-a", lying)


def test_its_model_predicts_in_the_units_of_the_label(tmp_path: Path) -> None:
    """Of the age 50 the middle of the range, and never anything beyond it."""
    path = model_file(tmp_path, real_study(data__clip_rows=False), {"age": 2.0})
    (tmp_path / "rows.csv").write_text("id,age,pressure\na,50,140\nb,100,200\nc,0,90\n")
    result = CliRunner().invoke(cli, ["predict", str(path), str(tmp_path / "rows.csv")])
    assert result.exit_code == 0, result.output
    lines = result.stdout.split()
    assert lines[0] == "id,prediction"
    predictions = [float(line.split(",")[1]) for line in lines[1:4]]
    assert predictions[0] == pytest.approx(140.0)
    assert predictions[1:] == [200.0, 80.0]
    loaded = cofit.load_model(path)
    assert isinstance(loaded, cofit.StudyRegressor)
    assert loaded.predict(str(tmp_path / "rows.csv")).tolist() == predictions
    wanted = 1 - 100 / np.square(np.array([140, 200, 90]) - 430 / 3).sum()
    assert loaded.score(str(tmp_path / "rows.csv")) == pytest.approx(wanted)
    found = json.loads(CliRunner().invoke(cli, ["evaluate", str(path), str(tmp_path / "rows.csv"), "--json"]).output)
    assert (found["rows"], found["mean_absolute_error"]) == (3, pytest.approx(10 / 3))
    assert found["r_squared"] == pytest.approx(wanted)
    told = CliRunner().invoke(cli, ["evaluate", str(path), str(tmp_path / "rows.csv")])
    assert "R squared" in told.output
    assert "outside the guarantee" in " ".join(told.output.split())
    refused = CliRunner().invoke(cli, ["predict", str(path), str(tmp_path / "rows.csv"), "--threshold", "0.5"])
    assert isinstance(refused.exception, InvalidInputError)


def test_parties_sign_the_range() -> None:
    model = signed(model_of(real_study(), {"age": 1.0}))
    model.check_signatures()
    assert model.encoding["range"] == [80.0, 200.0]
    assert "range" not in model_of(study_of(), {}).encoding


def test_check_and_report_speak_of_a_number(tmp_path: Path) -> None:
    path = model_file(tmp_path, real_study(), {"age": 0.5})
    result = CliRunner().invoke(cli, ["report", str(path), "--out", str(tmp_path / "report.html")])
    assert result.exit_code == 0, result.output
    page = (tmp_path / "report.html").read_text()
    assert "predicts a number from 80 to 200" in page
    assert "R squared" in page
