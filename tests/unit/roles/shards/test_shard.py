"""One shard as its head sees it: answers of all shards or none, who is lost, and that a failed check is noted first."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, cast

import pytest

from cofit.errors import StateError, TransportError
from cofit.roles.shards import shard as shard_module
from cofit.roles.shards.cluster import Cluster
from cofit.roles.shards.shard import Shard, results

NEVER = 60.0

# --- answers of all shards -------------------------------------------------------------------------------------------


def told(value: Any = None, error: Exception | None = None, after: float = 0.0) -> Future[Any]:
    """An answer that comes after so many seconds."""
    future: Future[Any] = Future()

    def come() -> None:
        future.set_result(value) if error is None else future.set_exception(error)

    if not after:
        come()
    elif after < NEVER:
        threading.Timer(after, come).start()
    return future


class Place:
    """A shard, as far as somebody waits for it."""

    def __init__(self, number: int, lost: bool = False) -> None:
        self.number, self.lost = number, lost

    def lost_error(self) -> TransportError:
        return TransportError(f"worker of shard {self.number}", "is lost")


def asked(
    answers: list[Future[Any]], lost: tuple[int, ...] = (), check: Callable[[], None] = lambda: None
) -> list[Any]:
    places = [Place(k, k in lost) for k in range(len(answers))]
    return results(answers, cast("Any", places), check)


def test_answers_come_in_the_order_of_the_shards() -> None:
    assert asked([told("a", after=0.3), told("b"), told("c", after=0.1)]) == ["a", "b", "c"]
    assert asked([]) == []


def test_a_shard_that_is_lost_is_an_error_while_the_others_compute() -> None:
    with pytest.raises(TransportError) as caught:
        asked([told(after=NEVER), told(after=NEVER)], lost=(1,))
    assert caught.value.peer == "worker of shard 1"
    with pytest.raises(TransportError):
        asked([told(after=NEVER), told(error=OSError("gone"), after=0.1)])


def test_no_sum_of_fewer_shards() -> None:
    """However one shard is lost, no list of the others' answers comes back."""
    for kind in ({"error": OSError()}, {"error": StateError("a new one")}, {"after": NEVER}):
        for place in range(3):
            answers = [told(k) for k in range(3)]
            answers[place] = told(**cast("Any", kind))
            with pytest.raises((TransportError, StateError)):
                asked(answers, lost=(place,))


def test_what_a_shard_raises_is_raised() -> None:
    with pytest.raises(StateError, match="a new one"):
        asked([told(after=NEVER), told(error=StateError("a new one"))])


def test_whoever_waits_sees_that_the_session_has_ended() -> None:
    begun = time.monotonic()

    def check() -> None:
        if time.monotonic() - begun > 0.5:
            raise TransportError("party-b", "has left")

    with pytest.raises(TransportError, match="has left"):
        asked([told(after=NEVER)], check=check)
    assert time.monotonic() - begun < 5


# --- one shard -------------------------------------------------------------------------------------------------------


def soon(value: Any = None, error: Exception | None = None, after: float = 0.0) -> Awaitable[Any]:
    async def answer() -> Any:
        await asyncio.sleep(after)
        if error is not None:
            raise error
        return value

    return answer()


class Actor:
    """A shard's object, of which only ``watch`` and ``noted`` are asked."""

    def __init__(self, answer: Callable[[], Awaitable[Any]]) -> None:
        self.answer, self.noted_at = answer, threading.Event()
        self.seconds: list[float] = []

    def watch(self, seconds: float) -> Awaitable[Any]:
        self.seconds.append(seconds)
        return self.answer()

    def noted(self) -> Awaitable[Any]:
        self.noted_at.set()
        return soon()


class Loop:
    """Where Dask's answers come: a thread for each."""

    def add_callback(self, callback: Callable[[], Any]) -> None:
        threading.Thread(target=lambda: asyncio.run(callback()), daemon=True).start()


class Client:
    loop = Loop()

    def as_current(self) -> Any:
        return contextlib.nullcontext()


def shard_of(answer: Callable[[], Awaitable[Any]], status: str = "finished") -> tuple[Shard, Actor]:
    actor = Actor(answer)
    future = type("Future", (), {"status": status})()
    return Shard(0, cast("Any", Client()), future, actor), actor


