"""``cofit reference``, and a study that names its map: one hash for all, rows mapped by owners, a model that maps."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from pyarrow import csv, parquet

from cofit.cli.main import cli
from cofit.cli.model import write_model
from cofit.errors import InvalidInputError
from cofit.learn.recipes.descent.reference import ReferenceMap
from cofit.models.study_model import StudyModel
from cofit.report.significance import published_weights
from cofit.roles.files.plain_arrays import plain_arrays
from cofit.roles.files.studies import load_study
from cofit.roles.files.tables import read_table
from cofit.study.encode import encode_table
from cofit.study.expected import expected_contributions
from cofit.study.plan import study_plan
from cofit.study.statement import expected_certificate
from unit.roles.loopback import make_folder


def folder_of_best(folder: Path) -> Path:
    """A study of recipe 'best' that names a reference which is not there yet."""
    path = make_folder(folder)
    text = re.sub(r"\[model\].*?(?=\n\[)", '[model]\nkind = "logistic_regression"\n', path.read_text(), flags=re.DOTALL)
    text = re.sub(r"\[privacy\].*?(?=\n\[)", "[privacy]\nepsilon = 20.0\n", text, flags=re.DOTALL)
    path.write_text(text.replace("[data]\n", '[data]\nreference = "reference.npz"\n'))
    return path


def make_reference(folder: Path, *more: str) -> str:
    command = [
        "reference",
        str(folder / "study.toml"),
        str(folder / "test.csv"),
        "--out",
        str(folder / "reference.npz"),
    ]
    result = CliRunner().invoke(cli, [*command, *more])
    assert result.exit_code == 0, result.exception
    return result.output


def test_a_study_knows_its_reference(tmp_path: Path) -> None:
    path = folder_of_best(tmp_path)
    with pytest.raises(InvalidInputError, match="must exist beside the study"):
        load_study(path)
    told = make_reference(tmp_path)
    study = load_study(path)
    reference = study.data.reference
    assert reference is not None and reference.hash in told
    assert json.loads(study.canonical())["data"]["reference"] == reference.hash
    plan = study_plan(study)
    assert plan.facts.reference == reference.hash
    encoded = encode_table(study, "owner-a", read_table(tmp_path / "owner-a.csv"))
    assert encoded.features is not None
    expected = expected_contributions(study, plan)["owner-a"]["features"].shape
    assert encoded.features.shape == expected
    certificate = expected_certificate(study, plan)
    model = StudyModel.from_release(study, plan.opened.blank(), certificate)
    assert model.model.reference == reference
    assert model.encoding["reference"] == reference.hash
    assert StudyModel.from_json(model.to_json()).model.reference == reference
    with pytest.raises(InvalidInputError, match="never overwritten"):
        CliRunner().invoke(
            cli,
            ["reference", str(path), str(tmp_path / "test.csv"), "--out", str(tmp_path / "reference.npz")],
            catch_exceptions=False,
            standalone_mode=False,
        )


def test_owners_map_their_own_rows(tmp_path: Path) -> None:
    path = folder_of_best(tmp_path)
    make_reference(tmp_path, "--directions")
    study = load_study(path)
    reference = study.data.reference
    assert reference is not None and reference.only
    mapped = encode_table(study, "owner-a", read_table(tmp_path / "owner-a.csv")).features
    path.write_text(path.read_text().replace('reference = "reference.npz"\n', ""))
    plain = load_study(path)
    raw = encode_table(plain, "owner-a", read_table(tmp_path / "owner-a.csv")).features
    assert raw is not None and mapped is not None
    np.testing.assert_array_equal(mapped, reference(raw))
    assert plain.hash != study.hash


def test_a_map_of_another_study_is_refused(tmp_path: Path) -> None:
    path = folder_of_best(tmp_path)
    make_reference(tmp_path)
    arrays = plain_arrays(tmp_path / "reference.npz")
    other: dict[str, Any] = {**arrays, "records": np.asarray(99)}
    np.savez(tmp_path / "reference.npz", **other)
    with pytest.raises(InvalidInputError, match=r"data.reference.*70 records"):
        load_study(path)
    other = {**arrays, "mean": arrays["mean"][:2], "directions": arrays["directions"][:, :2]}
    np.savez(tmp_path / "reference.npz", **other)
    with pytest.raises(InvalidInputError, match=r"data.reference.*3 encoded columns"):
        load_study(path)
    np.savez(tmp_path / "reference.npz", mean=np.zeros(3))
    with pytest.raises(InvalidInputError, match="holds the arrays"):
        load_study(path)
    np.savez(tmp_path / "reference.npz", rows=np.zeros((3, 3)))
    with pytest.raises(InvalidInputError, match=r"reference\.npz"):
        load_study(path)


def named_table(folder: Path, name: str = "public.csv", more: str = "") -> Path:
    """The study, with the table of rows in the place of a map."""
    path = folder_of_best(folder)
    path.write_text(path.read_text().replace('reference = "reference.npz"\n', f'reference = "{name}"\n{more}'))
    return path


@pytest.mark.parametrize("name", ["public.csv", "public.parquet"])
def test_a_study_may_name_the_table_of_rows(tmp_path: Path, name: str) -> None:
    path = named_table(tmp_path, name)
    table = read_table(tmp_path / "test.csv", numbers={"age"}).drop_columns(["ill"])
    (csv.write_csv if name.endswith("csv") else parquet.write_table)(table, tmp_path / name)
    study = load_study(path)
    reference = study.data.reference
    assert reference is not None and reference.columns == 3
    stated = json.loads(study.canonical())["data"]
    assert stated["reference"] == reference.hash
    assert stated["reference_table"] == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    path.write_text(path.read_text().replace("epsilon = 20.0", "epsilon = 2.0"))
    other = load_study(path).data.reference
    assert other is not None and other.made_for(2.0, 1e-6) and not reference.made_for(2.0, 1e-6)
    path.write_text(path.read_text().replace("[data]\n", "[data]\nreference_directions = true\n"))
    only = load_study(path).data.reference
    assert only is not None and only.only


def test_directions_are_asked_for_with_a_table_alone(tmp_path: Path) -> None:
    path = named_table(tmp_path, "reference.npz", "reference_directions = true\n")
    make_reference(tmp_path)
    with pytest.raises(InvalidInputError, match=r"data.reference_directions.*left out unless"):
        load_study(path)
    path.write_text(path.read_text().replace('reference = "reference.npz"\n', ""))
    with pytest.raises(InvalidInputError, match=r"data.reference_directions.*left out unless"):
        load_study(path)


def test_a_table_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = named_table(tmp_path)
    (tmp_path / "public.csv").write_text("age\n" + "40\n" * 30)
    with pytest.raises(InvalidInputError, match="column 'group' is missing"):
        load_study(path)
    (tmp_path / "public.csv").write_text("age,group\n" + "40,x\n" * 30)
    with pytest.raises(InvalidInputError, match="differ from each other"):
        load_study(path)


def test_check_warns_of_a_map_for_another_budget(tmp_path: Path) -> None:
    path = folder_of_best(tmp_path)
    make_reference(tmp_path)
    right = CliRunner().invoke(cli, ["check", str(path), "--no-forecast"])
    assert right.exit_code == 0 and "was not made for" not in right.stderr
    path.write_text(path.read_text().replace("epsilon = 20.0", "epsilon = 2.0"))
    wrong = CliRunner().invoke(cli, ["check", str(path), "--no-forecast"])
    assert wrong.exit_code == 0 and "was not made for epsilon = 2" in wrong.stderr


def test_check_compares_with_and_without(tmp_path: Path) -> None:
    path = folder_of_best(tmp_path)
    make_reference(tmp_path)
    result = CliRunner().invoke(cli, ["check", str(path), "--forecast"], env={"COLUMNS": "4000"})
    assert result.exit_code == 0, result.exception
    text = " ".join(result.output.split())
    assert "made-up labels, which flatters it" in text
    assert re.search(r"The reference: [0-9.]+% with it, [0-9.]+% without", text)


@pytest.mark.parametrize(
    "directions", [pytest.param(False, marks=pytest.mark.slow), True], ids=["columns", "directions"]
)
def test_a_report_knows_it(tmp_path: Path, directions: bool) -> None:
    path = folder_of_best(tmp_path)
    make_reference(tmp_path, *(["--directions"] if directions else []))
    study = load_study(path)
    plan = study_plan(study)
    model = StudyModel.from_release(study, plan.opened.blank(), expected_certificate(study, plan))
    write_model(model, tmp_path / "model.json")
    command = ["report", str(tmp_path / "model.json"), "--out", str(tmp_path / "report.html")]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.exception
    page = (tmp_path / "report.html").read_text()
    assert study.data.reference is not None and study.data.reference.hash in page
    assert "vary as the reference says" in page
    weights, names = published_weights(model.model)
    assert len(weights) == len(names) == plan.cols
    assert ("direction 1 of the reference" in names) == directions


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_whole_story_with_processes(tmp_path: Path) -> None:
    folder_of_best(tmp_path)
    make_reference(tmp_path)
    data = [part for name in ("owner-a", "owner-b") for part in ("--data", f"{name}={tmp_path / name}.csv")]
    command = [sys.executable, "-m", "cofit.cli.main", "run", str(tmp_path / "study.toml"), *data]
    command += ["--keys", str(tmp_path), "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    model = StudyModel.load(tmp_path / "out" / "model.json")
    model.check_signatures()
    assert model.model.reference == ReferenceMap.from_arrays(plain_arrays(tmp_path / "reference.npz"))
    test = CliRunner().invoke(
        cli, ["evaluate", str(tmp_path / "out" / "model.json"), str(tmp_path / "test.csv"), "--json"]
    )
    assert json.loads(test.output)["accuracy"] > 0.7
    verified = CliRunner().invoke(
        cli, ["verify", str(tmp_path / "out" / "model.json"), "--study", str(tmp_path / "study.toml")]
    )
    assert verified.exit_code == 0, verified.output
