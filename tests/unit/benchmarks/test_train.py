"""What ``cofit bench train`` measures with, and the lines that it fits through a sweep."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cofit.benchmarks import train_sweep
from cofit.benchmarks.train import TrainResult, sparse_boolean_data
from cofit.benchmarks.train_sweep import EPOCHS, SIZES, fit_line
from cofit.cli.main import cli


def test_the_data_are_made_up_from_a_seed() -> None:
    features, labels = sparse_boolean_data(400, 50)
    assert set(features.ravel()) == {0.0, 1.0}
    assert 0.04 < features.mean() < 0.06
    assert 0.3 < labels.mean() < 0.7
    again = sparse_boolean_data(400, 50)
    assert (features == again[0]).all()
    assert (labels == again[1]).all()


def measured(rows: int, cols: int, **arguments: object) -> TrainResult:
    assert arguments["epochs"] == EPOCHS
    seconds = (5.0 + 2e-3 * rows * cols / 1000) * EPOCHS
    names: dict[str, Any] = {field.name: 1 for field in fields(TrainResult)}
    names |= {"rows": rows, "cols": cols, "epochs": EPOCHS, "seconds_train_verified": seconds}
    return TrainResult(**names | {"bytes_total": 16 * rows * cols})


def test_a_sweep_fits_lines_and_draws_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_sweep, "measure_train", measured)
    plot = tmp_path / "growth.svg"
    result = CliRunner().invoke(cli, ["bench", "train", "--sweep", "--plot", str(plot), "--json"])
    assert result.exit_code == 0, result.output
    over_rows, over_cols = json.loads(result.output)
    assert [point["rows"] for point in over_rows["points"]] == list(SIZES)
    assert [point["cols"] for point in over_cols["points"]] == list(SIZES)
    for sweep in (over_rows, over_cols):
        assert sweep["seconds_line"] == pytest.approx({"intercept": 5.0, "slope": 2e-3, "deviation": 0.0}, abs=1e-9)
        assert sweep["bytes_line"]["deviation"] < 1e-9
    assert "<svg" in plot.read_text()
    table = CliRunner().invoke(cli, ["bench", "train", "--sweep"]).output
    assert "Over rows" in table
    assert "Over cols" in table


def test_a_line_tells_what_is_not_linear() -> None:
    sizes = [500, 1000, 2000, 4000]
    assert fit_line(sizes, [3.0 * n + 7 for n in sizes]).deviation < 1e-9
    assert fit_line(sizes, [float(n * n) for n in sizes]).deviation > 0.3
