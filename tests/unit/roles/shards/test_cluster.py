"""Addresses of a party's cluster: shares go only where the connection is authenticated, or stays on this machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from cofit.errors import InvalidInputError, StateError, TransportError
from cofit.roles.shards import cluster as cluster_module
from cofit.roles.shards.cluster import Cluster, Shard, check_address, check_workers, results


@pytest.mark.parametrize(
    "address",
    [
        "tls://scheduler:8786",
        "tls://10.0.0.3:8786",
        "tls://[2001:db8::1]:8786",
        "tcp://127.0.0.1:8786",
        "tcp://127.4.5.6:8786",
        "tcp://localhost:8786",
        "tcp://[::1]:8786",
    ],
)
def test_addresses_that_are_taken(address: str) -> None:
    assert check_address(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "tcp://10.0.0.3:8786",
        "tcp://scheduler:8786",
        "tcp://0.0.0.0:8786",
        "tcp://[::]:8786",
        "tcp://[2001:db8::1]:8786",
        "tcp://127.0.0.1.example.org:8786",
        "tcp://localhost.example.org:8786",
        "tcp://:8786",
        "tcp://evil:1://127.0.0.1:8786",
    ],
)
def test_other_machines_are_reached_by_tls_alone(address: str) -> None:
    with pytest.raises(InvalidInputError, match="'--cluster' parameter of a party must be"):
        check_address(address)
    with pytest.raises(InvalidInputError):
        Cluster(address, None, Path("unused"))


@pytest.mark.parametrize(
    "address",
    [
        "",
        "scheduler:8786",
        "127.0.0.1:8786",
        "http://127.0.0.1:8786",
        "inproc://127.0.0.1:1",
        "ucx://127.0.0.1:8786",
        "ws://127.0.0.1:8786",
        "TCP://127.0.0.1:8786",
        "tls://scheduler",
        "tls://scheduler:",
        "tls://scheduler:port",
        "tls://:8786",
        "tls://scheduler:0",
        "tls://scheduler:65536",
        "tls://scheduler:\u0663",
        "tls://scheduler:\u00b2",
    ],
)
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(InvalidInputError, match=r"an address such as tls://scheduler:8786\. Got"):
        check_address(address)


def test_numbers_of_workers() -> None:
    assert check_workers(1) == 1 and check_workers(1024) == 1024
    for wrong in (0, -1, 1025):
        with pytest.raises(InvalidInputError, match="'--workers' parameter of a party must be an integer from 1 to"):
            check_workers(wrong)


# --- answers of shards -----------------------------------------------------------------------------------------


class Answer:
    """A future of Dask's."""

    def __init__(self, value: Any = None, error: Exception | None = None, after: float = 0.0) -> None:
        self._value, self._error, self._at = value, error, time.monotonic() + after

    def done(self) -> bool:
        return time.monotonic() >= self._at

    def result(self, timeout: float | None = None) -> Any:
        left = max(0.0, self._at - time.monotonic())
        if timeout is not None and left > timeout:
            time.sleep(timeout)
            raise TimeoutError
        time.sleep(left)
        if self._error is not None:
            raise self._error
        return self._value


class Place:
    """A shard, as far as somebody waits for it."""

    def __init__(self, number: int, lost: bool = False) -> None:
        self.number, self.lost = number, lost

    def lost_error(self) -> TransportError:
        return TransportError(f"worker of shard {self.number}", "is lost")


def asked(answers: list[Answer], lost: tuple[int, ...] = (), check: Callable[[], None] = lambda: None) -> list[Any]:
    places = [Place(k, k in lost) for k in range(len(answers))]
    return results(cast("Any", answers), cast("Any", places), check)


def test_answers_come_in_the_order_of_the_shards() -> None:
    assert asked([Answer("a", after=0.3), Answer("b"), Answer("c", after=0.1)]) == ["a", "b", "c"]
    assert asked([]) == []


def test_a_shard_that_is_lost_is_an_error_while_the_others_compute() -> None:
    with pytest.raises(TransportError) as caught:
        asked([Answer(after=60), Answer(after=60)], lost=(1,))
    assert caught.value.peer == "worker of shard 1"
    with pytest.raises(TransportError):
        asked([Answer(after=60), Answer(error=OSError("gone"))])


