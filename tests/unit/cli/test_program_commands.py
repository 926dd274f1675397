"""The commands of a study that runs a program: what they show, what they refuse, and how they end."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cofit.cli import contribute
from cofit.cli.main import cli
from cofit.errors import CofitError, InvalidInputError, VerificationError
from cofit.roles.files.keys import load_key
from cofit.roles.files.ledger import Exposure, Ledger
from cofit.roles.files.signatures import sign
from cofit.roles.files.statements import SignedStatement, Statement, sign_statement
from cofit.roles.files.studies import load_program_study, load_study
from cofit.roles.owner.contribute import LEDGER
from support.program_studies import OPENINGS, SOURCE, TOTAL, write_program_study
from unit.roles.loopback import make_folder

ONE = SOURCE.replace(", to=list(party.parties)[-1:]", "")


def cofit(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(one) for one in arguments])


def refused(*arguments: object) -> str:
    """Run a command that raises an error of ours, and return its text."""
    result = cofit(*arguments)
    assert isinstance(result.exception, CofitError), result.output
    return str(result.exception)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write_program_study(tmp_path)


def test_program_hash_prints_what_the_study_says(study: Path) -> None:
    printed = cofit("program-hash", study.parent / "clinics.py")
    assert printed.output == f'[job.sources]\n"clinics.py" = "{hashlib.sha256(SOURCE.encode()).hexdigest()}"\n'
    assert printed.output in study.read_text()
    (study.parent / "clinics.py").write_text("def ages(party):\n    party._scheme\n")
    assert "line 2: '_scheme' is private" in refused("program-hash", study.parent / "clinics.py")


def test_check_says_first_that_it_is_not_private_and_lists_everything(study: Path) -> None:
    output = " ".join(cofit("check", study).output.split())
    for part in (
        "Not differentially private: the 2 values", "clinics.py", "1 number to all computing parties and the analysts",
        "1 number to party-c alone", "clinic-a: 'age', column age, of shape (3,), at most 120", "brings age",
        "may fetch the results", load_program_study(study).hash,
    ):  # fmt: skip
        assert part in output, part
    found = json.loads(cofit("check", study, "--json").output)
    assert found["privacy"].startswith("Not differentially private") and found["hash"] == load_program_study(study).hash
    assert "--sample and --forecast are for studies that train" in refused("check", study, "--forecast")


def test_an_owner_that_does_not_agree_sends_and_notes_nothing(study: Path) -> None:
    folder = study.parent
    options = ("contribute", study, "--key", folder / "clinic-a.key", "--data", folder / "clinic-a.csv", "--yes")
    shown = cofit(*options)
    assert isinstance(shown.exception, InvalidInputError)
    assert "repeat the command with --accept-not-private. Nothing was noted or sent." in str(shown.exception)
    for part in ("'clinics:ages'", "1 number to party-c alone", "Not differentially private", "without an epsilon"):
        assert part in shown.output, "it is shown before it is refused"
    assert shown.output.startswith("Study '")
    assert shown.output.index("listed below") < shown.output.index("What it opens")
    assert not (folder / "clinic-a.state").exists()
    assert "nothing was charged or sent" in cofit(*options, "--dry-run").output
    assert "are for vertical studies" in refused(*options, "--secret", folder / "clinic-a.key")


def test_an_owner_is_told_before_it_sends_to_parties_that_have_forgotten_an_earlier_run(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would open the values again, with another draw of whatever noise the program has."""
    folder = study.parent
    sent: list[tuple[Any, ...]] = []

    def send(*given: Any) -> str:
        sent.append(given)
        return "an upload"

    incarnations = {"party-a": "a" * 32, "party-b": "b" * 32, "party-c": "c" * 32}
    monkeypatch.setattr(contribute, "ask_parties", lambda *given: dict(incarnations))
    monkeypatch.setattr(contribute, "send", send)
    monkeypatch.setattr(contribute, "statuses", lambda *_, waiting: dict.fromkeys(incarnations, "silent"))
    options = ("contribute", study, "--key", folder / "clinic-a.key", "--data", folder / "clinic-a.csv", "--yes")
    first = cofit(*options, "--accept-not-private")
    assert first.exit_code == 0, first.output
    assert "no memory" not in first.output
    contribution, _, state, dataset, _, parties, _ = sent[0]
    state.mkdir()
    contribution.job.policy.charge(Ledger(state / LEDGER), dataset, contribution.study, parties.values())
    assert "no memory" not in cofit(*options, "--accept-not-private").output
    incarnations["party-b"] = "d" * 32
    told = cofit(*options, "--accept-not-private").output
    assert "have no memory of the earlier run of this study" in told and "lists it once more" in told
    assert told.index("no memory") < told.index("have acknowledged")


def test_the_flag_has_no_place_where_a_model_is_trained(tmp_path: Path) -> None:
    study = make_folder(tmp_path)
    options = ("--key", tmp_path / "owner-a.key", "--data", tmp_path / "owner-a.csv", "--accept-not-private")
    assert "this one is differentially private. Leave it out" in refused("contribute", study, *options)


