"""The commands about models that stay shared, and about clients; what needs parties is in the how-to's page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cofit.cli.main import cli
from cofit.errors import InvalidInputError
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from support.studies import Lab

SHARED: dict[str, object] = {"model": "shared"}
EXACT: dict[str, object] = {"model": "shared", "noise": False, "answers": "classes"}


def lab_of(folder: Path, terms: dict[str, object]) -> Lab:
    model = {} if "noise" in terms else {"recipe": "best"}
    return Lab(folder / "lab", None, terms=terms, clients={"clinic": 20}, model=model)


def told(*arguments: object, code: int = 0) -> str:
    """What a command prints, or the text of the error with which ``main`` ends with this code."""
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    if code:
        assert isinstance(result.exception, InvalidInputError), result.output
        return str(result.exception)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_check_says_what_stays_shared_and_what_a_query_costs(tmp_path: Path) -> None:
    study = lab_of(tmp_path, SHARED).root / "public" / "study.toml"
    shown = told("check", study, "--no-forecast")
    assert "never open" in shown and "post-processing: nothing more is charged" in shown
    assert "client 'clinic': may be answered scores or probabilities or classes of at most 20 rows in all" in shown
    assert "The shared model limits what can be learned about any single record, whatever it is asked" in shown
    found = json.loads(CliRunner().invoke(cli, ["check", str(study), "--no-forecast", "--json"]).output)
    assert found["predictions"]["rounds"] > 10 and found["predictions"]["errors"]["scores"] < 1e-3
    assert found["learned"]["clients"] and found["study"]["release"]["model"] == "shared"
    analysts = [one for one in found["participants"] if one["role"] == "analyst"]
    assert analysts and all("there is no model to fetch" in one["part"] for one in analysts)
    assert "nothing of the weights, which stay shared" in found["learned"]["owners"]


def test_without_noise_check_says_so_first(tmp_path: Path) -> None:
    study = lab_of(tmp_path, EXACT).root / "public" / "study.toml"
    shown = told("check", study, "--no-forecast")
    assert shown.lower().startswith("not differentially private")
    assert "epsilon 1" not in shown and "4 exact scores" in shown
    found = json.loads(CliRunner().invoke(cli, ["check", str(study), "--no-forecast", "--json"]).output)
    assert found["privacy"].lower().startswith("not differentially private") and found["plan"]["noise"] is False


def test_owners_agree_to_a_model_without_noise_by_a_flag_of_its_own(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, EXACT)
    home = lab.root / "owner-a"
    given = ("contribute", home / "study.toml", "--key", home / "owner-a.key", "--data", home / "table.npz")
    shown = told(*given, "--dry-run")
    assert shown.lower().startswith("not differentially private") and "without an epsilon" in shown
    assert "repeat the command with --accept-not-private" in told(*given, "--yes", code=2)
    private = lab_of(tmp_path / "other", SHARED).root / "owner-a"
    refused = told(
        *("contribute", private / "study.toml", "--key", private / "owner-a.key", "--data", private / "table.npz"),
        "--accept-not-private",
        code=2,
    )
    assert "differentially private. Leave it out" in refused


@pytest.mark.parametrize("terms", [SHARED, EXACT])
def test_there_is_no_model_to_fetch_or_rehearse(tmp_path: Path, terms: dict[str, object]) -> None:
    home = lab_of(tmp_path, terms).root / "analyst"
    given = ("model", home / "study.toml", "--key", home / "analyst.key", "--out", tmp_path / "model.json")
    assert "cofit predict-private" in told(*given, code=2)


def test_no_file_is_overwritten_that_the_command_did_not_write(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, SHARED)
    home, out = lab.root / "clinic", tmp_path / "table.csv"
    out.write_text("w0,w1,w2\n0,0,0\n")
    given = ("predict-private", home / "study.toml", "--key", home / "clinic.key", "--data", out, "--out", out)
    assert "holds no answers" in told(*given, code=2)
    assert out.read_text().startswith("w0")


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    home = lab_of(tmp_path, SHARED).root / "clinic"
    given = ("predict-private", home / "study.toml", "--key", home / "clinic.key", "--data", tmp_path / "rows.csv")
    assert "there is no folder" in told(*given, "--out", tmp_path / "nowhere" / "answers.csv", code=2)
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("shared", [True, False])
def test_a_plan_says_what_is_opened_with_the_weights_and_what_without(shared: bool) -> None:
    facts = training_facts(2000, 5, feature_bound=1.0, calibrate_intercept=True, shared_model=shared)
    (rows,) = (one.rows for one in plan_training(facts).sections() if one.title.startswith("Noisy releases"))
    notes = [row.note for row in rows]
    assert any("opened though the weights stay shared" in note for note in notes) == shared
    assert any("opened with the weights" in note for note in notes) != shared
    assert any("their sum stays shared with the weights" in note for note in notes) == shared


def test_only_clients_may_ask(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, SHARED)
    home, table = lab.root / "analyst", tmp_path / "table.csv"
    table.write_text("w0,w1,w2\n0,0,0\n")
    given = ("predict-private", home / "study.toml", "--key", home / "analyst.key", "--data", table)
    assert "one of ['clinic']" in told(*given, "--out", tmp_path / "answers.csv", code=2)
