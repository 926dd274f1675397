"""Every command with a key: the key tells the name, and what contradicts it is refused before anything happens."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from cofit.cli.main import cli
from cofit.errors import InvalidInputError
from unit.roles.loopback import make_folder

COMMANDS = {
    "contribute": ("--owner", "--data", "owner-a.csv", "--yes"),
    "dealer": ("--name", "--state", "new"),
    "model": ("--name", "--out", "new"),
    "party": ("--name", "--state", "new"),
    "status": ("--name",),
}
"""The option with the name, and what else a command needs."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study")
    make_folder(path)
    return path


def refused(folder: Path, command: str, key: str, name: str | None, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(folder)
    before = sorted(folder.rglob("*"))
    option, *more = COMMANDS[command]
    named = () if name is None else (option, name)
    result = CliRunner().invoke(cli, [command, "study.toml", "--key", key, *named, *more])
    assert isinstance(result.exception, InvalidInputError), result.output
    assert sorted(folder.rglob("*")) == before
    return str(result.exception)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_that_is_not_the_keys(folder: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told = refused(folder, command, "owner-a.key", "owner-b", monkeypatch)
    assert "the certificate that the study has for 'owner-b': it is that of 'owner-a'" in told


@pytest.mark.parametrize("command", COMMANDS)
def test_a_certificate_in_the_place_of_the_key(folder: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told = refused(folder, command, "owner-a.pem", None, monkeypatch)
    assert "'owner-a.pem' is a certificate" in told
    assert "probably 'owner-a.key'" in told


@pytest.mark.parametrize("command", ["contribute", "dealer", "party"])
def test_the_name_of_the_key_is_of_another_role(folder: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "analyst" in refused(folder, command, "analyst.key", None, monkeypatch)
