"""``cofit bench train`` as a user runs it: real processes over TLS, exact fields, rounds and bytes; refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from click.testing import CliRunner

from cofit.cli.main import cli, main
from cofit.learn.facts import training_facts
from cofit.learn.forecast import forecast
from cofit.learn.plan import plan_training
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from support.facts import paper_facts
from support.schemes import also_slow

ENTRY = "from cofit.cli.main import main; main()"
FIELDS = {
    "scheme", "parties", "threshold", "route",
    "partition", "rows", "cols", "owners", "threads", "repetitions", "ring", "mechanism", "epochs",
    "seconds_total", "seconds_start", "seconds_share", "seconds_check", "seconds_train", "seconds_per_step",
    "seconds_verify", "seconds_train_verified", "bytes_verify", "seconds_prepare", "bytes_prepare",
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
    result = CliRunner().invoke(cli, ["bench", "train", *size, "--repetitions", "1", "--threads", "1", "--json"])
    assert (result.exit_code, result.stderr) == (0, "")
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
    assert (report["seconds_verify"], report["bytes_verify"]) == (0, 0)
    assert (report["seconds_prepare"], report["bytes_prepare"]) == (0, 0)
    assert report["seconds_train_verified"] == report["seconds_train"]
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


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "form"), [("paper", ""), ("best", "--threshold 1"), ("best", "--route king")])
def test_five_parties_send_what_a_plan_says(recipe: str, form: str) -> None:
    size, scheme = ["--recipe", recipe, "--rows", "80", "--cols", "7"], ["--scheme", "shamir", "--parties", "5"]
    result = bench(*size, *scheme, *form.split(), "--repetitions", "1", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    report = json.loads(result.stdout)
    threshold, route = 1 if "threshold" in form else 2, "king" if "king" in form else "direct"
    assert (report["parties"], report["threshold"], report["route"]) == (5, threshold, route)
    bounds: dict[str, Any] = {"feature_bound": 1.0, "feature_lower": 0.0} if recipe == "best" else {"l2": 1.0}
    facts = training_facts(80, 7, recipe=recipe, scheme="shamir", threshold=threshold, route=route, **bounds)
    cost = forecast(plan_training(facts), parties=5)
    assert report["bytes_total"] == cost.total.bytes
    assert report["rounds"] <= cost.total.rounds


@pytest.mark.parametrize(("recipe", "parties"), also_slow([("paper", 3)], ("best", 3), ("best", 5), ("paper", 7)))
def test_late_checks_are_counted_and_timed_apart(recipe: str, parties: int) -> None:
    size, scheme = ["--recipe", recipe, "--rows", "80", "--cols", "7"], ["--scheme", "repn", "--parties", str(parties)]
    result = bench(*size, *scheme, "--repetitions", "1", "--threads", "1", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    report = json.loads(result.stdout)
    bounds: dict[str, Any] = {"feature_bound": 1.0, "feature_lower": 0.0} if recipe == "best" else {"l2": 1.0}
    cost = forecast(plan_training(training_facts(80, 7, recipe=recipe, scheme="repn", **bounds)), parties=parties)
    assert (report["bytes_total"], report["bytes_noise"]) == (cost.total.bytes, cost.noise.bytes)
    assert 0 < report["bytes_verify"] < report["bytes_total"]
    with_checks = report["seconds_train"] + report["seconds_verify"]
    assert report["seconds_train"] < report["seconds_train_verified"] == pytest.approx(with_checks)
    assert report["seconds_per_step"] == pytest.approx(with_checks / report["epochs"])
    parts = sum(report[f"seconds_{part}"] for part in ("share", "check", "train", "verify", "noise"))
    assert parts <= report["seconds_total"]


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
