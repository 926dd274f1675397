"""Studies whose label is a count: its largest one in the file, in tables, in the plan, the model and the commands."""

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
from cofit.learn.targets import Count
from cofit.roles.jobs.training import Training
from cofit.study.encode import encode_table
from cofit.study.plan import study_plan
from cofit.study.problems import TableError
from unit.cli.study_models import model_file, model_of, signed
from unit.study.studies import LEFT_OUT, study_of

FEATURES = [{"name": "age", "type": "number", "lower": 0, "upper": 100}]
COUNTS: dict[str, Any] = {
    "model": {"kind": "poisson_regression"},
    "data__label": "visits",
    "data__label_values": LEFT_OUT,
    "data__label_range": [0, 40],
    "data__features": FEATURES,
    "privacy": {"epsilon": 1.0, "delta": 1e-6},
}


def count_study(**more: Any) -> Any:
    return study_of(**(COUNTS | more))


def test_the_largest_count_is_a_fact_of_the_plan() -> None:
    study = count_study()
    assert study_plan(study).facts.largest_count == 40
    other = count_study(data__label_range=[0, 41])
    assert study.hash != other.hash and study_plan(study).hash != study_plan(other).hash
    assert study_plan(study_of()).facts.largest_count is None


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"data__label_range": [1, 40]}, "data.label_range"),
        ({"data__label_range": [0, 2.5]}, "data.label_range"),
        ({"data__label_range": [0, 40000]}, "data.label_range"),
        ({"privacy": {"epsilon": 1.0, "delta": 0.0}}, "privacy.delta"),
        ({"model": {"kind": "poisson_regression", "recipe": "paper", "l2": 1.0}}, "model.recipe"),
        ({"model": {"kind": "poisson_regression", "calibrate_intercept": True}}, "model.calibrate_intercept"),
    ],
)
def test_what_is_wrong_is_named_by_its_field(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        count_study(**changes)
    assert told in str(caught.value)


def test_owners_share_integers_and_bring_nothing_else() -> None:
    study = count_study(owners__0__rows=3, data__row_key=LEFT_OUT)
    table = pa.table({"age": [0, 50, 100], "visits": [0, 7, 40]})
    encoded, job = encode_table(study, "owner-a", table), Training(study)
    labels = job.encode("labels", job.inputs["owner-a"]["labels"], encoded)
    assert np.asarray(labels).astype(np.int64).reshape(-1).tolist() == [0, 7, 40]
    for wrong, told in ((2.5, "no whole number"), (41.0, "bounds"), (-1.0, "bounds")):
        with pytest.raises(TableError, match=told):
            encode_table(study, "owner-a", pa.table({"age": [0, 50, 100], "visits": [0.0, 7.0, wrong]}))


def test_its_model_predicts_rates_on_the_command_line(tmp_path: Path) -> None:
    """Of the age 50 the rate in the middle, sqrt(40 / 20), and never one beyond the ends."""
    path = model_file(tmp_path, count_study(data__clip_rows=False), {"age": 2.0})
    rows = tmp_path / "rows.csv"
    rows.write_text("id,age,visits\na,50,2\nb,100,35\nc,0,0\n")
    result = CliRunner().invoke(cli, ["predict", str(path), str(rows)])
    assert result.exit_code == 0, result.output
    lines = result.stdout.split()
    predictions = [float(line.split(",")[1]) for line in lines[1:4]]
    assert lines[0] == "id,prediction" and predictions == pytest.approx([np.sqrt(2), 40, 1 / 20])
    loaded = cofit.load_model(path)
    assert isinstance(loaded, cofit.StudyRegressor) and loaded.predict(str(rows)).tolist() == predictions
    wanted = float(Count(40).explained(np.array([2.0, 35.0, 0.0]), np.array(predictions))[0])
    assert loaded.score(str(rows)) == pytest.approx(wanted)
    found = json.loads(CliRunner().invoke(cli, ["evaluate", str(path), str(rows), "--json"]).output)
    assert found["d_squared"] == pytest.approx(wanted)
    assert found["mean_absolute_error"] == pytest.approx(np.abs(np.array(predictions) - [2, 35, 0]).mean())
    told = " ".join(CliRunner().invoke(cli, ["evaluate", str(path), str(rows)]).output.split())
    assert f"D squared (the part of the Poisson deviance explained) {wanted:.4f}" in told


def test_parties_sign_the_range() -> None:
    model = signed(model_of(count_study(), {"age": 1.0}))
    model.check_signatures()
    assert model.encoding["range"] == [0.0, 40.0]


def test_the_report_speaks_of_a_rate(tmp_path: Path) -> None:
    path = model_file(tmp_path, count_study(), {"age": 0.5})
    result = CliRunner().invoke(cli, ["report", str(path), "--out", str(tmp_path / "report.html")])
    assert result.exit_code == 0, result.output
    page = (tmp_path / "report.html").read_text()
    assert "predicts the rate of a count, from 1/20 to 40" in page
    assert "count up to 40" in page and "D squared" in page and "R squared" not in page
