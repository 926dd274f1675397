"""What a party needs of memory: counted, refused where it is too little, and decisive for batches alone."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from cofit.arithmetic import Z64
from cofit.errors import InvalidInputError
from cofit.learn.batches import batch_bytes
from cofit.learn.facts import training_facts
from cofit.learn.forecast import forecast
from cofit.learn.memory import Memory
from cofit.learn.memory_check import check_memory, check_plan_memory
from cofit.learn.plan import plan_training
from cofit.sharing import scheme_named
from cofit.sharing.live import Live

MANY = 1_000_000, 100


def test_arrays_count_as_long_as_anybody_has_them_or_a_view() -> None:
    live = Live()
    first = live.array(Z64, (10, 3))
    view = first.reshape(-1)[5:]
    assert (live.now, live.peak) == (240, 240)
    del first
    assert live.now == 240, "a view keeps what it is a view of"
    second = live.array(Z64, (2,))
    del view
    assert (live.now, live.peak) == (16, 256)
    assert not second.any()
    with pytest.raises(ValueError, match="read-only"):
        second[0] = 1


def test_what_is_made_in_pieces_does_not_count() -> None:
    live = Live()
    with live.paused():
        apart = live.array(Z64, (100,))
    assert (live.now, live.peak, len(apart)) == (0, 0, 100)
    del apart
    assert live.now == 0
    square = training_facts(20_000, 20_000, feature_bound=1.0, feature_lower=0.0)
    memory = forecast(plan_training(square)).memory
    assert memory.held < memory.matrix // 10, "no second matrix, whatever is checked"


def test_the_shares_of_the_data_are_in_memory_or_on_disk() -> None:
    planned = forecast(plan_training(training_facts(*MANY, memory="1 GB")))
    memory = planned.memory
    assert memory.matrix == 2 * 8 * np.prod(MANY)
    assert memory.exceeds(10**9)
    assert not memory.exceeds(None)
    assert not memory.exceeds(memory.in_memory)
    assert memory.on_disk < 10**9 < memory.matrix < memory.in_memory
    assert planned.to_dict()["memory"]["on_disk"] == memory.on_disk


def test_less_memory_means_more_rounds_and_hardly_more_bytes() -> None:
    free, bounded = (forecast(plan_training(training_facts(*MANY, memory=m))) for m in (None, "1 GB"))
    assert bounded.total.rounds > free.total.rounds
    assert bounded.total.bytes == pytest.approx(free.total.bytes, rel=1e-4), "but for the sums of every batch"
    assert bounded.memory.held < free.memory.held
    assert batch_bytes(None) is None


def test_a_limit_that_changes_no_batch_changes_nothing_but_the_hash() -> None:
    plain, bounded = (plan_training(training_facts(2000, 10, memory=m)) for m in (None, "1 TB"))
    assert forecast(plain) == forecast(bounded)
    assert plain.hash != bounded.hash, "parties that were told different limits must not meet"
    assert plain.hash == plan_training(training_facts(2000, 10)).hash


@pytest.mark.parametrize("scheme", ["rep3", "rep4", "shamir"])
def test_what_is_refused_is_named_with_what_is_enough(scheme: str) -> None:
    plan = plan_training(training_facts(*MANY, scheme=scheme, memory="200 MB"))
    with pytest.raises(InvalidInputError, match=r"The 'memory' parameter of a plan must be at least ") as caught:
        check_plan_memory(plan, forecast, "memory", "a plan")
    assert str(caught.value).endswith("even with the shares of the data on its disk. Got '200 MB' instead.")
    least = str(caught.value).split("at least ")[1].split(":")[0]
    enough = plan_training(training_facts(*MANY, scheme=scheme, memory=least))
    memory = check_plan_memory(enough, forecast, "memory", "a plan")
    assert memory.on_disk <= (enough.facts.memory or 0)


@pytest.mark.parametrize("scheme", ["semi2k", "repn", "pair"])
def test_schemes_that_need_the_data_in_memory_say_so(scheme: str) -> None:
    kind = scheme_named(scheme)
    spec, memory = kind.info.spec(), Memory(100, 1000, 50, 10)
    assert memory.least(spec) == 1160
    check_memory(1160, memory, spec, "memory", "a plan")
    with pytest.raises(
        InvalidInputError, match=f"scheme '{scheme}' the shares of the data must be in memory"
    ) as caught:
        check_memory(1159, memory, spec, "memory", "a plan")
    assert kind.in_memory is not None
    assert kind.in_memory in str(caught.value)
    assert "rep3, rep4, shamir can have them on disk" in str(caught.value)


def test_a_party_with_less_than_its_study_needs_is_told_the_remedy() -> None:
    planned = forecast(plan_training(training_facts(*MANY)))
    with pytest.raises(InvalidInputError, match=r"'--memory' parameter of a party .*a smaller compute\.memory"):
        check_memory(10**8, planned.memory, planned.spec, "--memory", "a party")


@pytest.mark.parametrize("wrong", [0, -1, "1 apple", "", 1.5, True, "0 GB", "-1 GB"])
def test_sizes_that_are_none(wrong: object) -> None:
    with pytest.raises(InvalidInputError, match=r"The 'memory' parameter of a plan must be a size above 0"):
        training_facts(100, 10, memory=wrong)


def test_several_classes_need_more() -> None:
    two, five = (forecast(plan_training(training_facts(100_000, 10, classes=k))).memory for k in (2, 5))
    assert five.held > 2 * two.held
    assert five.working == 5 * two.working


def test_what_is_held_is_what_the_steps_say() -> None:
    plan = plan_training(training_facts(50_000, 4))
    cost = partial(forecast, owners=3)
    assert cost(plan).memory == forecast(plan).memory, "how many owners there are does not matter"
    twice = plan_training(replace(plan.facts, rows=100_000))
    assert forecast(twice).memory.matrix == 2 * forecast(plan).memory.matrix
