"""Every command that reads a table takes it with semicolons, decimal commas and in another encoding."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cofit.cli.main import cli
from cofit.errors import InvalidInputError
from cofit.roles.files.studies import load_study
from cofit.roles.files.text_tables import TextLayout
from cofit.roles.local.rehearsal import Rehearsal
from unit.cli.study_models import model_file
from unit.roles.loopback import make_folder

FOUND = "was read with ';' between columns and ',' as decimal mark; say --separator and --decimal to choose."
SAID = ("--separator", "semicolon", "--decimal", "comma")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study, a model of it, and every table also as European spreadsheets write it: NAME-eu.csv."""
    path = tmp_path_factory.mktemp("study")
    study = load_study(make_folder(path))
    model_file(path, study, {"age": 2.0, "group=y": 0.5})
    for name in ("owner-a", "owner-b", "test"):
        text = (path / f"{name}.csv").read_text()
        (path / f"{name}-eu.csv").write_bytes(text.replace(",", ";").replace(".", ",").replace("\n", "\r\n").encode())
    return path


def run(caplog: pytest.LogCaptureFixture, *arguments: str | Path) -> tuple[str, str]:
    """What a command prints, and what it logs, which a process writes to its standard error."""
    caplog.clear()
    done = CliRunner().invoke(cli, list(map(str, arguments)))
    assert done.exit_code == 0, done.stderr
    return done.stdout, "".join(caplog.messages)


def test_predict(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    plain, told = run(caplog, "predict", folder / "model.json", folder / "test.csv")
    assert not told
    assert len(plain.splitlines()) == 51
    found, told = run(caplog, "predict", folder / "model.json", folder / "test-eu.csv")
    assert found == plain
    assert FOUND in told
    found, told = run(caplog, "predict", folder / "model.json", folder / "test-eu.csv", *SAID)
    assert found == plain
    assert not told


def contributed(folder: Path, table: str) -> list[str | Path]:
    who = ("--owner", "owner-a", "--key", folder / "owner-a.key", "--data", folder / table)
    return ["contribute", folder / "study.toml", *who, "--dry-run"]


def test_contribute(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    plain, told = run(caplog, *contributed(folder, "owner-a.csv"))
    assert not told
    command = [sys.executable, "-m", "cofit.cli.main", *map(str, contributed(folder, "owner-a-eu.csv"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, plain)
    assert FOUND in done.stderr


def commands(folder: Path, table: Path) -> dict[str, list[str | Path]]:
    owner: list[str | Path] = ["--owner", "owner-a", "--key", folder / "owner-a.key", "--data", table]
    return {
        "predict": ["predict", folder / "model.json", table],
        "evaluate": ["evaluate", folder / "model.json", table],
        "contribute": ["contribute", folder / "study.toml", *owner, "--dry-run"],
        "check": ["check", folder / "study.toml", "--sample", table],
        "report": ["report", folder / "model.json", "--sample", table, "--out", table.parent / "report.html"],
    }


@pytest.mark.parametrize("name", ["predict", "evaluate", "contribute", "check", "report"])
def test_what_is_said_reaches_the_reader_in_every_command(folder: Path, tmp_path: Path, name: str) -> None:
    table = tmp_path / "t.csv"
    table.write_text("id;group;age;ill\nä;x;1,5;no\n")
    arguments = [str(part) for part in commands(folder, table)[name]]
    for option, message in (("--encoding=ascii", "encoding 'ascii': byte 18, in line 2"), ("--decimal=x", "'decimal'")):
        result = CliRunner().invoke(cli, [*arguments, option])
        assert isinstance(result.exception, InvalidInputError)
        assert message in str(result.exception)


def test_evaluate(folder: Path) -> None:
    plain, eu = (
        CliRunner().invoke(cli, ["evaluate", str(folder / "model.json"), str(folder / name), "--json"])
        for name in ("test.csv", "test-eu.csv")
    )
    assert plain.exit_code == eu.exit_code == 0
    assert plain.stdout == eu.stdout


def test_a_rehearsal_hands_them_to_all_owners(folder: Path) -> None:
    layout = TextLayout.named("tab", ",", "latin-1")
    tables = {name: folder / f"{name}.csv" for name in ("owner-a", "owner-b")}
    rehearsal = Rehearsal.of(folder / "study.toml", folder, tables, folder / "out", folder / "secret", layout)
    options = ["--separator", "tab", "--decimal", "comma", "--encoding", "latin-1"]
    for command in (rehearsal.owner_command("owner-a"), rehearsal.rows_command("owner-b")):
        start = command.index("--separator")
        assert command[start : start + 6] == options
