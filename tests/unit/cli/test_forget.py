"""``cofit forget``: shares are deleted, after asking, and not before the release unless forced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from cofit.cli.main import cli
from cofit.errors import InvalidInputError, StateError
from cofit.roles.files.audit import read_audit
from cofit.roles.files.studies import load_study
from cofit.roles.party.state import PartyState
from support.studies import Lab
from unit.roles.loopback import make_folder


def forget(folder: Path, *more: str, name: str = "party-a", answer: str = "") -> Any:
    arguments = ["forget", str(folder / "study.toml"), "--name", name, "--state", str(folder / "state"), *more]
    return CliRunner().invoke(cli, arguments, input=answer)


def prepared(folder: Path, phase: str) -> Path:
    study = load_study(make_folder(folder))
    state = PartyState(folder / "state", study.hash, "party-a")
    state.begin_upload("owner-a", "u1", {"common": {}, "files": {}})
    (state.directory / "release").write_bytes(b"record")
    state.advance(phase)
    state.close()
    return folder / "state"


def test_after_the_release_and_a_yes(tmp_path: Path) -> None:
    state = prepared(tmp_path, "released")
    for answer in ("n\n", "\n", ""):  # nothing is deleted by the return key alone, or where nobody can answer
        declined = forget(tmp_path, answer=answer)
        assert declined.exit_code == 1
        assert f"Delete all shares of study 'trial' in {state}? [y/N]" in declined.output
        assert (state / "release").exists()
        assert not (state / "audit.jsonl").exists()
    done = forget(tmp_path, answer="y\n")
    assert done.exit_code == 0
    assert f"The shares of study 'trial' in {state} are deleted. The model, the ledger and the log stay." in done.output
    assert not (state / "release").exists()
    assert not (state / "uploads").exists()
    events = [record["event"] for record in read_audit(state / "audit.jsonl")]
    assert events == ["forgetting shares", "shares forgotten"]
    assert json.dumps(read_audit(state / "audit.jsonl")).count("released") == 1


def test_a_model_that_stays_shared_goes_with_the_shares(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "lab", None, terms={"model": "shared"}, clients={"clinic": 20}, model={"recipe": "best"})
    file = lab.root / "public" / "study.toml"
    state = PartyState(tmp_path / "state", load_study(file).hash, "party-a")
    state.advance("released")
    state.close()
    done = CliRunner().invoke(cli, ["forget", str(file), "--state", str(tmp_path / "state"), "--yes"])
    assert done.exit_code == 0, done.output
    assert "With them the model is gone, and no client is answered any more." in done.output
    assert "The model, the ledger" not in done.output


def test_the_state_tells_whose_it_is(tmp_path: Path) -> None:
    state = prepared(tmp_path, "released")
    arguments = ["forget", str(tmp_path / "study.toml"), "--state", str(state), "--yes"]
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    assert not (state / "release").exists()
    other = CliRunner().invoke(cli, [*arguments, "--name", "party-b"])
    assert "belongs to party party-a, not to party-b" in str(other.exception)
    (state / "state.sqlite").write_bytes(b"no database, but as long as one might be" * 9)
    damaged = CliRunner().invoke(cli, arguments)
    assert isinstance(damaged.exception, StateError)
    assert "does not say whose it is" in str(damaged.exception)


def test_before_the_release_only_by_force(tmp_path: Path) -> None:
    state = prepared(tmp_path, "stored")
    refused = forget(tmp_path, "--yes")
    assert isinstance(refused.exception, StateError)
    assert "--force" in str(refused.exception)
    assert (state / "release").exists()
    assert forget(tmp_path, "--yes", "--force").exit_code == 0
    assert not (state / "release").exists()


def test_a_study_that_failed_has_nothing_to_wait_for(tmp_path: Path) -> None:
    state = prepared(tmp_path, "failed")
    assert forget(tmp_path, "--yes").exit_code == 0
    assert not (state / "release").exists()


def test_while_the_party_runs(tmp_path: Path) -> None:
    prepared(tmp_path, "released")
    running = PartyState(tmp_path / "state", load_study(tmp_path / "study.toml").hash, "party-a")
    assert "Another process" in str(forget(tmp_path, "--yes").exception)
    running.close()


def test_what_is_no_party_or_no_state(tmp_path: Path) -> None:
    make_folder(tmp_path)
    (tmp_path / "state").mkdir()
    assert isinstance(forget(tmp_path, "--yes").exception, InvalidInputError)
    assert isinstance(forget(tmp_path, "--yes", name="owner-a").exception, InvalidInputError)
    assert list((tmp_path / "state").iterdir()) == []


def test_who_computes_nothing_has_no_shares(tmp_path: Path) -> None:
    state = prepared(tmp_path, "released")
    for name in ("owner-a", "nobody"):
        refused = forget(tmp_path, "--yes", name=name)
        assert isinstance(refused.exception, InvalidInputError)
        assert f"'{name}' is no computing party of study 'trial'" in str(refused.exception)
    assert (state / "release").exists()
