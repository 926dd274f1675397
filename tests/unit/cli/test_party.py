"""``cofit party``: a process that answers, stops at a signal, and says what is wrong with its start."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from cofit.cli.main import cli, main
from cofit.errors import InvalidInputError
from cofit.roles.files.studies import load_study
from cofit.roles.party.state import PartyState
from cofit.transport import Reception
from unit.roles.loopback import loopback, make_folder, until


def command(folder: Path, *more: str, name: str = "party-a", key: str = "") -> list[str]:
    files = ("--name", name, "--key", str(folder / (key or f"{name}.key")), "--state", str(folder / "state"))
    return ["party", str(folder / "study.toml"), *files, *more]


def exit_of(*arguments: str) -> int:
    with pytest.raises(SystemExit) as info, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["cofit", *arguments])
        main()
    assert isinstance(info.value.code, int)
    return info.value.code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_logs_in_lines_and_stops_at_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    make_folder(tmp_path)
    log = tmp_path / "log"
    with log.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-m", "cofit.cli.main", *command(tmp_path)], stderr=file)
    try:
        until(lambda: "answers at 127.0.0.1:" in log.read_text() or process.poll() is not None)
        os.kill(process.pid, number)
        assert process.wait(30) == 0
    finally:
        process.kill()
    lines = log.read_text().splitlines()
    assert all(re.match(r"2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ party-a [A-Z]+ .", line) for line in lines)
    assert "stopped (collecting)" in lines[-1]


def test_a_port_that_is_taken_is_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_folder(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert exit_of(*command(tmp_path, "--listen", f"127.0.0.1:{port}")) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith(f"cofit: 'party-a' cannot listen at 127.0.0.1:{port}")


def test_a_peer_in_which_a_check_failed_is_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with loopback(tmp_path) as site:
        state = PartyState(site.state("party-b"), site.study.hash, "party-b")
        state.advance("failed")
        state.close()
        site.start("party-b")
        assert exit_of(*command(tmp_path, "--until-released")) == 1
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("cofit: 'party-b' says that a check failed there") for line in lines)


def test_a_reception_that_dies_is_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise MemoryError

    make_folder(tmp_path)
    monkeypatch.setattr(Reception, "_wait", broken)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    assert exit_of(*command(tmp_path)) == 1
    assert "cofit: The reception of 'party-a' has stopped" in capsys.readouterr().err


def test_a_state_directory_in_use_is_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = load_study(make_folder(tmp_path))
    state = PartyState(tmp_path / "state", study.hash, "party-a")
    assert exit_of(*command(tmp_path)) == 1
    assert "Another process" in capsys.readouterr().err
    state.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"more": ("--listen", "7100")}, "HOST:PORT"),
        ({"more": ("--listen", "localhost:70000")}, "HOST:PORT"),
        ({"name": "owner-a"}, "no computing party"),
        ({"name": "nobody"}, "takes no part"),
        ({"key": "party-b.key"}, "does not belong to the certificate"),
        ({"key": "party-a.pem"}, "is a certificate"),
        ({"key": "none.key"}, "must be a file that exists"),
        ({"more": ("--workers", "2")}, "must be left out: the study has no compute.shards"),
    ],
)
def test_wrong_input_is_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: dict[str, str], message: str
) -> None:
    make_folder(tmp_path)
    more = arguments.pop("more", ())
    assert exit_of(*command(tmp_path, *more, **arguments)) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("option", [("--cluster", "tls://scheduler:8786"), ("--workers", "2")])
def test_where_shards_are_is_refused_in_a_study_without_any(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: tuple[str, str]
) -> None:
    make_folder(tmp_path)
    assert exit_of(*command(tmp_path, *option)) == 2
    error = capsys.readouterr().err
    assert option[0] in error and "compute.shards" in error


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    make_folder(tmp_path)
    (tmp_path / "party-a.key").chmod(0o640)
    result = CliRunner().invoke(cli, command(tmp_path))
    assert isinstance(result.exception, InvalidInputError)
    assert "chmod 600" in str(result.exception)