def test_a_party_with_another_source_does_not_start(study: Path) -> None:
    folder = study.parent
    options = ("party", study, "--key", folder / "party-a.key", "--state", folder / "a.party")
    (folder / "clinics.py").write_text(SOURCE + "\n")
    text = refused(*options)
    assert hashlib.sha256(SOURCE.encode()).hexdigest() in text and "agree on a new study" in text
    assert not (folder / "a.party").exists()
    training = make_folder_beside(folder)
    options = ("party", training, "--key", training.parent / "party-a.key", "--state", folder / "b.party")
    assert "--program is for studies that run a program" in refused(*options, "--program", folder)


def make_folder_beside(folder: Path) -> Path:
    (folder / "training").mkdir()
    return make_folder(folder / "training")


def test_commands_of_models_refuse_a_program_and_the_other_way_round(study: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"runs a program and trains no model.*`cofit result`"):
        load_study(study)
    with pytest.raises(InvalidInputError, match=r"A study of a program has a table \[job\]"):
        load_program_study(make_folder_beside(tmp_path))


def signed_results(study: Path) -> Path:
    """A file of results that all parties have signed."""
    loaded = load_program_study(study)
    statement = Statement(loaded, ((TOTAL,), None), None, "2026-03-01T10:20:30+00:00")
    identities = [load_key(loaded, study.parent / f"{party.name}.key") for party in loaded.parties]
    signatures = {one.name: sign(one, sign_statement(one, statement)) for one in identities}
    path = study.parent / "result.json"
    path.write_text(SignedStatement(statement, signatures).to_json())
    return path


def test_a_file_of_results_is_checked_offline(study: Path) -> None:
    path = signed_results(study)
    printed = cofit("result", study, "--verify", path)
    assert printed.exit_code == 0 and "All 3 parties have signed this." in printed.output
    assert printed.output.startswith("Not differentially private") and "opened to party-c alone" in printed.output
    whole = path.read_text()
    path.write_text(whole.replace(f"{TOTAL}", f"{TOTAL + 1}"))
    result = cofit("result", study, "--verify", path)
    assert isinstance(result.exception, VerificationError) and "'party-a' does not fit" in str(result.exception)
    document = json.loads(whole)
    del document["signatures"]["party-b"]
    path.write_text(json.dumps(document))
    assert "signature of 'party-b' is missing" in refused("result", study, "--verify", path)
    path.write_text("{}")
    assert "no file of results" in refused("result", study, "--verify", path)
    assert "Give --key" in refused("result", study)
    assert "without --key" in refused("result", study, "--verify", path, "--key", study.parent / "analyst.key")


def test_a_signature_of_another_party_does_not_pass(study: Path) -> None:
    path = signed_results(study)
    document = json.loads(path.read_text())
    document["signatures"]["party-b"] = document["signatures"]["party-a"]
    path.write_text(json.dumps(document))
    assert "'party-b' does not fit" in refused("result", study, "--verify", path)


def test_the_budget_lists_what_no_epsilon_covers(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "budget.sqlite")
    assert ledger.exposures() == []
    exposure = Exposure("patients", "ab" * 32, "ages", ("1 number to all: the sum", "2 numbers to b alone: the rest"))
    assert not ledger.noted(exposure)
    assert ledger.expose(exposure, ["x", "y"]) and not ledger.expose(exposure, ["y", "x"])
    assert ledger.noted(exposure) and ledger.noted(exposure, ["x", "y"]) and not ledger.noted(exposure, ["x", "z"])
    assert ledger.expose(exposure, ["x", "z"]), "parties that lost their state may open it again"
    output = cofit("budget", "--state", tmp_path).output
    assert "NOT differentially private" in output and "2 numbers to b alone: the rest" in output
    found = json.loads(cofit("budget", "--state", tmp_path, "--json").output)
    assert [one["name"] for one in found["datasets"][0]["not_private"]] == ["ages", "ages"]
    assert found["datasets"][0]["spent"]["epsilon"] == 0


def test_a_rehearsal_checks_everything_before_anybody_starts(study: Path) -> None:
    folder = study.parent
    data = [part for name in ("clinic-a", "clinic-b") for part in ("--data", f"{name}={folder / name}.csv")]
    options = ("run-program", study, *data, "--keys", folder, "--out", folder / "out")
    assert "--accept-not-private" in refused(*options)
    (folder / "clinic-b.csv").write_text("patient,age\n0,62\n1,455\n")
    assert "beyond the agreed bound 120" in refused(*options, "--accept-not-private")
    (folder / "clinics.py").write_text(ONE)
    assert "not the program that the study agreed on" in refused(*options, "--accept-not-private")
    assert not (folder / "out").exists() and OPENINGS[1]["to"] == ["party-c"]
