"""Rows that ``cofit bench scale`` makes up: a table that nobody has, the same however it is asked for."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure

from cofit.benchmarks.made_up_study import MadeUpRows
from cofit.benchmarks.scale import ScaleResult
from cofit.benchmarks.scale_plot import plot_scale
from cofit.cli.main import cli
from cofit.errors import InvalidInputError


def test_rows_are_the_same_in_whatever_blocks_and_from_whichever_place() -> None:
    table = MadeUpRows(0, 1000, 7)
    whole = table[0:1000]
    assert whole.shape == table.shape == (1000, 7)
    assert set(whole.ravel()) == {0.0, 1.0}
    assert 0.03 < whole.mean() < 0.07
    np.testing.assert_array_equal(np.concatenate([table[i : i + 33] for i in range(0, 1000, 33)]), whole)
    np.testing.assert_array_equal(MadeUpRows(300, 500, 7)[10:500], whole[310:800])
    assert table[5:5].shape == (0, 7)
    assert (MadeUpRows(0, 1000, 7, seed=2)[0:1000] != whole).any()


def test_too_little_memory_is_exit_code_2() -> None:
    done = CliRunner().invoke(cli, ["bench", "scale", "--rows", "1000", "--cols", "5", "--memory", "1MB"])
    assert isinstance(done.exception, InvalidInputError), "which the command turns into exit code 2"
    assert "The 'memory' parameter of a plan must be at least" in str(done.exception)
    wrong = CliRunner().invoke(cli, ["bench", "scale", "--memory", "much"])
    assert wrong.exit_code == 2
    assert "'much' is no size" in wrong.output


@pytest.mark.parametrize("limit", [0, 5_000_000_000])
def test_the_plot_has_the_run_beside_its_forecast(tmp_path: Path, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers: dict[str, Any] = {field.name: 1 for field in fields(ScaleResult)}
    seconds = {"share": 1.0, "prepare": 2.0, "check": 3.0, "train": 4.0, "noise": 0.5}
    numbers |= {f"seconds_{step}": time for step, time in seconds.items()}
    numbers |= {"scheme": "rep3", "seconds": 12.0, "forecast_seconds": 9.0, "memory_bytes": limit}
    numbers |= {"matrix_bytes": 2 * 10**9, "peak_bytes": 3 * 10**9, "forecast_peak_bytes": 4 * 10**9}
    drawn: list[Figure] = []
    save = Figure.savefig

    def keep(figure: Figure, path: Path) -> None:
        drawn.append(figure)
        save(figure, path)

    monkeypatch.setattr(Figure, "savefig", keep)
    plot_scale(ScaleResult(**numbers), tmp_path / "run.svg")
    assert "<svg" in (tmp_path / "run.svg").read_text()
    times, memory = drawn[0].axes
    *measured, forecast = [bar.get_width() for bar in times.patches]  # type: ignore[attr-defined]
    assert [*measured, forecast] == [1.0, 2.0, 3.0, 4.0, 0.5, 1.5, 9.0]
    assert times.patches[4].get_x() == 10.0  # type: ignore[attr-defined]
    assert [bar.get_height() for bar in memory.patches] == [2.0, 3.0, 4.0]  # type: ignore[attr-defined]
    assert [np.asarray(line.get_ydata()).tolist() for line in memory.lines] == ([[5.0, 5.0]] if limit else [])
