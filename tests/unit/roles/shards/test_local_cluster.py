"""Workers that a party starts on its own machine."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from cofit.roles.shards.local_cluster import start_workers

SECONDS = 30.0
QUIET = 3.5


def test_a_worker_that_waits_tells_the_scheduler_nothing_for_seconds(tmp_path: Path) -> None:
    """Dask's own scheduler asks for two signs of life a second, which cost the head more than its part of training."""
    with start_workers(1, 1, "127.0.0.1", tmp_path, {"COFIT_THREADS": "1"}) as cluster:
        cluster.wait_for_workers(1, timeout=SECONDS)
        (worker,) = cluster.scheduler.workers.values()
        assert worker.address.startswith("tls://127.0.0.1:")
        seen = set()
        until = time.monotonic() + QUIET
        while time.monotonic() < until:
            seen.add(worker.last_seen)
            time.sleep(0.05)
        assert len(seen) <= 2, "the first one is sent half a second after it has come"


def test_http_servers_are_reached_from_this_machine_alone(tmp_path: Path) -> None:
    """Dask starts one in every process, at the host that others reach, and at a port that is the same for all."""
    psutil = pytest.importorskip("psutil")  # which distributed brings
    host = "127.0.0.2"
    with start_workers(1, 1, host, tmp_path, {"COFIT_THREADS": "1"}) as cluster:
        cluster.wait_for_workers(1, timeout=SECONDS)
        (worker,) = cluster.scheduler.workers.values()
        assert worker.address.startswith(f"tls://{host}:")
        assert cluster.scheduler.http_server.address == "127.0.0.1"
        (pid,) = (nanny.pid for nanny in cluster.workers.values())
        listening = {each.laddr.port: each.laddr.ip for each in psutil.Process(pid).net_connections() if not each.raddr}
        assert listening[worker.services["dashboard"]] == "127.0.0.1"
        assert listening[int(worker.address.rpartition(":")[2])] == host
