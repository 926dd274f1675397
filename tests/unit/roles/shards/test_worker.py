"""A shard's object at a worker: a new one computes nothing, one that is not asked leaves, a failed check waits."""

from __future__ import annotations

import asyncio
import importlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cofit import __version__, kernels
from cofit.errors import InvalidInputError, StateError
from cofit.roles.shards import worker as worker_module
from cofit.roles.shards.stored_rows import Wanted, digest_of
from cofit.roles.shards.worker import ShardWorker, host_of, ports

OWN, LATE = b"own" * 5, b"late" * 4


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., ShardWorker]:
    """Makes shards, without Dask; they look for their lease all the time."""
    here = SimpleNamespace(
        local_directory=str(tmp_path),
        contact_address=None,
        address="tcp://127.0.0.1:1",
        state=SimpleNamespace(nthreads=1),
    )
    monkeypatch.setattr(importlib, "import_module", lambda name: SimpleNamespace(get_worker=lambda: here))
    monkeypatch.setattr(kernels, "set_threads", lambda number: None)
    monkeypatch.setattr(worker_module, "_LOOK_SECONDS", 0.01)

    def made(lease: float = 30.0) -> ShardWorker:
        monkeypatch.setattr(worker_module, "LEASE_SECONDS", lease)
        return ShardWorker("ab" * 32, "party-a", 0, __version__)

    return made


class Session:
    """A session that notes how it ends."""

    session = OWN

    def __init__(self) -> None:
        self.said: list[str] = []
        self.interrupted = threading.Event()

    def interrupt(self) -> None:
        self.said.append("interrupt")
        self.interrupted.set()

    def close(self, *, well: bool) -> None:
        self.said.append(f"close {well}")


def in_session(shard: ShardWorker) -> Session:
    session: Any = Session()
    shard._session = session
    return session  # type: ignore[no-any-return]


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_new_one_refuses_to_compute(make: Callable[..., ShardWorker]) -> None:
    """Dask makes an object anew where its worker was lost, and repeats the call that failed."""
    shard = make()
    for call in (shard.run(OWN, [], None), shard.run(OWN, [], 7), shard.join(OWN, []), shard.counts(OWN)):
        with pytest.raises(StateError, match="not in this session: it is a new one"):
            asyncio.run(call)
    assert asyncio.run(shard.missing({})) == []


def test_a_call_that_comes_late_is_refused_in_the_next_session(make: Callable[..., ShardWorker]) -> None:
    """Calls take connections of their own: one that was held up may arrive when another session has begun."""
    shard = make()
    session = in_session(shard)
    for call in (shard.run(LATE, [], None), shard.join(LATE, []), shard.counts(LATE)):
        with pytest.raises(StateError, match="not in this session"):
            asyncio.run(call)
    asyncio.run(shard.leave(LATE, False, True))
    assert session.said == []


def test_a_worker_with_another_release_of_cofit_takes_no_shard(make: Callable[..., ShardWorker]) -> None:
    make()
    with pytest.raises(InvalidInputError, match=r"0\.0\.1"):
        ShardWorker("ab" * 32, "party-a", 0, "0.0.1")


def test_one_that_is_not_asked_for_long_leaves_and_drops_the_rows(make: Callable[..., ShardWorker]) -> None:
    shard = make(lease=0.3)
    session = in_session(shard)
    content = b"rows"
    told = Wanted(4, digest_of(memoryview(content)))
    asyncio.run(shard.write("x", told, 0, content))
    assert bytes(shard._stored.content("x")) == content
    until(lambda: "close False" in session.said)
    assert session.said == ["interrupt", "close False"], "first whatever waits is ended, then its thread leaves"
    with pytest.raises(StateError, match="lacks a part"):
        shard._stored.content("x")
    late = shard.leave(OWN, False, False)
    for call in (shard.watch(0.0), shard.missing({}), shard.write("x", told, 0, content), late):
        with pytest.raises(StateError, match="was not asked for long"):
            asyncio.run(call)


def test_one_that_is_asked_stays(make: Callable[..., ShardWorker]) -> None:
    shard = make(lease=0.3)
    session = in_session(shard)
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        assert asyncio.run(shard.watch(0.05)) is False
    assert session.said == []


def test_a_failed_check_waits_until_the_head_has_noted_it(make: Callable[..., ShardWorker]) -> None:
    shard = make()
    session = in_session(shard)
    failing = threading.Thread(target=shard._fail)
    failing.start()
    assert asyncio.run(shard.watch(5.0)) is True, "at once"
    time.sleep(0.2)
    assert failing.is_alive(), "nobody has noted it"
    asyncio.run(shard.noted())
    failing.join(5)
    assert not failing.is_alive() and session.said == []


def test_who_watches_hears_of_a_failed_check_at_once(make: Callable[..., ShardWorker]) -> None:
    shard = make()
    failing = threading.Timer(0.3, shard._fail)

    async def both() -> list[bool]:
        return list(await asyncio.gather(shard.watch(30.0), shard.watch(30.0)))

    failing.start()
    begun = time.monotonic()
    assert asyncio.run(both()) == [True, True], "a head may ask twice at once"
    assert time.monotonic() - begun < 10, "and not when the time is over"
    asyncio.run(shard.noted())
    failing.join(5)
    assert not failing.is_alive()
    assert asyncio.run(shard.watch(0.0)) is False, "it is told once"


def test_what_no_head_has_noted_no_other_party_is_told(
    make: Callable[..., ShardWorker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "_NOTED_SECONDS", 0.2)
    shard = make()
    session = in_session(shard)
    shard._fail()
    assert session.said == ["interrupt"], "the lines end before anything is said on them"


def test_the_host_of_an_address() -> None:
    assert host_of("tls://10.0.0.3:41001") == "10.0.0.3"
    assert host_of("tls://[2001:db8::1]:41001") == "2001:db8::1"
    assert host_of("tcp://worker-3.example.org:1") == "worker-3.example.org"


@pytest.mark.parametrize(
    ("text", "found"), [("0", [0]), ("9100", [9100]), ("9100-9102", [9100, 9101, 9102]), ("65535-65535", [65535])]
)
def test_ports(text: str, found: list[int]) -> None:
    assert list(ports(text)) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "9100-",
        "x",
        "9100-x",
        "-9100",
        "9102-9100",
        "0-10",
        "65536",
        "1-65536",
        "1-2-3",
        "\u00b2",
        "1 - 2",
        "+1",
        "9" * 5000,
    ],
)
def test_what_are_no_ports(text: str) -> None:
    with pytest.raises(InvalidInputError, match="'COFIT_SHARD_PORTS' parameter of a worker must be"):
        ports(text)
