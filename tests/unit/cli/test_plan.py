"""``cofit plan``: every fact is an option, every section is shown, and bad facts are refused with the remedy."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import sys
from collections.abc import Sequence
from typing import Any

import click
import pytest
from click.testing import CliRunner

from cofit.cli.main import cli, main
from cofit.cli.plan import plan as command
from cofit.learn.asked import TrainingSettings
from cofit.learn.facts import PARAMETERS, training_facts
from cofit.learn.forecast import forecast
from cofit.learn.plan import plan_training
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from cofit.units import duration, size
from support.facts import paper_facts

SMALL = ["plan", "--rows", "1000", "--cols", "5", "--recipe", "paper"]
SECTIONS = (
    "Data",
    "Privacy",
    "Objective and sensitivity",
    "Distance from the exact minimiser",
    "Solver",
    "Number formats and proven ranges",
    "Noise against signal",
    "Cost forecast",
)
FORECAST = {"dealer", "owners", "parties", "latency", "bandwidth", "line", "processors", "workers", "cores", "here"}


def planned(*arguments: str) -> str:
    result = CliRunner().invoke(cli, [*SMALL, *arguments], env={"COLUMNS": "160"})
    assert result.exit_code == 0, result.output
    return result.output


def refused(arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr(sys, "argv", ["cofit", *arguments])
    with pytest.raises(SystemExit) as info:
        main()
    assert info.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_every_parameter_of_the_facts_is_an_option_with_the_same_default() -> None:
    options = {
        p.name: p for p in command.params if isinstance(p, click.Option) and p.name not in {"as_json", *FORECAST}
    }
    own = {"partition": "horizontal", "loss": "logistic"}
    names = ["-h", "--help"]  # as the group has them: a command keeps its first help option
    defaults = command.make_context("plan", ["--rows", "2", "--cols", "1"], help_option_names=names).params
    of_studies = {"shared_model", "reference", "reference_inputs"}
    assert set(options) == set(PARAMETERS) - {"route"} - of_studies  # the route follows from the latency
    assert options["rows"].required
    assert options["cols"].required
    for name, default in (own | vars(TrainingSettings())).items():
        assert defaults[name] == default, name


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        ([], {}),
        (["--partition", "vertical", "--delta", "1e-6"], {"partition": "vertical", "delta": 1e-6}),
        (["--epochs", "12", "--no-intercept", "--l2", "0.5"], {"epochs": 12, "fit_intercept": False, "l2": 0.5}),
        (
            ["--learning-rate", "0.1", "--momentum", "0.9", "--initial", "glorot", "--epochs", "9", "--allow-unproven"],
            {"learning_rate": 0.1, "momentum": 0.9, "initial": "glorot", "epochs": 9, "allow_unproven": True},
        ),
    ],
)
def test_json_is_the_plan(arguments: list[str], facts: dict[str, Any]) -> None:
    plan = plan_minimiser(paper_facts(1000, 5, **facts))
    printed = json.loads(planned(*arguments, "--json"))
    assert printed.pop("hash") == plan.hash
    assert printed.pop("forecast") == json.loads(json.dumps(forecast(plan).to_dict()))
    assert printed == json.loads(json.dumps(plan.to_dict()))


def test_all_sections_are_shown_in_order() -> None:
    output = planned("--partition", "vertical")
    places = [output.index(f"\n{title}") for title in SECTIONS]
    assert places == sorted(places)
    assert "Warning" not in output
    assert re.search(r"guarantee +proven", output)
    assert "1 / ||x||" in output
    for part in ("iterations", "arithmetic", "encoding"):
        assert re.search(rf"- {part} +\S+ +\S+%: ", output), part


BEST = ["plan", "--rows", "1000", "--cols", "5"]
PAPER = ["--recipe", "paper", "--rows", "10000", "--cols", "100"]


def test_the_default_recipe() -> None:
    given = ["--feature-bound", "1", "--feature-lower", "0", "--no-clip-rows"]
    plan = plan_training(training_facts(1000, 5, feature_bound=1.0, feature_lower=0.0, clip_rows=False))
    result = CliRunner().invoke(cli, [*BEST, *given, "--json"])
    assert result.exit_code == 0, result.output
    printed = json.loads(result.output)
    assert printed["hash"] == plan.hash
    assert [release["name"] for release in printed["releases"][:3]] == ["level", "centre", "step 1"]
    output = CliRunner().invoke(cli, [*BEST, *given]).output
    titles = ["Data", "Privacy", "Noisy releases", "Training", "Number formats", "Cost forecast"]
    places = [output.index(f"\n{title}") for title in titles]
    assert places == sorted(places)
    for name in ("level", "centre", "steps 1 to 20"):
        assert re.search(rf"  {name} +\S+ numbers?", output), name


@pytest.mark.parametrize("given", [["--rows", "100000000", "--cols", "50"], [*PAPER, "--l2", "0.01"]])
def test_a_plan_in_the_larger_ring_says_why(given: list[str]) -> None:
    printed = json.loads(CliRunner().invoke(cli, ["plan", *given, "--json"]).output)
    assert printed["ring"] == "Z_2^128"
    output = CliRunner().invoke(cli, ["plan", *given], env={"COLUMNS": "300"}).output
    assert re.search(rf"  ring +Z_2\^128 +because {re.escape(printed['ring_reason'])}", output)
    smaller = [*BEST, "--no-clip-rows"]
    assert json.loads(CliRunner().invoke(cli, [*smaller, "--json"]).output)["ring_reason"] is None
    assert re.search(r"  ring +Z_2\^64 *\n", CliRunner().invoke(cli, smaller).output)


def test_clipped_rows_and_the_rows_that_a_useful_model_needs() -> None:
    plan = plan_training(training_facts(1000, 5))
    printed = json.loads(CliRunner().invoke(cli, [*BEST, "--json"]).output)
    assert (printed["hash"], printed["rows_needed"]) == (plan.hash, plan.rows_needed)
    assert [release["name"] for release in printed["releases"][:4]] == ["mean", "radius", "shift", "spread"]
    output = CliRunner().invoke(cli, BEST, env={"COLUMNS": "160"}).output
    assert re.search(rf"rows needed, about +{plan.rows_needed} ", output)
    for name in ("mean", "radius", "shift", "spread", "steps 1 to 20"):
        assert re.search(rf"  {name} +\S+ numbers?", output), name
    assert "each owner cuts its rows to length" in output
    few = CliRunner().invoke(cli, ["plan", "--rows", "10", "--cols", "5"]).output
    assert "Warning: 10 rows with 5 columns are few" in " ".join(few.split())


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], {}),
        (["--calibrate-intercept"], {"intercept": 5}),
        (["--no-clip-rows", "--share", "centre=0.25"], {"centre": 25}),
    ],
)
def test_the_parts_of_the_budget_are_told_and_make_up_all_of_it(given: list[str], told: dict[str, float]) -> None:
    output = CliRunner().invoke(cli, [*BEST, *given], env={"COLUMNS": "200"}).output
    found = re.findall(r"^  (\w+) .* numbers? +([\d.]+) % of the budget", output, re.MULTILINE)
    parts = {name: float(part) for name, part in found}
    assert sum(parts.values()) == pytest.approx(100, abs=0.5)
    assert len(parts) > 1
    assert {name: parts[name] for name in told} == told


def test_the_default_recipe_has_no_penalty(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    error = refused([*BEST, "--l2", "1"], monkeypatch, capsys)
    assert error.startswith("cofit: The 'l2' parameter of a plan must be left out")
    assert "recipe='paper'" in error


def test_the_forecast_follows_the_network() -> None:
    near = json.loads(planned("--json"))["forecast"]["total"]
    far = json.loads(planned("--latency", "0.05", "--owners", "3", "--json"))["forecast"]["total"]
    assert far["seconds"] > near["seconds"] + 0.05 * near["rounds"] / 2
    assert re.search(rf"whole run +{near['rounds']} rounds", planned())


def test_the_forecast_says_which_network_it_assumes() -> None:
    assumed = json.loads(planned("--latency", "0.003", "--bandwidth", "2e8", "--json"))["forecast"]["assumed"]
    assert assumed == {"latency": 0.003, "bandwidth": 2e8, "processors": 2}
    output = " ".join(planned("--latency", "0.003", "--bandwidth", "2e8").split())
    assert "assumes 3 ms latency 200 MB a second, 2 cores" in output
    plan = plan_minimiser(paper_facts(1000, 5))
    far = forecast(plan, latency=0.02).total.seconds
    assert forecast(plan).seconds_at(0.02) == pytest.approx(far, rel=1e-9)
    assert f"as between cities, the whole run takes about {duration(far)}" in " ".join(planned().split())


@pytest.mark.parametrize(("rows", "cols"), [("4000000", "3000"), ("1000", "5")])
def test_sizes_and_times_have_units_that_keep_them_short(rows: str, cols: str) -> None:
    result = CliRunner().invoke(cli, ["plan", "--rows", rows, "--cols", cols], env={"COLUMNS": "160"})
    costs = result.output[result.output.index("Cost forecast") :]
    cost = forecast(plan_training(training_facts(int(rows), int(cols))))
    assert f"{size(cost.total.bytes)}, about {duration(cost.total.seconds)}" in costs
    assert "e+" not in costs


def test_a_plan_without_centring_speaks_of_none() -> None:
    centred = CliRunner().invoke(cli, [*BEST, "--no-clip-rows"], env={"COLUMNS": "160"}).output
    assert re.search(r"rows +L2 length 1 +at most, after centring", centred)
    given = ["--share", "centre=0", "--share", "level=0"]
    plain = CliRunner().invoke(cli, [*BEST, *given], env={"COLUMNS": "160"}).output
    assert re.search(r"rows +L2 length 1 +at most *\n", plain)
    assert "centring" not in plain


def test_warnings_stand_below() -> None:
    output = planned("--epsilon", "0.001")
    assert output.index("Warning: the noise") > output.index(SECTIONS[-1])
    output = planned("--learning-rate", "0.1", "--momentum", "0.9", "--epochs", "9", "--allow-unproven")
    assert "NOT PROVEN" in output
    assert re.search(r"tau +not bounded", output)
    assert "Warning: the distance of the trained weights" in output


def test_the_examples_of_the_help_work() -> None:
    examples = re.findall(r"^ +cofit (plan .*)$", inspect.getdoc(command.callback) or "", re.MULTILINE)
    assert len(examples) == 8
    for example in examples:
        assert CliRunner().invoke(cli, shlex.split(example)).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "parameter", "value"),
    [
        (["--rows", "1"], "rows", "1"),
        (["--cols", "0"], "cols", "0"),
        (["--l2", "-1"], "l2", "-1.0"),
        (["--epsilon", "0"], "epsilon", "0.0"),
        (["--delta", "1"], "delta", "1.0"),
        (["--mechanism", "gaussian"], "delta", "0.0"),
        (["--epochs", "0"], "epochs", "0"),
        (["--epochs", "1"], "epochs", "1"),
        (["--partition", "vertical", "--normalised-by", "owners"], "normalised_by", "'owners'"),
        (["--tolerance", "nan"], "tolerance", "nan"),
        (["--momentum", "1"], "momentum", "1.0"),
        (["--feature-bound", "-2"], "feature_bound", "-2.0"),
        (["--norm-floor", "2"], "norm_floor", "2.0"),
    ],
)
def test_bad_facts_are_named(
    arguments: list[str],
    parameter: str,
    value: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = refused([*SMALL, *arguments], monkeypatch, capsys)
    assert error.startswith(f"cofit: The '{parameter}' parameter of a plan must be ")
    assert f"Got {value} instead." in error


@pytest.mark.parametrize("arguments", [["plan"], [*SMALL, "--epochs", "many"], [*SMALL, "--loss", "squared"]])
def test_wrong_usage(arguments: list[str]) -> None:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 2
    assert "Usage:" in result.output


@pytest.mark.parametrize(
    ("options", "way"),
    [
        (["--cols", "20"], "every value"),
        (["--cols", "200"], "projections"),
        (["--recipe", "paper", "--cols", "600"], "projections"),
    ],
)
def test_the_check_of_rows_is_part_of_the_plan(options: list[str], way: str) -> None:
    given = ["plan", "--rows", "2000", "--cols", "100", *options]
    printed = " ".join(CliRunner().invoke(cli, given).output.split())
    assert way in printed.split("check of rows")[1].split("rows and labels")[0]
    assert "a lie passes with probability 9.095e-13 at most, in delta" in printed
    facts = json.loads(CliRunner().invoke(cli, [*given, "--json"]).output)
    assert facts["check_delta"] == 2.0**-40
    assert (facts["check_projections"] > 0) == (way == "projections")
    assert facts["forecast"]["check"]["bytes"] > 0


def test_a_forecast_for_this_machine() -> None:
    usual, here, again = (
        json.loads(CliRunner().invoke(cli, [*SMALL, "--json", *given]).stdout) for given in ([], ["--here"], [])
    )
    assert usual == again, "the usual forecast is that of everybody"
    assert "pace" not in usual["forecast"]["assumed"]
    pace = here["forecast"]["assumed"].pop("pace")
    assert set(pace) == {"kernels", "bytes", "steps", "placed"} and min(pace.values()) > 0
    assert here["forecast"]["assumed"] == usual["forecast"]["assumed"]
    assert here["hash"] == usual["hash"] and here["forecast"]["total"]["bytes"] == usual["forecast"]["total"]["bytes"]
    assert here["forecast"]["total"]["seconds"] != usual["forecast"]["total"]["seconds"]
