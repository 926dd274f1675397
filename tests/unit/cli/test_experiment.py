"""``cofit experiment``: its help, its errors, and what it hands on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cofit.cli import experiment as module
from cofit.cli.main import cli
from cofit.experiments.result import Figure, Row, TableResult
from cofit.experiments.run import TABLES, Advance, Source
from cofit.experiments.settings import FULL, QUICK, Settings

TABLE = TableResult(
    "table4", "Title", "set: data", ("a",), (Row("r", (Figure(0.5, "accuracy"),)),), (), (), ("", ""), {}
)


class Running:
    """Stands in for running experiments."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error

    def __call__(
        self, tables: Sequence[str], sources: Sequence[Source], settings: Settings, out: Path, **more: Any
    ) -> list[TableResult]:
        self.given = (tuple(tables), tuple(sources), settings, out, more["workers"])
        for done in range(41):
            more["advance"](Advance(done, 40, "a cell"))
        if self.error is not None:
            raise self.error
        return [TABLE]


def _run(monkeypatch: pytest.MonkeyPatch, running: Running, *arguments: str) -> Result:
    monkeypatch.setattr(module, "run_experiments", running)
    return CliRunner().invoke(cli, ["experiment", *arguments])


def test_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = _run(monkeypatch, running := Running(), "all", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    tables, sources, settings, out, workers = running.given
    assert (tables, sources, settings, out) == (TABLES, (Source("breast-cancer"),), FULL, tmp_path)
    assert workers >= 1
    assert "50.0 %" in result.stdout
    assert result.stderr.count("measured") == 21
    assert "tables.md" in result.stdout


def test_every_option_is_handed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    arguments = ["table2", "table4", "--data", "claims", "--data", "x.csv", "--label", "ill", "--group", "who"]
    arguments += ["--quick", "--draws", "9", "--folds", "3", "--repetitions", "2", "--seed", "4", "--workers", "5"]
    result = _run(monkeypatch, running := Running(), *arguments, "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    sources = (Source("claims", "ill", "who"), Source("x.csv", "ill", "who"))
    settings = Settings(folds=3, draws=9, repetitions=2, seed=4, long_runs=QUICK.long_runs)
    assert running.given == (("table2", "table4"), sources, settings, tmp_path, 5)


def test_an_interrupt_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = _run(monkeypatch, Running(KeyboardInterrupt()), "table4", "--out", str(tmp_path))
    assert result.exit_code == 130
    assert "the same command resumes" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["table11", "--out", "x"], "table11"),
        (["table1"], "--out"),
        ([], "TABLE"),
        (["table1", "--out", "x", "--draws", "0"], "draws"),
    ],
)
def test_wrong_usage(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(cli, ["experiment", *arguments])
    assert result.exit_code == 2
    assert words in result.output


def test_help_teaches() -> None:
    text = CliRunner().invoke(cli, ["experiment", "--help"]).output
    for words in (*TABLES, "--quick", "resumes", "must be public", "Exit codes"):
        assert words in text
