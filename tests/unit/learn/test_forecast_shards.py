"""Forecasts with shards: where the work is done, how long it takes, and what each process needs of memory."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from cofit.errors import InvalidInputError
from cofit.learn.counted import Counted
from cofit.learn.division import DELEGATION_BYTES
from cofit.learn.facts import training_facts
from cofit.learn.forecast import Forecast, forecast
from cofit.learn.memory_check import check_head_memory, check_memory, check_plan_memory
from cofit.learn.plan import plan_training
from cofit.learn.reference_machine import Phase

ROWS, COLS = 60_000, 30


def cost_of(
    shards: int | None, rows: int = ROWS, cols: int = COLS, facts: dict[str, Any] | None = None, **at: Any
) -> Forecast:
    return forecast(plan_training(training_facts(rows, cols, shards=shards, **(facts or {}))), **at)


def known(phase: Phase | None) -> Phase:
    assert phase is not None
    return phase


def test_without_shards_there_is_nothing_of_them() -> None:
    cost = cost_of(None)
    assert (cost.heads, cost.shard, cost.head_memory, cost.shard_multiply_adds) == (None,) * 4
    assert "shards" not in cost.to_dict()
    assert all(phase == Counted(phase.head) for phase in cost.counted.phases.values())


def test_a_shard_does_its_part_of_the_work_and_the_heads_what_does_not_depend_on_rows() -> None:
    one, four = cost_of(1), cost_of(4)
    assert known(four.shard).bytes == pytest.approx(known(one.shard).bytes / 4, rel=0.02)
    assert four.shard_multiply_adds == pytest.approx((one.shard_multiply_adds or 0) / 4, rel=0.02)
    delegations = 3 * 3 * 2 * DELEGATION_BYTES  # of three shards more, from each of three heads to both others
    heads = replace(known(four.heads), bytes=known(four.heads).bytes - delegations, seconds=0)
    assert heads == replace(known(one.heads), seconds=0)
    assert known(cost_of(4, rows=2 * ROWS).heads).bytes == known(four.heads).bytes
    assert four.memory.matrix == one.memory.matrix // 4
    assert four.total.rounds <= one.total.rounds


def test_work_is_that_of_one_process_but_for_what_is_done_once_in_a_shard() -> None:
    alone, divided = (cost_of(count).counted.phases["train"] for count in (None, 5))
    whole = divided.head + divided.shards
    assert whole.multiply_adds == pytest.approx(alone.head.multiply_adds, rel=1e-4)
    assert whole.bytes == pytest.approx(alone.head.bytes, rel=0.01)
    assert divided.rounds <= alone.rounds


def test_thousands_of_shards_are_counted_in_seconds() -> None:
    start = time.perf_counter()
    few, many = (cost_of(count, rows=10**8, cols=1000, workers=count, cores=4) for count in (100, 4000))
    assert time.perf_counter() - start < 60
    assert known(many.shard).bytes < known(few.shard).bytes / 39
    assert many.total.bytes > few.total.bytes, "every session has its own setup"


def test_seconds_of_workers_are_those_of_the_heads_and_of_the_shards_of_one() -> None:
    places: dict[str, Any] = {"latency": 0.001, "line": 1e8, "cores": 4}
    by_workers = {workers: cost_of(8, workers=workers, **places) for workers in (2, 4, 8)}
    train = {workers: cost.train.seconds for workers, cost in by_workers.items()}
    assert train[2] - train[4] == pytest.approx(2 * (train[4] - train[8]))
    assert known(by_workers[8].heads) == known(by_workers[2].heads)
    assert cost_of(8, workers=3, **places).train.seconds == pytest.approx(train[8] + 2 * (train[4] - train[8]))
    slower = by_workers[8].at(0.101)
    assert slower.train.seconds - train[8] == pytest.approx(0.1 * by_workers[8].train.rounds)
    assert slower.at(0.001) == by_workers[8]
    assert by_workers[8].at(0.001, 1e7).train.seconds > train[8]


def test_on_one_machine_all_shards_share_the_cores() -> None:
    alone, divided = (cost_of(count, rows=10**6, bandwidth=1e12) for count in (None, 8))
    assert alone.train.seconds < divided.train.seconds < 1.5 * alone.train.seconds, "eight sessions have more rounds"
    assert divided.total.seconds > 2 * known(divided.shard).seconds
    assert cost_of(8, rows=10**6, processors=16, bandwidth=1e12).train.seconds < divided.train.seconds / 4


@pytest.mark.parametrize(("shards", "places"), [(None, {"workers": 2}), (2, {"workers": 0}), (2, {"cores": 1.5})])
def test_places_that_there_are_not(shards: int | None, places: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=r"'(workers|cores)' parameter of forecast must be"):
        cost_of(shards, **places)


def test_an_owner_has_rows_for_every_shard() -> None:
    with pytest.raises(InvalidInputError, match="'shards' parameter of a forecast must be at most 33, the rows of"):
        cost_of(40, rows=100, owners=3)


def test_checkpoints_are_of_the_heads_with_the_verdicts_of_all_rows() -> None:
    plan = plan_training(training_facts(ROWS, COLS, shards=4))
    kept = replace(plan.state, due=frozenset({0, 3}))
    cost, without = forecast(plan, kept=kept), forecast(plan)
    found = cost.counted.phases["checkpoints"]
    assert without.checkpoints is None
    assert known(cost.checkpoints).bytes == found.head.bytes > 2 * ROWS * plan.formats.ring.element_bytes
    assert found.shards.bytes == 0, "shards check, and send nothing for it with rep3"
    assert replace(cost.total, seconds=0) == replace(without.total + known(cost.checkpoints), seconds=0), (
        "and nothing else is sent for them"
    )


# --- memory ----------------------------------------------------------------------------------------------


def test_memory_is_that_of_a_shard_and_of_a_head() -> None:
    alone, divided = cost_of(None, rows=10**6), cost_of(10, rows=10**6)
    head = divided.head_memory
    assert head is not None
    assert head.matrix == 0
    element, parts = 8, 2
    assert head.held >= 2 * parts * 10**6 * element, "the verdicts of all shards, and all of them together"
    assert head.held == pytest.approx(cost_of(100, rows=10**6).head_memory.held, rel=0.02)  # type: ignore[union-attr]
    assert divided.memory.matrix == alone.memory.matrix // 10
    assert divided.memory.working == alone.memory.working // 10
    assert divided.memory.held < alone.memory.held
    assert divided.to_dict()["shards"]["head_memory"] == head.to_dict()


def test_too_little_memory_for_a_shard_is_refused_with_the_advice_to_have_more() -> None:
    plan = plan_training(training_facts(10**6, 100, shards=2, memory="330 MB"))
    with pytest.raises(
        InvalidInputError, match=r"each of the 2 shards of a party needs that .*; more shards have fewer"
    ):
        check_plan_memory(plan, forecast, "memory", "a plan")
    more = plan_training(replace(plan.facts, shards=20))
    assert check_plan_memory(more, forecast, "memory", "a plan") == forecast(more).memory
    with pytest.raises(
        InvalidInputError, match=r"'--memory' .*each of the 2 shards.*smaller compute\.memory.*more shards"
    ):
        check_memory(10**8, forecast(plan).memory, forecast(plan).spec, "--memory", "a party", shards=2)


def test_too_little_memory_for_a_head_is_refused_whatever_the_shards() -> None:
    plan = plan_training(training_facts(10**7, 100, shards=1000, memory="300 MB"))
    with pytest.raises(
        InvalidInputError, match=r"must be at least .*: the head of a party .*more shards do not"
    ) as caught:
        check_plan_memory(plan, forecast, "memory", "a plan")
    least = str(caught.value).split("at least ")[1].split(":")[0]
    enough = plan_training(training_facts(10**7, 100, shards=1000, memory=least))
    check_plan_memory(enough, forecast, "memory", "a plan")
    check_head_memory(1, None, "memory", "a plan")
