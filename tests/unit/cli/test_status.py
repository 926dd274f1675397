"""``cofit status``: what every party says, for people and as JSON, and who does not answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cofit.cli.main import cli
from unit.roles.loopback import loopback, until


def ask(folder: Path, *more: str, key: str = "analyst.key") -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["status", str(folder / "study.toml"), "--key", str(folder / key), *more])
    return result.exit_code, result.output


def answers(text: str) -> list[Any]:
    """The JSON lines of an output; the parties run in this process, and their logs may come between."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


@pytest.mark.slow
def test_status_from_nothing_to_the_release(tmp_path: Path) -> None:
    with loopback(tmp_path) as site:
        site.start("party-a", "party-b")
        until(lambda: "collecting" in ask(tmp_path)[1])
        code, text = ask(tmp_path, "--json")
        parties = answers(text)[-1]["parties"]
        assert code == 1
        assert "did not join" in parties["party-c"]["unreachable"]
        assert parties["party-a"]["contributions"] == {"owner-a": "missing", "owner-b": "missing"}
        site.start("party-c")
        site.contribute("owner-a")
        code, text = ask(tmp_path, key="owner-b.key")
        assert code == 0
        assert text.count("owner-a: complete") == text.count("owner-b: missing") == 3
        site.contribute("owner-b")
        code, text = ask(tmp_path, "--watch", "--json")
        assert code == 0
        last = answers(text)[-1]["parties"]
        assert {one["phase"] for one in last.values()} == {"released"}
        assert last["party-a"]["progress"] == {}
        code, text = ask(tmp_path, "--watch")
        assert code == 0 and text.endswith("\n"), "in a pipe, too, what comes next begins on a line of its own"


def test_nobody_answers(tmp_path: Path) -> None:
    with loopback(tmp_path):
        code, text = ask(tmp_path)
        assert code == 1
        assert text.count("does not") == 3


def test_an_unknown_name(tmp_path: Path) -> None:
    with loopback(tmp_path):
        result = CliRunner().invoke(
            cli,
            ["status", str(tmp_path / "study.toml"), "--key", str(tmp_path / "analyst.key"), "--name", "x"],
        )
        assert "takes no part" in str(result.exception)
