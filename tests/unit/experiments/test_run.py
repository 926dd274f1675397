"""Experiments go on where they were, measure nothing twice, and keep what they have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cofit.errors import InvalidInputError
from cofit.experiments import run as module
from cofit.experiments.cells import Cell
from cofit.experiments.datasets import DataSet
from cofit.experiments.run import Advance, Source, run_experiments
from cofit.experiments.settings import QUICK

SOURCE = Source("claims:rows=40,cols=6,density=0.3")
TABLES = ("table4", "table5")


class Measuring:
    """Stands in for measuring, counts, and can be interrupted."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.cells: list[Cell] = []
        self.stop_after = stop_after

    def __call__(self, cell: Cell, data: DataSet) -> dict[str, Any]:
        if len(self.cells) == self.stop_after:
            raise KeyboardInterrupt
        self.cells.append(cell)
        epsilon = getattr(getattr(cell, "contender", None), "epsilon", None)
        return {"accuracies": [0.75], "epsilon": epsilon, "delta": 0.0, "seconds_training": 1.0}


def _run(monkeypatch: pytest.MonkeyPatch, out: Path, measuring: Measuring, **changes: Any) -> list[Advance]:
    monkeypatch.setattr(module, "measure", measuring)
    seen: list[Advance] = []
    given = {"tables": TABLES, "sources": [SOURCE], "settings": QUICK, **changes}
    run_experiments(out=out, workers=1, advance=seen.append, **given)
    return seen


def test_an_interrupted_run_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = Measuring(stop_after=7)
    with pytest.raises(KeyboardInterrupt):
        _run(monkeypatch, tmp_path, first)
    assert not list(tmp_path.glob("table*"))
    second = Measuring()
    seen = _run(monkeypatch, tmp_path, second)
    assert len(first.cells) == 7
    assert not set(first.cells) & set(second.cells)
    assert seen[0].done == 7
    assert seen[-1].done == seen[-1].total == len(first.cells) + len(second.cells)
    third = Measuring()
    _run(monkeypatch, tmp_path, third)
    assert not third.cells
    name = "claims-rows40-cols6-density0.3"
    assert {path.name for path in tmp_path.glob("table4*")} == {
        f"table4-{name}{end}" for end in (".json", ".md", ".csv")
    }
    assert "75.0" in (tmp_path / "tables.md").read_text()


def test_tables_share_cells(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    both, one = Measuring(), Measuring()
    _run(monkeypatch, tmp_path / "both", both)
    _run(monkeypatch, tmp_path / "one", one, tables=("table4",))
    assert len(set(both.cells)) == len(both.cells)
    _run(monkeypatch, tmp_path / "one", other := Measuring(), tables=("table5",))
    assert len(one.cells) + len(other.cells) == len(both.cells)


def test_other_settings_are_measured_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _run(monkeypatch, tmp_path, first := Measuring())
    changed = QUICK.__class__(**{**QUICK.__dict__, "seed": 5})
    _run(monkeypatch, tmp_path, second := Measuring(), settings=changed)
    assert len(second.cells) == len(first.cells)


def test_refusals_are_tried_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Refusing(Measuring):
        def __call__(self, cell: Cell, data: DataSet) -> dict[str, Any]:
            super().__call__(cell, data)
            return {"refused": "not today"}

    _run(monkeypatch, tmp_path, first := Refusing())
    assert "not today" in (tmp_path / "tables.md").read_text()
    _run(monkeypatch, tmp_path, second := Measuring())
    assert len(second.cells) == len(first.cells)
    assert "not today" not in (tmp_path / "tables.md").read_text()


def test_seeds_settings_and_versions_are_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _run(monkeypatch, tmp_path, Measuring())
    facts = json.loads(next(tmp_path.glob("table4*.json")).read_text())["facts"]
    assert (facts["seed"], facts["folds"], facts["draws"]) == (QUICK.seed, QUICK.folds, QUICK.draws)
    assert set(facts["software"]) >= {"cofit", "numpy", "scikit-learn", "dp-accounting"}
    key = json.loads(next((tmp_path / "cells").iterdir()).read_text())["key"]
    assert key["seed"] == QUICK.seed


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tables": ("table11",)}, "table11"),
        ({"tables": ()}, "at least one"),
        ({"sources": ()}, "at least one"),
        ({"sources": [Source("nowhere.npz")]}, "nowhere"),
        ({"sources": [Source("claims:rows=5,cols=2,prevalence=0.5")]}, "rarer class"),
    ],
)
def test_bad_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        _run(monkeypatch, tmp_path, Measuring(), **change)


def test_two_files_of_one_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.csv").write_text("ill,a\n0,1\n1,2\n0,2\n1,3\n0,1\n1,1\n0,2\n1,2\n0,1\n1,3\n")
    sources = [Source(str(tmp_path / folder / "x.csv"), "ill") for folder in ("a", "b")]
    with pytest.raises(InvalidInputError, match="same name"):
        _run(monkeypatch, tmp_path, Measuring(), sources=sources)
