"""``cofit verify``: exit codes, and what it prints first."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cofit.cli.main import cli, main
from cofit.errors import ProtocolError, TransportError, VerificationError
from cofit.models.study_model import StudyModel
from cofit.roles.party.state import PartyState
from unit.cli.test_model import fetch
from unit.report.models import descended
from unit.roles.loopback import Loopback, loopback, until


def verify(*arguments: object) -> Any:
    return CliRunner().invoke(cli, ["verify", *map(str, arguments)])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Loopback:
    """A study that has released, with the model that an analyst fetched."""
    with loopback(tmp_path_factory.mktemp("study")) as one:
        one.start()
        one.contribute()
        until(one.released)
        result = fetch(one.folder)
        assert result.exit_code == 0, result.exception
        assert "hold this model and have signed it" in result.output
        return one


def test_a_model_of_a_study(site: Loopback, tmp_path: Path) -> None:
    model = site.folder / "out" / "model.json"
    whole = verify(model, "--study", site.folder / "study.toml")
    assert (whole.exit_code, whole.output.splitlines()[0]) == (0, "Everything holds:")
    assert StudyModel.load(model).model.certificate.headline in whole.output
    alone = verify(model)
    assert alone.exit_code == 3
    assert alone.output.startswith("NOBODY VOUCHES FOR THE KEYS: ")
    document = json.loads(model.read_text())
    document["released"][0] += 2.0**-40
    changed = tmp_path / "model.json"
    changed.write_text(json.dumps(document))
    assert isinstance(verify(changed).exception, VerificationError)


def test_exit_codes(
    site: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def code(*arguments: object) -> int:
        monkeypatch.setattr("sys.argv", ["cofit", "verify", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        return int(left.value.code or 0)

    model = site.folder / "out" / "model.json"
    assert code(model, "--study", site.folder / "study.toml") == 0
    assert code(model) == 3
    changed = tmp_path / "model.json"
    changed.write_text(model.read_text().replace('"ill"', '"well"'))
    capsys.readouterr()
    assert code(changed) == 1
    assert "The signature of 'party-a' does not fit" in capsys.readouterr().err
    assert code(tmp_path / "absent.json") == 2
    assert code(site.folder / "study.toml") == 2
    assert code(model, "--study", tmp_path / "absent.toml") == 2


def test_a_model_of_the_demo_or_of_an_estimator(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    descended(epsilon=1.0).save(path)
    result = verify(path)
    assert result.exit_code == 3
    assert result.output.startswith("NOBODY VOUCHES FOR THIS MODEL: ")


def test_a_study_that_is_not_the_models(site: Loopback, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    shutil.copytree(site.folder, folder, ignore=shutil.ignore_patterns("*.state", "out"))
    text = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(text.replace("epsilon = 100.0", "epsilon = 1.0"))
    result = verify(site.folder / "out" / "model.json", "--study", folder / "study.toml")
    assert "The model is of another study" in str(result.exception)


# --- what an analyst does not take from a party ----------------------------------------------------------


def signature_at(site: Loopback, name: str) -> Path:
    return site.state(name) / "signature.json"


def test_a_party_whose_signature_is_missing_or_wrong_is_named(tmp_path: Path) -> None:
    with loopback(tmp_path) as site:
        site.start()
        site.contribute()
        until(site.released)
        good = {name: signature_at(site, name).read_bytes() for name in ("party-b", "party-c")}
        signature_at(site, "party-c").write_bytes(good["party-b"])
        error = fetch(tmp_path).exception
        assert isinstance(error, VerificationError)
        assert "The signature of 'party-c' does not fit" in str(error)
        signature_at(site, "party-c").write_bytes(good["party-c"])
        site.stop("party-b")
        signature_at(site, "party-b").unlink()
        state = PartyState(site.state("party-b"), site.study.hash, "party-b")
        signed = state.fact("signed")
        state.record(signed="0" * 64)  # it has signed another release, so that it signs no second one
        state.close()
        site.start("party-b")
        until(lambda: "answers" not in str(fetch(tmp_path).exception))
        error = fetch(tmp_path).exception
        assert isinstance(error, TransportError)
        assert error.peer == "party-b"
        assert "has not signed the release yet" in str(error)
        site.stop("party-b")
        state = PartyState(site.state("party-b"), site.study.hash, "party-b")
        state.record(signed=signed or "")
        state.close()
        site.start("party-b")
        until(signature_at(site, "party-b").exists)
        until(lambda: fetch(tmp_path).exit_code == 0)
        verified = verify(tmp_path / "out" / "model.json", "--study", tmp_path / "study.toml")
        assert verified.exit_code == 0, verified.exception


def test_parties_that_agree_on_another_certificate_than_the_studys(tmp_path: Path) -> None:
    """All of them tell the same, and it fits together: but it is not what the study gives."""
    with loopback(tmp_path) as site:
        site.start()
        site.contribute()
        until(site.released)
        for name in ("party-a", "party-b", "party-c"):
            path = site.state(name) / "published.json"
            document = json.loads(path.read_text())
            owners = document["certificate"]["owners"]
            first, second = (owners[owner] for owner in ("owner-a", "owner-b"))
            owners["owner-a"], owners["owner-b"] = second, first
            path.write_text(json.dumps(document))
        error = fetch(tmp_path).exception
        assert isinstance(error, ProtocolError)
        assert "is not what the study gives. The 'owners.owner-a" in str(error)
        assert not (tmp_path / "out" / "model.json").exists()


def test_help_says_what_no_signature_can_show() -> None:
    text = " ".join(verify("--help").output.split())
    assert "nobody vouches for them" in text
    assert "What no signature can show" in text
