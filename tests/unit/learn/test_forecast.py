"""Forecasts of training runs: rounds and bytes exactly as runs count them."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cofit.benchmarks.this_machine import pace_of_this_machine
from cofit.cli.demo_report import PHASES
from cofit.errors import InvalidInputError
from cofit.learn.counted import NoStore
from cofit.learn.forecast import Forecast, _inputs, forecast
from cofit.learn.private_training import private_training
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from cofit.roles.local.progress import Progress
from cofit.roles.local.run import LocalRun
from cofit.roles.local.tables import OwnerTable
from cofit.roles.local.training import run_training
from cofit.secret import Party
from cofit.sharing import SCHEMES, meter_of, scheme_named
from cofit.sharing.tally import Tally
from support.facts import paper_facts
from support.late_checks import LateChecked
from support.schemes import form

FEW = {"allow_unproven": True, "mechanism": "laplace"}
"""Facts of short runs, whose noise is cheap."""


@functools.cache
def planned(rows: int, cols: int, **facts: Any) -> MinimiserPlan:
    return plan_minimiser(paper_facts(rows, cols, **facts))


def tables(plan: MinimiserPlan, owners: int) -> dict[str, OwnerTable]:
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (plan.facts.rows, plan.facts.cols))
    y = rng.integers(0, 2, plan.facts.rows)
    if plan.facts.partition == "vertical":
        blocks = np.array_split(x, owners, axis=1)
        return {f"o{i}": OwnerTable(block, None if i else y) for i, block in enumerate(blocks)}
    pairs = zip(np.array_split(x, owners), np.array_split(y, owners), strict=True)
    return {f"o{i}": OwnerTable(*pair) for i, pair in enumerate(pairs)}


def counted(run: LocalRun[Any]) -> dict[str, tuple[int, int]]:
    """Rounds at the party that waits most, and payload bytes of all members, in every phase of a run."""
    result = {}
    for phase in ("share", "check", "train", "noise", "release"):
        rounds, sent = [], 0
        for counts in run.traffic.values():
            own = [counts[label] for label in counts if PHASES[label.split("/")[0]] == phase]
            rounds.append(sum(c.rounds for c in own))
            sent += sum(c.bytes_sent for c in own)
        result[phase] = max(rounds), sent
    return result


def foretold(cost: Forecast) -> dict[str, tuple[int, int]]:
    return {name: (phase.rounds, phase.bytes) for name, phase in cost.phases.items()}


CASES: list[tuple[int, int, int, dict[str, Any]]] = [  # rows, columns, owners, facts
    (40, 5, 2, {"epsilon": 10}),
    (100, 70, 3, {"mechanism": "gaussian", "delta": 1e-6}),
    (41, 5, 1, {"mechanism": "laplace", "fit_intercept": False}),
    (40, 5, 2, {"partition": "vertical"}),
    (65, 7, 3, {"partition": "vertical", "mechanism": "gaussian", "delta": 1e-6, "fit_intercept": False}),
    (40, 5, 2, {"normalised_by": "parties", "mechanism": "laplace"}),
    (40, 3, 2, {"loss": "huber_hinge", "mechanism": "laplace"}),
    (40, 3, 2, {"loss": "huber_hinge", "partition": "vertical", "mechanism": "gaussian", "delta": 1e-5}),
    (40, 5, 2, {**FEW, "learning_rate": 0.01, "momentum": 0.5, "initial": "glorot", "epochs": 3}),
    (30, 4, 2, {**FEW, "l2": 0.01, "epochs": 3}),
    (30, 1, 2, {**FEW, "l2": 0.005, "epochs": 6, "fit_intercept": False}),
    (30, 2, 2, {**FEW, "l2": 0.002, "epochs": 4, "partition": "vertical"}),
    (30, 4, 2, {**FEW, "l2": 0.001, "epochs": 4, "solver": "accelerated"}),
    (6000, 60, 2, {"mechanism": "laplace"}),  # an owner's input in several messages
    (40, 5, 2, {"l2": 0.3, "mechanism": "laplace"}),
    (40, 5, 2, {"scheme": "clear"}),
    (40, 5, 2, {"scheme": "semi2k", "epsilon": 10}),
    (40, 5, 3, {"scheme": "semi2k", "partition": "vertical", "mechanism": "gaussian", "delta": 1e-6}),
    (40, 5, 2, {"scheme": "pair", "epsilon": 10}),
    (40, 70, 3, {"scheme": "pair", "partition": "vertical", "mechanism": "gaussian", "delta": 1e-6}),
    (65, 7, 2, {"scheme": "pair", "mechanism": "laplace", "normalised_by": "parties"}),
    (40, 5, 2, {"scheme": "rep4", "mechanism": "laplace"}),
    (40, 5, 2, {"scheme": "rep4", "partition": "vertical", "mechanism": "gaussian", "delta": 1e-6}),
]


AMONG = [  # a form of a scheme among n parties, and facts
    ("repn", {"mechanism": "laplace"}),
    pytest.param("repn", {"partition": "vertical", "mechanism": "gaussian", "delta": 1e-6}, marks=pytest.mark.slow),
    pytest.param("repn/5", {"mechanism": "laplace"}, marks=pytest.mark.slow),
    pytest.param("repn/5", {"epsilon": 10}, marks=pytest.mark.slow),
    pytest.param("repn/7", {"mechanism": "laplace"}, marks=pytest.mark.slow),
    ("shamir", {"mechanism": "laplace"}),
    ("shamir/5", {"mechanism": "laplace"}),
    pytest.param("shamir/5", {"epsilon": 10}, marks=pytest.mark.slow),
    pytest.param("shamir/5", {"partition": "vertical", "mechanism": "gaussian", "delta": 1e-6}, marks=pytest.mark.slow),
    pytest.param("shamir/5/1", {"mechanism": "laplace"}, marks=pytest.mark.slow),
    pytest.param("shamir/4", {"mechanism": "laplace"}, marks=pytest.mark.slow),
    pytest.param("shamir/5/king", {"mechanism": "laplace"}, marks=pytest.mark.slow),
    pytest.param("shamir/7", {"mechanism": "laplace"}, marks=pytest.mark.slow),
    pytest.param("shamir/7/king", {"partition": "vertical", "mechanism": "laplace"}, marks=pytest.mark.slow),
    pytest.param("semi2k/3", {"mechanism": "laplace"}, marks=pytest.mark.slow),
    pytest.param("pair", {**FEW, "l2": 0.01, "epochs": 140}, marks=pytest.mark.slow),  # masks made more than once
    pytest.param("pair", {"partition": "vertical", "epsilon": 10}, marks=pytest.mark.slow),
    pytest.param("pair", {"loss": "huber_hinge", "mechanism": "gaussian", "delta": 1e-6}, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("name", "facts"), AMONG, ids=str)
def test_bytes_are_those_of_a_run_among_n_parties(name: str, facts: dict[str, Any]) -> None:
    """Rounds too, but where parties have different parts in an operation: then nobody waits for all of them."""
    spec = form(name).spec
    plan = planned(40, 5, scheme=spec.name, threshold=spec.threshold, route=spec.route, **facts)
    cost = forecast(plan, owners=2, parties=spec.parties)
    found = counted(run_training(plan, tables(plan, 2), parties=spec.parties).run)
    assert {phase: bytes_sent for phase, (_, bytes_sent) in found.items()} == {
        phase: one.bytes for phase, one in cost.phases.items()
    }
    for phase, (rounds, _) in found.items():
        assert rounds <= cost.phases[phase].rounds, phase
    if name.count("/") < 2 and spec.threshold == 1 and spec.name != "repn":
        assert foretold(cost) == found


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rounds_and_bytes_are_those_of_a_run(case: tuple[int, int, int, dict[str, Any]]) -> None:
    rows, cols, owners, facts = case
    plan = planned(rows, cols, **facts)
    cost = forecast(plan, owners=owners)
    run = run_training(plan, tables(plan, owners)).run
    assert foretold(cost) == counted(run)
    parties = [run.traffic[name].total.rounds for name in run.results]
    assert cost.total.rounds == max(parties)
    assert cost.total.bytes == sum(counts.total.bytes_sent for counts in run.traffic.values())


@pytest.mark.parametrize("facts", [{"epochs": 7, "l2": 0.01}, {"partition": "vertical"}], ids=str)
def test_checks_that_are_put_off_are_counted(facts: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """With a scheme that verifies late, of all epochs at once: also of those that are not run one by one."""
    plan = planned(40, 5, **FEW, **facts, scheme="clear")
    at_once = forecast(plan, owners=2)
    monkeypatch.setitem(SCHEMES, "clear", LateChecked)
    cost = forecast(plan, owners=2)
    run = run_training(plan, tables(plan, 2)).run
    assert cost.total.bytes == sum(counts.total.bytes_sent for counts in run.traffic.values())
    assert cost.total.rounds == max(run.traffic[name].total.rounds for name in run.results) > at_once.total.rounds


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_rounds_of_batches_are_those_of_a_run(partition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(60, 2, partition=partition, mechanism="laplace")
    at_once = forecast(plan, owners=2)
    monkeypatch.setattr("cofit.learn.batches._SMALL_BYTES", 2 * plan.formats.ring.element_bytes * 1000)
    cost = forecast(plan, owners=2)
    assert foretold(cost) == counted(run_training(plan, tables(plan, 2)).run)
    assert cost.train.rounds > at_once.train.rounds, "there was one batch only"


def test_the_cases_cover_what_plans_choose() -> None:
    plans = [planned(rows, cols, **facts) for rows, cols, _, facts in CASES]
    assert {p.formats.ring.bits for p in plans} == {64, 128}
    assert {p.mechanism.name for p in plans} == {"knorm", "laplace", "gaussian"}
    evaluations = {"SmallSigmoid", "PolynomialSigmoid", "AnySigmoid", "ClippedMargin"}
    assert {type(p.formats.evaluation).__name__ for p in plans} == evaluations
    assert {p.geometry.needs_comparison for p in plans} == {False, True}
    assert len({p.solver.name for p in plans}) == 3


# --- epochs that are not run -----------------------------------------------------------------------------


def every_epoch(plan: MinimiserPlan) -> list[Tally]:
    """What each epoch costs, one by one."""
    meter = meter_of(scheme_named(plan.facts.scheme))
    marks: list[Tally] = []

    def report(step: str, done: int, total: int) -> None:
        if step == "train":
            marks.append(meter.tally)

    inputs, holders = _inputs(plan, 2)
    party = Party(meter, inputs, report=report)
    party.collect()
    private_training(party, plan, holders, {party.name: NoStore()}, "test")
    return [after - before for before, after in itertools.pairwise(marks[2:])]


@pytest.mark.parametrize(
    "facts",
    [
        {"l2": 0.001},
        {"l2": 0.004, "partition": "vertical"},
        {"l2": 0.01, "learning_rate": 0.5, "momentum": 0.3, "initial": "glorot"},
        {"l2": 0.001, "solver": "accelerated"},
        {"l2": 1.0},
        {"l2": 0.001, "loss": "huber_hinge"},
    ],
    ids=str,
)
@pytest.mark.parametrize("cols", [1, 6])
def test_epochs_counted_together_are_those_counted_one_by_one(cols: int, facts: Mapping[str, Any]) -> None:
    plan = planned(50, cols, epochs=40, **FEW, **facts)
    short, cost = forecast(replace(plan, epochs=1)), forecast(plan)
    later = every_epoch(plan)
    assert len(later) == 39
    assert cost.train.rounds - short.train.rounds == sum(tally.rounds for tally in later)
    assert cost.train.bytes - short.train.bytes == sum(tally.bytes for tally in later)
    assert (cost.epoch.rounds, cost.epoch.bytes) == (later[-1].rounds, later[-1].bytes)


def test_a_first_epoch_may_cost_less_and_is_not_multiplied() -> None:
    plan = planned(50, 6, l2=0.001, epochs=100, **FEW)
    first = forecast(replace(plan, epochs=1)).train
    assert first.rounds < forecast(plan).epoch.rounds


def test_many_epochs_and_large_data_take_no_longer() -> None:
    plan = planned(50, 6, l2=0.5, epochs=1_000_000, **FEW)
    cost = forecast(plan)
    assert cost.train.rounds == 1_000_000 * cost.epoch.rounds
    large = forecast(planned(20_000_000, 5000, l2=10.0, mechanism="laplace"))
    assert large.share.bytes > 2 * 8 * 20_000_000 * 5000


# --- the estimate and its arguments ----------------------------------------------------------------------


def test_seconds_follow_the_network_and_the_processors() -> None:
    plan = planned(1713, 1874)
    near, far = forecast(plan), forecast(plan, latency=0.05)
    assert far.train.seconds - near.train.seconds == pytest.approx(near.train.rounds * 0.0499)
    assert far.share.seconds - near.share.seconds == pytest.approx(3 * 0.0499), "streams wait for nobody"
    slow = forecast(plan, bandwidth=1e6)
    assert slow.noise.seconds - near.noise.seconds == pytest.approx(near.noise.bytes * (1e-6 - 1e-9))
    assert forecast(plan, processors=4).train.seconds < near.train.seconds < forecast(plan, processors=1).train.seconds
    assert near.total.seconds == pytest.approx(sum(phase.seconds for phase in near.phases.values()))
    assert near.to_dict()["total"] == {
        "rounds": near.total.rounds,
        "bytes": near.total.bytes,
        "seconds": near.total.seconds,
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("owners", 0),
        ("owners", 1.5),
        ("owners", True),
        ("latency", -1.0),
        ("latency", float("nan")),
        ("bandwidth", 0.0),
        ("processors", 0),
        ("processors", "2"),
    ],
)
def test_wrong_arguments_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"The '{name}' parameter of forecast must be"):
        forecast(planned(50, 4, mechanism="laplace"), **{name: value})


def mark(marks: dict[tuple[str, int], float], progress: Progress) -> None:
    marks.setdefault((progress.step, progress.done), time.process_time())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "cols", "facts"),
    [
        (1713, 1874, {}),
        (1713, 1874, {"partition": "vertical", "mechanism": "laplace"}),
        (500, 50, {**FEW, "l2": 0.01, "epochs": 20}),
        (20_000, 100, {"loss": "huber_hinge", "mechanism": "gaussian", "delta": 1e-6}),
    ],
)
def test_seconds_are_within_a_factor_of_three(rows: int, cols: int, facts: Mapping[str, Any]) -> None:
    """Of the processor time of a run in memory: unlike the time on the wall it does not count others' work. The
    forecast is for a machine as quick as this one."""
    plan = planned(rows, cols, **facts)
    owners = tables(plan, 2)
    cost = forecast(plan, latency=0.0, bandwidth=float("inf"), processors=1, pace=pace_of_this_machine())
    measured = []
    for _ in range(3):
        marks: dict[tuple[str, int], float] = {}
        run_training(plan, owners, progress=functools.partial(mark, marks))
        measured.append(marks["release", 1] - marks["train", 0])
    ratio = (cost.train.seconds + cost.noise.seconds + cost.release.seconds) / min(measured)
    assert 1 / 3 < ratio < 3
