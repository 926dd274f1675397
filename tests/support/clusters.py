"""The Dask workers of parties with shards, as processes; and clusters that no party has started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.nursery import environment, until
from support.services import free_ports
from support.studies import Lab


def children(pid: int) -> list[int]:
    """All processes that descend from one, and live."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError, IndexError):
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state != "Z":
                    parents.setdefault(int(parent), []).append(int(entry.name))
    found, left = [], [pid]
    while left:
        left = [child for one in left for child in parents.get(one, [])]
        found += left
    return found


def workers_of(pid: int) -> list[int]:
    """The Dask workers among the processes that descend from one: those who keep a nanny's pipe."""
    found = []
    for child in children(pid):
        with contextlib.suppress(OSError):
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(child)
    return found


def kill(pid: int) -> None:
    """kill -9."""
    os.kill(pid, signal.SIGKILL)


def alive(pid: int) -> bool:
    """Whether a process lives; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def worker_trace(lab: Lab, party: str) -> list[str]:
    """The points that the workers of a party have reached, in order."""
    path = lab.root / party / "worker-trace"
    return [line.split(" ", 2)[2] for line in path.read_text().splitlines()] if path.exists() else []


def train_reached(lab: Lab, party: str, step: int) -> bool:
    """Whether a party has come so far in some session."""
    told = [point for point in lab.trace(party) if point.startswith("progress train")]
    return any(int(point.rpartition(": ")[2]) >= step for point in told)


class OwnCluster:
    """A scheduler and workers with nannies, which no party has started; on this machine, without encryption."""

    def __init__(self, folder: Path, workers: int, instructions: str = "{}") -> None:
        self._folder, self._count = folder, workers
        self._environment = {**environment(), "COFIT_TEST_WORKER": instructions}
        (port,) = free_ports(1)
        self.address = f"tcp://127.0.0.1:{port}"
        self._port = port
        self.scheduler = self._start_scheduler()
        self.nannies = [self._start_nanny(k) for k in range(workers)]

    def _run(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self._folder / f"{name}.log").open("ab") as log:
            command = [sys.executable, "-m", "dask", *arguments]
            return subprocess.Popen(command, cwd=self._folder, env=self._environment, stdout=log, stderr=log)

    def _start_scheduler(self) -> subprocess.Popen[bytes]:
        where = ("--host", "127.0.0.1", "--port", str(self._port))
        return self._run("scheduler", "scheduler", *where, "--no-dashboard", "--no-show")

    def _start_nanny(self, number: int) -> subprocess.Popen[bytes]:
        own = ("--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard", "--memory-limit", "0")
        place = ("--local-directory", str(self._folder / f"dask-{number}"), "--preload", "support.worker_points")
        return self._run(f"nanny-{number}", "worker", self.address, *own, *place)

    def workers(self) -> list[int]:
        """Processes of all workers."""
        return [pid for nanny in self.nannies for pid in workers_of(nanny.pid)]

    def restart_scheduler(self) -> None:
        """At the same address."""
        self.scheduler = self._start_scheduler()

    def restart_nanny(self, number: int) -> None:
        """After its end."""
        self.nannies[number] = self._start_nanny(number)

    def up(self) -> None:
        """Wait for all workers."""
        logs = [self._folder / f"nanny-{k}.log" for k in range(self._count)]
        until(lambda: all("Registered to" in log.read_text() for log in logs), "workers of a cluster", 100)

    def close(self) -> None:
        """Kill everything."""
        processes: list[Any] = [*self.nannies, self.scheduler]
        left = [pid for process in processes for pid in children(process.pid)]
        for process in processes:
            process.kill()
            process.wait()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                kill(pid)


@contextlib.contextmanager
def own_cluster(folder: Path, workers: int, instructions: str = "{}") -> Iterator[OwnCluster]:
    """A cluster that ends with the block."""
    cluster = OwnCluster(folder, workers, instructions)
    try:
        yield cluster
    finally:
        cluster.close()
