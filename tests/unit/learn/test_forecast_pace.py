"""Forecasts for machines of another pace than the reference machine: the same counts, and seconds that follow it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cofit.learn.facts import training_facts
from cofit.learn.forecast import Forecast, forecast
from cofit.learn.plan import plan_training
from cofit.learn.reference_machine import REFERENCE, Machines, Pace
from cofit.sharing.tally import Tally

ROWS, COLS = 60_000, 30


def cost_of(pace: Pace = REFERENCE, shards: int | None = None, **at: Any) -> Forecast:
    return forecast(plan_training(training_facts(ROWS, COLS, shards=shards)), pace=pace, **at)


def test_the_reference_machine_is_what_everybody_plans_with() -> None:
    usual, told = cost_of(), cost_of(Pace(1.0, 1.0, 1.0, 0.0))
    assert usual == told and usual.to_dict() == told.to_dict()
    assert "pace" not in usual.to_dict()["assumed"]


def test_another_machine_has_the_same_rounds_and_bytes() -> None:
    usual, quick = cost_of(), cost_of(Pace(0.5, 0.5, 0.5))
    for name, phase in usual.phases.items():
        other = quick.phases[name]
        assert (other.rounds, other.bytes) == (phase.rounds, phase.bytes)
        assert other.seconds <= phase.seconds
    assert quick.to_dict()["assumed"]["pace"] == {"kernels": 0.5, "bytes": 0.5, "steps": 0.5, "placed": 0.0}


@pytest.mark.parametrize(
    ("part", "tally"),
    [
        ("kernels", Tally(multiply_adds=10**9)),
        ("kernels", Tally(wide_multiply_adds=10**9)),
        ("kernels", Tally(transforms=10**5)),
        ("kernels", Tally(transfers=10**8)),
        ("bytes", Tally(bytes=10**9)),
        ("steps", Tally(rounds=1000)),
        ("steps", Tally(operations=10**5)),
    ],
)
def test_each_part_follows_its_own_pace(part: str, tally: Tally) -> None:
    machines = Machines(parties=3, latency=0.0, bandwidth=float("inf"), processors=2, processes=3)
    usual = machines.seconds(tally)
    assert usual > 0
    for other in ("kernels", "bytes", "steps"):
        slow = replace(machines, pace=replace(REFERENCE, **{other: 3.0})).seconds(tally)
        assert slow == pytest.approx(3 * usual if other == part else usual)


def test_lines_and_latencies_are_those_of_the_network() -> None:
    """A quick machine has no quicker network."""
    machines = Machines(parties=3, latency=0.1, bandwidth=1e6, processors=2, processes=3, pace=Pace(1e-9, 1e-9, 1e-9))
    assert machines.seconds(Tally(rounds=50, bytes=10**6)) == pytest.approx(50 * 0.1 + 1)


def test_shares_of_the_data_are_written_once_at_each_party() -> None:
    usual, told = cost_of(), cost_of(Pace(placed=1e-6))
    written = 3 * usual.memory.matrix * 1e-6 / 2
    assert told.share.seconds - usual.share.seconds == pytest.approx(written)
    assert told.total.seconds - usual.total.seconds == pytest.approx(written)
    assert told.train == usual.train and told.check == usual.check


@pytest.mark.parametrize("at", [{}, {"workers": 2}, {"workers": 4}])
def test_shards_write_theirs(at: dict[str, int]) -> None:
    usual, told = (cost_of(pace, shards=4, **at) for pace in (REFERENCE, Pace(placed=1e-6)))
    each = usual.memory.matrix * 1e-6
    one_machine, workers = 3 * 4 * each / 2, 4 // at.get("workers", 4) * each
    expected = workers if at else one_machine
    assert told.share.seconds - usual.share.seconds == pytest.approx(expected)
