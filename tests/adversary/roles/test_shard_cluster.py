"""A party's cluster of Dask: no share passes its scheduler, and what was lost with a worker is never made up."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import actor
from distributed.comm import tcp

from cofit.errors import StateError, TransportError
from cofit.roles.shards.cluster import Cluster
from cofit.roles.shards.shard import Shard, results
from cofit.roles.shards.stored_rows import Wanted
from support.clusters import workers_of

STUDY = "ab" * 32
pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(None, 1, tmp_path / "workers")
    made.on_failure = lambda: None
    yield made
    made.close()


def shards_of(cluster: Cluster) -> list[Shard]:
    return cluster.shards(STUDY, "party-a", 2, 60)


def answer(shard: Shard, method: str, *arguments: Any) -> Any:
    return results([shard.ask(method, *arguments)], [shard], lambda: None)[0]


def wanted(content: bytes) -> Wanted:
    return Wanted(len(content), hashlib.sha256(content).hexdigest())


def test_no_share_passes_the_scheduler(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that this process, which has the scheduler, sends to or reads from anybody but the workers' own addresses."""
    seen: list[tuple[str, bytes]] = []
    transport: Any = tcp
    write, read = transport.TCP.write, transport.TCP.read

    async def frames(message: Any) -> bytes:
        return b"".join(map(bytes, await transport.to_frames(message, serializers=("dask", "pickle"))))

    async def watched_write(self: Any, message: Any, *arguments: Any, **named: Any) -> Any:
        seen.append((self._peer_addr, await frames(message)))
        return await write(self, message, *arguments, **named)

    async def watched_read(self: Any, *arguments: Any, **named: Any) -> Any:
        message = await read(self, *arguments, **named)
        seen.append((self._peer_addr, await frames(message)))
        return message

    def refused(*arguments: Any, **named: Any) -> None:
        raise AssertionError("a call went by way of the scheduler")

    monkeypatch.setattr(tcp.TCP, "write", watched_write)
    monkeypatch.setattr(tcp.TCP, "read", watched_read)
    monkeypatch.setattr(actor.ProxyRPC, "__init__", refused)
    share = os.urandom(200_000)
    marks = [share[k : k + 32] for k in range(0, len(share), 4096)]
    shards = shards_of(cluster)
    for shard in shards:
        assert answer(shard, "missing", {"x": wanted(share)}) == ["x"]
        answer(shard, "write", "x", wanted(share), 0, share)
        assert answer(shard, "missing", {"x": wanted(share)}) == []
    assert cluster._client is not None
    workers = set(cluster._client.scheduler_info(n_workers=-1)["workers"])
    assert all(address.startswith("tls://127.0.0.1:") for address in workers)
    direct = b"".join(content for peer, content in seen if peer in workers)
    others = b"".join(content for peer, content in seen if peer not in workers)
    assert all(mark in direct for mark in marks), "this is how a share would be seen"
    assert b"ShardWorker" in others, "the class and its public facts go by way of the scheduler"
    assert not any(mark in others for mark in marks)


def test_what_was_lost_with_a_worker_is_not_made_up(cluster: Cluster) -> None:
    shards = shards_of(cluster)
    content = b"rows" * 10
    for shard in shards:
        answer(shard, "write", "x", wanted(content), 0, content)
    before = workers_of(os.getpid())
    killed_at = time.monotonic()
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises((TransportError, StateError)):
        answer(shards[0], "missing", {"x": wanted(content)})
    assert time.monotonic() - killed_at < 10
    renewed = shards_of(cluster)
    assert not set(renewed) & set(shards)
    for shard in renewed:
        with pytest.raises(StateError, match="it is a new one"):
            answer(shard, "run", [], 1)
        assert answer(shard, "missing", {"x": wanted(content)}) == ["x"], "its rows must be sent again"


def test_workers_end_with_their_head(cluster: Cluster) -> None:
    shards_of(cluster)
    assert workers_of(os.getpid())
    cluster.close()
    assert workers_of(os.getpid()) == []
