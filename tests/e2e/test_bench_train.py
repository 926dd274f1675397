"""``cofit bench train`` as a user runs it: real processes over TLS, exact fields, rounds and bytes; refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cofit.benchmarks import train_sweep
from cofit.benchmarks.train import TrainResult, sparse_boolean_data
from cofit.benchmarks.train_sweep import EPOCHS, SIZES, fit_line
from cofit.cli.main import cli, main
from cofit.learn.facts import training_facts
from cofit.learn.forecast import forecast
from cofit.learn.plan import plan_training
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from support.facts import paper_facts

ENTRY = "from cofit.cli.main import main; main()"
FIELDS = {
    "scheme", "partition", "rows", "cols", "owners", "threads", "repetitions", "ring", "mechanism", "epochs",
    "seconds_total", "seconds_start", "seconds_share", "seconds_check", "seconds_train", "seconds_per_step",
    "seconds_noise", "rounds", "bytes_total", "bytes_check", "bytes_noise",
    "sklearn_seconds", "ratio_to_sklearn", "kernel_seconds", "ratio_to_kernel", "peak_memory_bytes",
    "peak_memory_ratio",
}  # fmt: skip


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ENTRY, "bench", "train", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.parametrize("partition", ["horizontal", pytest.param("vertical", marks=pytest.mark.slow)])
def test_fields(partition: str) -> None:
    size = ["--rows", "200", "--cols", "6", "--partition", partition]
    result = bench(*size, "--repetitions", "1", "--threads", "1", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    report = json.loads(result.stdout)
    assert set(report) == FIELDS
    assert (report["partition"], report["rows"], report["cols"], report["owners"]) == (partition, 200, 6, 2)
    parts = sum(report[f"seconds_{part}"] for part in ("share", "check", "train", "noise"))
    assert 0 < parts <= report["seconds_total"]
    assert report["seconds_start"] > 0
    plan = plan_minimiser(paper_facts(200, 6, partition=partition))
    cost = forecast(plan)
    assert (report["rounds"], report["bytes_total"]) == (cost.total.rounds, cost.total.bytes)
    assert (report["bytes_check"], report["bytes_noise"]) == (cost.check.bytes, cost.noise.bytes)
    assert report["seconds_per_step"] == pytest.approx(report["seconds_train"] / plan.epochs)
    assert report["ratio_to_kernel"] == pytest.approx(report["seconds_train"] / report["kernel_seconds"])
    assert report["ratio_to_sklearn"] == pytest.approx(report["seconds_total"] / report["sklearn_seconds"])


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["rep3", "semi2k", "rep4"])
def test_bytes_of_the_noise_are_those_of_all_members(scheme: str) -> None:
    """With semi2k the dealer's too. In every step of recipe best."""
    result = bench(
        "--recipe", "best", "--rows", "80", "--cols", "7", "--scheme", scheme, "--repetitions", "1", "--json"
    )
    report = json.loads(result.stdout)
    facts = training_facts(80, 7, scheme=scheme, feature_bound=1.0, feature_lower=0.0)
    cost = forecast(plan_training(facts))
    assert (report["bytes_total"], report["bytes_noise"]) == (cost.total.bytes, cost.noise.bytes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cols", "3", "--partition", "vertical", "--owners", "4"], "'owners' parameter of bench train"),
        (["--epochs", "1"], "'epochs' parameter of a plan"),
        (["--mechanism", "gaussian"], "'delta' parameter of a plan"),
        (["--sweep", "--plot", "growth.jpg"], "'plot' parameter of bench train"),
        (["--sweep", "--plot", "nowhere/growth.png"], "'plot' parameter of bench train"),
        (["--plot", "growth.png"], "give --sweep too"),
    ],
)
def test_refusals(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["cofit", "bench", "train", "--rows", "100", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    assert message in said.err


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
    names = dict.fromkeys(FIELDS, 1) | {"rows": rows, "cols": cols, "epochs": EPOCHS, "seconds_train": seconds}
    return TrainResult(**names | {"bytes_total": 16 * rows * cols})  # type: ignore[arg-type]


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