def test_no_sum_of_fewer_shards() -> None:
    """However one shard is lost, no list of the others' answers comes back."""
    for bad in (Answer(error=OSError()), Answer(error=StateError("a new one")), Answer(after=60)):
        for place in range(3):
            answers = [Answer(k) for k in range(3)]
            answers[place] = bad
            with pytest.raises((TransportError, StateError)):
                asked(answers, lost=(place,))


def test_what_a_shard_raises_is_raised() -> None:
    with pytest.raises(StateError, match="a new one"):
        asked([Answer(after=60), Answer(error=StateError("a new one"))])


def test_whoever_waits_sees_that_the_session_has_ended() -> None:
    begun = time.monotonic()

    def check() -> None:
        if time.monotonic() - begun > 0.5:
            raise TransportError("party-b", "has left")

    with pytest.raises(TransportError, match="has left"):
        asked([Answer(after=60)], check=check)
    assert time.monotonic() - begun < 5


# --- watching ------------------------------------------------------------------------------------------------


class Actor:
    """A shard's object, of which only ``watch`` and ``noted`` are asked."""

    def __init__(self, answer: Callable[[], Answer]) -> None:
        self.answer, self.noted_at = answer, threading.Event()
        self.seconds: list[float] = []

    def watch(self, seconds: float) -> Answer:
        self.seconds.append(seconds)
        return self.answer()

    def noted(self) -> Answer:
        self.noted_at.set()
        return Answer()


class Client:
    status = "running"

    def as_current(self) -> Any:
        return threading.Lock()

    def close(self, timeout: float) -> None:
        del timeout


def shard_of(answer: Callable[[], Answer], status: str = "finished") -> tuple[Shard, Actor]:
    actor = Actor(answer)
    future = type("Future", (), {"status": status})()
    return Shard(0, cast("Any", Client()), future, actor), actor


def test_a_shard_that_does_not_answer_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "LEASE_SECONDS", 0.2)
    silent, _ = shard_of(lambda: Answer(after=60))
    lively, _ = shard_of(lambda: Answer(False))
    until = time.monotonic() + 0.4
    while time.monotonic() < until:
        assert not silent.watch() and not lively.watch()
    assert silent.lost and not lively.lost
    assert shard_of(lambda: Answer(False), "lost")[0].lost


def test_a_worker_that_says_that_it_has_left_is_lost_at_once() -> None:
    """It has lost its head for a while, and has dropped the rows: it must not be asked again."""
    shard, _ = shard_of(lambda: Answer(error=StateError("This shard has left.")))
    shard.watch()
    shard.watch()
    assert shard.lost


def test_a_failed_check_is_noted_before_the_shard_hears_of_it(tmp_path: Path) -> None:
    cluster = Cluster(None, 1, tmp_path)
    shard, actor = shard_of(lambda: Answer(True))
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
    cluster._closed.set()
    watching.join(5)


def test_what_cannot_be_noted_is_not_said_to_be(tmp_path: Path) -> None:
    """A head that cannot note a failed check goes on to watch, and says nothing."""
    cluster = Cluster(None, 1, tmp_path)
    shard, actor = shard_of(lambda: Answer(True))
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
    cluster._closed.set()
    watching.join(5)


class Emptied(Client):
    """A cluster whose workers do not come back."""

    closed = False

    def wait_for_workers(self, count: int, timeout: float) -> None:
        del count, timeout
        raise TimeoutError("only 0/1 workers arrived")

    def close(self, timeout: float) -> None:
        del timeout
        self.closed = True


def test_workers_of_this_machine_that_do_not_come_back_are_started_anew(tmp_path: Path) -> None:
    cluster, client, local = Cluster(None, 1, tmp_path), Emptied(), Emptied()
    cluster._client, cluster._local = cast("Any", client), local
    with pytest.raises(TransportError, match="has no workers"):
        cluster.shards("ab" * 32, "party-a", 2, 0.1)
    assert client.closed and local.closed and cluster._client is None and cluster._local is None


def test_a_cluster_elsewhere_is_asked_again(tmp_path: Path) -> None:
    cluster, client = Cluster("tcp://127.0.0.1:8786", None, tmp_path), Emptied()
    cluster._client = cast("Any", client)
    with pytest.raises(TransportError, match="has no workers"):
        cluster.shards("ab" * 32, "party-a", 2, 0.1)
    assert not client.closed and cluster._client is cast("Any", client)
