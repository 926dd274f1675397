"""``cofit report``: a page from a file, clear words for what is wrong, and no file overwritten by mistake."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cofit.cli.main import cli
from cofit.errors import InvalidInputError
from cofit.report.cost import Cost, PhaseCost
from cofit.roles.files.studies import load_study
from unit.cli.study_models import model_file, model_of, signed
from unit.report.models import planned, released
from unit.report.test_page import TABLE
from unit.roles.files.test_studies import EXAMPLES, write_study
from unit.study.studies import study_of

FEATURES = [{"name": "age", "type": "number", "lower": 0, "upper": 100}]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.json"
    released(planned(), names=("age", "dose", "c", "d", "e")).save(path)
    return path


def run(*arguments: str | Path) -> str:
    result = CliRunner().invoke(cli, ["report", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_a_plain_model(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "page.html"
    assert run(model, "--out", out) == f"Report: {out}. Open it in a browser, or print it.\n"
    page = out.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "Forecast cost by phase" in page
    assert "made-up 0/1 data" in page
    before = out.read_bytes()
    run(model, "--out", out)
    assert out.read_bytes() == before


def test_a_model_of_another_release_is_reported_with_a_warning(model: Path, tmp_path: Path) -> None:
    document = json.loads(model.read_text())
    document["certificate"] |= {"cofit_version": "9.9", "plan_hash": "00" * 32}
    model.write_text(json.dumps(document))
    command = [sys.executable, "-c", "from cofit.cli.main import main; main()", "report", str(model)]
    done = subprocess.run([*command, "--out", str(tmp_path / "page.html")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("Warning: The certificate was written by cofit 9.9; this is cofit ")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "fit together, but were not derived again</strong>: cofit 9.9 wrote it" in page
    assert "Every number was derived again" not in page
    assert "another release of cofit made its plan" in page


def test_the_page_says_whether_the_parties_have_signed(tmp_path: Path) -> None:
    study = study_of(data__features=FEATURES)
    path = model_file(tmp_path, study, {"age": 2.0})
    run(path, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Nobody has signed it." in page and "Every number was derived again" in page
    path.write_text(signed(model_of(study, {"age": 2.0})).to_json())
    run(path, "--out", tmp_path / "page.html")
    assert "The computing parties have signed it" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_study_with_a_sample_and_experiments(tmp_path: Path) -> None:
    path = model_file(tmp_path, study_of(data__features=FEATURES), {"age": 2.0})
    sample = tmp_path / "sample.csv"
    sample.write_text("age,ill\n" + "\n".join(f"{age},{'yes' if age > 50 else 'no'}" for age in range(100)) + "\n")
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "table1-claims.json").write_text(TABLE.to_json())
    out = tmp_path / "report.html"
    run(path, "--out", out, "--sample", sample, "--experiments", tables)
    page = out.read_text(encoding="utf-8")
    assert "the sample sample.csv, 100 rows" in page
    assert "Accuracy of private training" in page


def test_the_study_names_the_analysts(model: Path, tmp_path: Path) -> None:
    study = write_study(tmp_path, EXAMPLES[0])
    loaded = load_study(study)
    folder = tmp_path / "released"
    folder.mkdir()
    path, out = model_file(folder, loaded, {}), tmp_path / "report.html"
    run(path, "--out", out, "--study", study)
    page = out.read_text(encoding="utf-8")
    assert all(f"<bdi>{analyst.name}</bdi></th><td>analyst" in page for analyst in loaded.analysts)
    with pytest.raises(InvalidInputError, match="a model that has no study"):
        run(model, "--out", out, "--study", study)


def cost_of(path: Path, **changes: str) -> Cost:
    certificate = json.loads(path.read_text())["certificate"]
    facts = {"plan_hash": certificate["plan_hash"], "created": certificate["created"], "scheme": "rep3"} | changes
    return Cost(members=("a", "b"), phases=(PhaseCost("share", 7, 1234, 0.5),), **facts)


def test_the_cost_beside_the_model_is_used(model: Path, tmp_path: Path) -> None:
    (tmp_path / "cost.json").write_text(cost_of(model).to_json())
    run(model, "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Measured cost by phase" in page
    assert "1.23 kB" in page


def test_the_cost_of_another_run_is_not_shown_as_this_ones(model: Path, tmp_path: Path) -> None:
    other = tmp_path / "cost.json"
    other.write_text(cost_of(model, created="1999-01-01").to_json())
    run(model, "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Forecast cost by phase" in page
    assert "that of another run and was not used" in page
    with pytest.raises(InvalidInputError, match="that of another run"):
        run(model, "--cost", other, "--out", tmp_path / "report.html")


def test_a_foreign_file_beside_the_model_is_no_obstacle(model: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "cost.json"
    foreign.write_text('{"euros": 3}')
    run(model, "--out", tmp_path / "report.html")
    assert "cannot be read as the cost of a run" in (tmp_path / "report.html").read_text(encoding="utf-8")
    with pytest.raises(InvalidInputError, match="'kind'"):
        run(model, "--cost", foreign, "--out", tmp_path / "report.html")


def test_only_a_report_is_overwritten(model: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="exists and is no report"):
        run(model, "--out", model)
    assert json.loads(model.read_text())["kind"] == "cofit linear model"
    with pytest.raises(InvalidInputError, match="cannot be written"):
        run(model, "--out", model / "below")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"[1]", "'kind'"),
        (b"{}", "'kind' field"),
        (b'{"kind": "cofit linear model"}', "'version'"),
        (b'{"kind": "cofit study model", "version": 9}', "'version'"),
        (b'{"kind": "cofit linear model", "version": 4, "loss": "logistic"}', "'certificate'"),
    ],
)
def test_what_is_no_model(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "garbage.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=said) as refused:
        run(path, "--out", tmp_path / "report.html")
    assert "garbage.json" in str(refused.value)
    assert not (tmp_path / "report.html").exists()


def test_a_wrong_field_is_named(model: Path, tmp_path: Path) -> None:
    document = json.loads(model.read_text())
    document["certificate"]["mechanism"] = "magic"
    model.write_text(json.dumps(document))
    with pytest.raises(InvalidInputError, match="'mechanism'"):
        run(model, "--out", tmp_path / "report.html")


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [("coef", [1e308] * 5, "'coef'"), ("intercept", 1e308, "'coef'"), ("grid", "2^9999", "'grid'")],
)
def test_numbers_that_no_training_gives(model: Path, tmp_path: Path, field: str, value: object, named: str) -> None:
    document = json.loads(model.read_text())
    (document if field in document else document["certificate"])[field] = value
    model.write_text(json.dumps(document))
    with pytest.raises(InvalidInputError, match=named):
        run(model, "--out", tmp_path / "report.html")


def test_files_that_are_not_there(model: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    out = ("--out", tmp_path / "report.html")
    with pytest.raises(InvalidInputError, match="missing"):
        run(tmp_path / "missing.json", *out)
    with pytest.raises(InvalidInputError, match="cost"):
        run(model, "--cost", tmp_path / "nothing.json", *out)
    with pytest.raises(InvalidInputError, match="folder that exists"):
        run(model, "--experiments", tmp_path / "nothing", *out)
    with pytest.raises(InvalidInputError, match="no tables"):
        run(model, "--experiments", empty, *out)
    with pytest.raises(InvalidInputError, match="npz"):
        run(model, "--sample", tmp_path / "nothing.npz", *out)
    assert not (tmp_path / "report.html").exists()


def test_a_sample_of_other_columns_is_refused(model: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "sample.npz", X=np.zeros((50, 4)), y=np.zeros(50))
    with pytest.raises(InvalidInputError, match="the model's 5 columns"):
        run(model, "--sample", tmp_path / "sample.npz", "--out", tmp_path / "report.html")


def test_help_teaches() -> None:
    text = " ".join(run("--help").split())
    for words in ("cofit report cofit-demo/model.json", "--sample", "costs no privacy", "Exit codes"):
        assert words in text
