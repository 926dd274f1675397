"""Shards that are threads: one thing after the other in each, errors and ends of sessions while somebody waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cofit.errors import TransportError
from cofit.roles.shards.threads import ThreadShards


def party(name: str) -> Any:
    return SimpleNamespace(name=name, _scheme=SimpleNamespace(_label="nothing"), _shards=None)


@pytest.fixture
def shards() -> Iterator[ThreadShards]:
    made = ThreadShards(party("head"), [party("0"), party("1"), party("2")])
    yield made
    made.close()


def label_of(place: Any) -> Any:
    return place.name, place._scheme._label, threading.current_thread().name


def test_every_shard_computes_in_its_thread_under_the_label_of_the_head(shards: ThreadShards) -> None:
    shards.head._scheme._label = "train"
    found = shards.brought(shards.each(label_of, (shards.parties,)))
    assert [(name, label) for name, label, _ in found] == [("0", "train"), ("1", "train"), ("2", "train")]
    assert len({thread for *_, thread in found}) == 3
    assert shards.head._shards is shards


def test_steps_are_taken_in_order_and_nobody_waits_for_them(shards: ThreadShards) -> None:
    gate = threading.Event()
    first = shards.each(lambda place: gate.wait(5) and place.name, (shards.parties,))
    second = shards.each(lambda value, more: value + more, (first, "!"))
    gate.set()
    assert shards.brought(second) == ["0!", "1!", "2!"]


def test_an_error_of_one_shard_is_raised_while_others_compute(shards: ThreadShards) -> None:
    gate = threading.Event()

    def work(place: Any) -> None:
        if place.name == "1":
            raise TransportError("party-b", "is gone")
        gate.wait(20)

    begun = time.monotonic()
    with pytest.raises(TransportError, match="is gone"):
        shards.brought(shards.each(work, (shards.parties,)))
    assert time.monotonic() - begun < 5
    gate.set()


def test_what_follows_an_error_fails_too(shards: ThreadShards) -> None:
    def fails(place: Any) -> None:
        raise TransportError(place.name, "is gone")

    broken = shards.each(fails, (shards.parties,))
    with pytest.raises(TransportError):
        shards.brought(shards.each(lambda value: 1, (broken,)))


def test_whoever_waits_sees_that_the_session_has_ended() -> None:
    gate = threading.Event()

    def check() -> None:
        raise TransportError("party-b", "has left")

    shards = ThreadShards(party("head"), [party("0")], check)
    with pytest.raises(TransportError, match="has left"):
        shards.brought(shards.each(lambda place: gate.wait(20), (shards.parties,)))
    gate.set()
    shards.close()
    with pytest.raises(RuntimeError):
        shards.each(lambda place: 1, (shards.parties,))