def ignored() -> None:
    """Nobody waits for the answer."""


def test_a_shard_that_does_not_answer_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_module, "LEASE_SECONDS", 0.4)
    silent, _ = shard_of(lambda: soon(after=NEVER))
    lively, _ = shard_of(lambda: soon(False))
    until = time.monotonic() + 0.8
    while time.monotonic() < until:
        assert not silent.watch(ignored) and not lively.watch(ignored)
        time.sleep(0.01)
    assert silent.lost and not lively.lost
    assert shard_of(lambda: soon(False), "lost")[0].lost


def test_a_worker_that_says_that_it_has_left_is_lost_at_once() -> None:
    """It has lost its head for a while, and has dropped the rows: it must not be asked again."""
    shard, _ = shard_of(lambda: soon(error=StateError("This shard has left.")))
    heard = threading.Event()
    shard.watch(heard.set)
    assert heard.wait(5), "nobody has to ask whether there is an answer"
    shard.watch(ignored)
    assert shard.lost


@pytest.mark.parametrize("error", [OSError("gone"), StateError("a new one")])
def test_who_does_not_answer_is_lost_though_dask_does_not_know_it_yet(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_module, "_KNOWN_SECONDS", 0.3)
    for answer, alive in ((lambda: soon(False), True), (lambda: soon(True), True), (lambda: soon(error=error), False)):
        shard, _ = shard_of(cast("Any", answer))
        assert shard.answers(shard.ask("watch", 0.0), time.monotonic() + 5) is alive


def test_a_place_is_given_again_when_dask_knows_that_its_worker_is_lost() -> None:
    """Before that Dask would wait for the lost worker."""
    shard, _ = shard_of(lambda: soon(error=OSError("gone")))
    threading.Timer(0.5, lambda: setattr(shard._future, "status", "lost")).start()
    begun = time.monotonic()
    assert not shard.answers(shard.ask("watch", 0.0), begun + NEVER)
    assert 0.4 < time.monotonic() - begun < shard_module._KNOWN_SECONDS


def test_nobody_waits_for_ever_for_who_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_module, "_KNOWN_SECONDS", 0.1)
    shard, _ = shard_of(lambda: soon(after=NEVER))
    begun = time.monotonic()
    assert not shard.answers(shard.ask("watch", 0.0), begun + 0.5)
    monkeypatch.setattr(shard_module, "LEASE_SECONDS", 0.0)
    assert not shard.answers(shard.ask("watch", 0.0), begun + NEVER)
    assert time.monotonic() - begun < 5


# --- failed checks ---------------------------------------------------------------------------------------------------


def test_a_failed_check_is_noted_before_the_shard_hears_of_it(tmp_path: Path) -> None:
    cluster = Cluster(None, 1, tmp_path)
    shard, actor = shard_of(lambda: soon(True))
    order: list[str] = []

    def failed() -> None:
        assert not actor.noted_at.is_set() or order
        time.sleep(0.2)
        assert not actor.noted_at.is_set() or len(order) > 0
        order.append("noted by the head")

    cluster.on_failure = failed
    cluster._shards = {0: shard}
    watching = threading.Thread(target=cluster._watch, daemon=True)
    watching.start()
    assert actor.noted_at.wait(5)
    assert order, "the head has noted it first"
    cluster.close()
    watching.join(5)
    assert not watching.is_alive()


def test_what_cannot_be_noted_is_not_said_to_be(tmp_path: Path) -> None:
    """A head that cannot note a failed check goes on to watch, and says nothing."""
    cluster = Cluster(None, 1, tmp_path)
    shard, actor = shard_of(lambda: soon(True))
    tries: list[int] = []

    def failed() -> None:
        tries.append(1)
        raise StateError("the disk is full")

    cluster.on_failure = failed
    cluster._shards = {0: shard}
    watching = threading.Thread(target=cluster._watch, daemon=True)
    watching.start()
    until = time.monotonic() + 5
    while len(tries) < 3 and time.monotonic() < until:
        time.sleep(0.02)
    assert len(tries) >= 3 and not actor.noted_at.is_set() and watching.is_alive()
    cluster.close()
    watching.join(5)
    assert not watching.is_alive()
