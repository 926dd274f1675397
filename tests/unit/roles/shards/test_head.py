"""The head of a party with shards: what it tells workers, in which order, and what it lets them keep."""

from __future__ import annotations

import gc
from concurrent.futures import Future
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cofit.arithmetic import Z64, FixedPoint
from cofit.errors import StateError, TransportError
from cofit.roles.shards.head import ClusterShards
from cofit.roles.shards.session import HERE, Drop, Ref, Step
from cofit.secret import SecretArray
from cofit.secret.shards import Shared
from cofit.sharing import Share


def answer(value: Any) -> Future[Any]:
    told: Future[Any] = Future()
    told.set_exception(value) if isinstance(value, Exception) else told.set_result(value)
    return told


class Worker:
    """Takes steps as ``ShardSession.run`` does, and notes them."""

    lost = False

    def __init__(self, number: int) -> None:
        self.number = number
        self.kept: dict[int, Any] = {HERE: f"party at {number}"}
        self.taken: list[Any] = []
        self.messages = 0
        self.fails: Exception | None = None

    def ask(self, method: str, steps: list[Any], wanted: int) -> Future[Any]:
        assert method == "run"
        self.messages += 1
        if self.fails is not None:
            return answer(self.fails)
        for step in steps:
            self.taken.append(step)
            if isinstance(step, Drop):
                del self.kept[step.number]
            else:
                given = [self.kept[one.number] if isinstance(one, Ref) else one for one in step.arguments]
                self.kept[step.number] = step.do(*given)
        return answer(self.kept[wanted])

    def lost_error(self) -> TransportError:
        return TransportError(f"worker {self.number}", "is lost")


def both(first: Any, second: Any) -> str:
    return f"({first} {second})"


@pytest.fixture
def workers() -> list[Worker]:
    return [Worker(0), Worker(1)]


@pytest.fixture
def head(workers: list[Worker]) -> ClusterShards:
    party: Any = SimpleNamespace(_scheme=SimpleNamespace(_label="train/"), _shards=None)
    return ClusterShards(party, cast("Any", workers), lambda: None)


def test_steps_go_in_order_with_the_next_thing_that_is_wanted(head: ClusterShards, workers: list[Worker]) -> None:
    first = head.each(both, (head.parties, "a"))
    second = head.each(both, (first, first))
    assert all(worker.messages == 0 for worker in workers)
    assert head.brought(second) == [f"((party at {k} a) (party at {k} a))" for k in (0, 1)]
    assert head.brought(first) == [f"(party at {k} a)" for k in (0, 1)]
    for worker in workers:
        assert worker.messages == 2
        numbers = [step.number for step in worker.taken if isinstance(step, Step)]
        assert numbers == sorted(set(numbers)) and HERE not in numbers, "no number is used twice"
        assert {step.label for step in worker.taken if isinstance(step, Step)} == {"train/"}


def test_what_the_head_needs_no_more_is_dropped_after_its_last_use(head: ClusterShards, workers: list[Worker]) -> None:
    first = head.each(both, (head.parties, "a"))
    second = head.each(both, (first, "b"))
    del first
    gc.collect()
    assert head.brought(second)
    for worker in workers:
        assert set(worker.kept) == {HERE, second.pieces[0]}
        assert [type(step) for step in worker.taken] == [Step, Step, Drop]
    number = second.pieces[0]
    del second
    gc.collect()
    third = head.each(both, (head.parties, "c"))
    assert head.brought(third)
    for worker in workers:
        assert number not in worker.kept and third.pieces[0] > number


def test_every_shard_gets_its_own_piece_and_the_same_of_what_is_whole(
    head: ClusterShards, workers: list[Worker]
) -> None:
    scheme: Any = head.head._scheme
    values = [SecretArray(scheme, Share(Z64, (Z64.from_int([k]),)), FixedPoint(0, Z64), 9) for k in range(3)]
    sent = head.sent(values[:2])
    found = head.brought(sent)
    assert [one.share.parts[0].tolist() for one in found] == [[0], [1]]
    whole = head.brought(head.each(both, (head.parties, values[2])))
    assert len(whole) == 2
    for worker in workers:
        (step,) = (s for s in worker.taken if isinstance(s, Step) and s.do is both)
        assert step.arguments[0] == Ref(HERE) and isinstance(step.arguments[1], Shared)


@pytest.mark.parametrize("error", [OSError("gone"), StateError("a new one")])
@pytest.mark.parametrize("which", [0, 1])
def test_nothing_comes_back_where_a_shard_is_lost(
    head: ClusterShards, workers: list[Worker], error: Exception, which: int
) -> None:
    value = head.each(both, (head.parties, 1))
    workers[which].fails = error
    with pytest.raises((TransportError, StateError)):
        head.brought(value)


@dataclass(frozen=True)
class Fact:
    """Stands for a plan."""

    text: str


def test_public_facts_go_once(head: ClusterShards, workers: list[Worker]) -> None:
    first, second = Fact("first"), Fact("second")
    found = []
    for fact in (first, second, first, Fact("second"), second):
        found.append(head.brought(head.each(both, (fact, head.parties))))
    texts = ["first", "second", "first", "second", "second"]
    assert found == [[f"(Fact(text='{text}') party at {k})" for k in (0, 1)] for text in texts]
    for worker in workers:
        sent = [one for step in worker.taken if isinstance(step, Step) for one in step.arguments]
        facts = [one for one in sent if isinstance(one, Fact)]
        assert facts == [first, second, Fact("second")], "each object once"
        assert not any(
            isinstance(one, Fact)
            for step in worker.taken
            if isinstance(step, Step) and step.do is both
            for one in step.arguments
        )


def test_a_fact_that_is_gone_stands_for_no_other(head: ClusterShards) -> None:
    """Another object may get the address of one that is gone."""
    for k in range(50):
        assert head.brought(head.each(both, (Fact(str(k)), head.parties)))[0] == f"(Fact(text='{k}') party at 0)"
        gc.collect()
