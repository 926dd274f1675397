"""The Dask cluster of one party: connecting to it, its TLS, and the objects of shards on its workers.

Dask carries what is the party's own: classes and public facts by way of its scheduler, shares directly between the head
and the workers (``direct_to_workers``). It loads pickles from whoever is in the cluster, so a cluster belongs to one
party, and its connections are authenticated: off the machine only ``tls://`` is taken, for the scheduler and for every
worker, with the certificates of Dask's own configuration (``distributed.comm.tls``). Workers that are started here use
TLS with keys that are made for them.
"""

from __future__ import annotations

import contextlib
import importlib
import ipaddress
import logging
import os
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofit import kernels
from cofit.errors import InvalidInputError, StateError, TransportError, parameter_error
from cofit.learn.division import MOST_SHARDS
from cofit.roles.shards.shard import Shard
from cofit.roles.shards.worker import HOST, VERSION, ShardWorker, host_of

if TYPE_CHECKING:
    from distributed import Client

_log = logging.getLogger(__name__)
_PAUSE_SECONDS, _LOOK_SECONDS = 0.05, 5.0
_CLOSE_SECONDS = 10.0
_SETTINGS: dict[str, Any] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.deploy.lost-worker-timeout": "10m",
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.tick.cycle": "10s",
    "distributed.admin.system-monitor.interval": "60s",
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.client.scheduler-info-interval": "60s",
}
"""Dask's pages about a cluster are for everybody on the machine: there are none. A killed worker has ten minutes to
come back on a busy machine, before Dask gives its place up for good. Its profiler, its clocks and its statistics take
2 % of a core while a worker waits, and 3 % at the head: a tenth of that without them."""
MOST_WORKERS = 1024
_THIS_MACHINE = "127.0.0.1"
_CONNECTIONS = 4  # to each shard: one that is watched, one that computes, and some to come
THREADS = "COFIT_THREADS"
_ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:.]+\]|[^\s/:\[\]]+):[1-9][0-9]{0,4}")


class Cluster:
    """The workers of one party: those of a scheduler at ``address``, or ``workers`` processes on this machine.

    Connected when shards are asked for, and again after a failure. ``directory``: for the files of local workers.
    ``host``: where workers of other parties reach local ones.
    """

    def __init__(self, address: str | None, workers: int | None, directory: Path, host: str = _THIS_MACHINE) -> None:
        self._host = host
        self._address = None if address is None else check_address(address)
        self._workers = None if workers is None else check_workers(workers)
        self._directory = directory
        _distributed()
        self._client: Client | None = None
        self._local: Any = None
        self._shards: dict[int, Shard] = {}
        self._watching: threading.Thread | None = None
        self._closed, self._answered = threading.Event(), threading.Event()
        self.on_failure: Callable[[], None] = _nothing
        """Called, in the watching thread, when a check failed at a worker: notes it durably."""

    def shards(self, study: str, party: str, count: int, seconds: float) -> list[Shard]:
        """Return the objects of all shards, made anew where a worker was lost; TransportError where there is no worker.

        seconds: how long to wait for the scheduler and for a worker.
        """
        client = self._connected(seconds)
        self._drop_lost(count, seconds)
        addresses = self._addresses(client, seconds)
        if self._watching is None:
            self._watching = threading.Thread(target=self._watch, name="watch over shards", daemon=True)
            self._watching.start()
        made = {}
        for number in range(count):
            if number not in self._shards:
                made[number] = client.submit(
                    ShardWorker,
                    study,
                    party,
                    number,
                    VERSION,
                    actor=True,
                    pure=False,
                    workers=[addresses[number % len(addresses)]],
                    allow_other_workers=False,
                )
        for number, future in made.items():
            try:
                self._shards[number] = Shard(number, client, future, future.result(timeout=seconds))
            except Exception as error:
                raise TransportError("worker", f"A worker cannot take a shard: {_text(error)}") from None
        self._answered.set()  # these are to be watched, too
        return [self._shards[number] for number in range(count)]

    def look(self, seconds: float) -> None:
        """Connect to a cluster elsewhere, and log what is wrong with it: there is time to mend it."""
        if self._address is None:
            return
        seconds = min(seconds, _LOOK_SECONDS)
        try:
            found = self._addresses(self._connected(seconds), seconds)
            _log.info("the cluster at %s has %d workers", self._address, len(found))
        except TransportError as error:
            _log.warning("%s It is asked again when it is needed.", error)

    def close(self) -> None:
        """Let go of all shards, and end the workers that were started here. Closing twice is fine."""
        self._closed.set()
        self._answered.set()
        if self._watching is not None:
            self._watching.join(_CLOSE_SECONDS)
        self._shards.clear()
        self._disconnect()

    # --- connections -----------------------------------------------------------------------------------------

    def _connected(self, seconds: float) -> Client:
        if self._client is not None and self._client.status == "running":
            return self._client
        if self._closed.is_set():
            raise StateError("The cluster of this party was closed: the party stops, or has its release.")
        self._disconnect()
        distributed = _distributed()
        importlib.import_module("dask").config.set(_SETTINGS)
        logging.getLogger("distributed").setLevel(logging.ERROR)
        try:
            if self._address is None:
                self._local = self._started()
            where = self._address if self._local is None else self._local
            self._client = distributed.Client(
                where,
                timeout=seconds,
                direct_to_workers=True,
                set_as_default=False,
                name="cofit",
                connection_limit=_CONNECTIONS * MOST_SHARDS,
            )
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            self._disconnect()
            named = "on this machine" if self._address is None else f"at {self._address}"
            raise TransportError("scheduler", f"The cluster {named} does not answer: {_text(error)}") from None
        return self._client

    def _started(self) -> Any:
        workers = self._workers or 1
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _log.info("starts %d workers on this machine", workers)
        return importlib.import_module("cofit.roles.shards.local_cluster").start_workers(
            workers,
            _threads(workers),
            _THIS_MACHINE,
            self._directory,
            {} if _is_loopback(self._host) else {HOST: os.environ.get(HOST, self._host)},
        )

    def _disconnect(self) -> None:
        client, self._client = self._client, None
        local, self._local = self._local, None
        self._shards.clear()
        for one in (client, local):
            if one is not None:
                with contextlib.suppress(Exception):  # what is broken already cannot be closed in order
                    one.close(timeout=_CLOSE_SECONDS)

    def _addresses(self, client: Client, seconds: float) -> list[str]:
        try:
            client.wait_for_workers(self._workers or 1, timeout=seconds)
            found = sorted(client.scheduler_info(n_workers=-1)["workers"])
        except (OSError, TimeoutError) as error:
            if self._local is not None:
                self._disconnect()  # its workers are started anew next time
            raise TransportError("scheduler", f"The cluster has no workers: {_text(error)}") from None
        for address in found:
            check_address(address, "a worker's address", tls=(self._address or "tls").startswith("tls"))
        if not found:
            raise TransportError("scheduler", "The cluster has no workers.")
        return found

    def _drop_lost(self, count: int, seconds: float) -> None:
        """Drop the shards that no worker has any more. Dask may not know that yet: so each of them is asked.

        Where a worker does not answer, Dask has some time to notice: its place is not to be given to a new shard.
        """
        asked: dict[int, Future[Any]] = {}
        for number, shard in list(self._shards.items()):
            with contextlib.suppress(TransportError):
                if not shard.lost and number < count:
                    asked[number] = shard.ask("watch", 0.0)
        until = time.monotonic() + seconds
        self._shards = {k: self._shards[k] for k, future in asked.items() if self._shards[k].answers(future, until)}

    def _watch(self) -> None:
        """Let every shard know that we live, and hear of failed checks, until closed."""
        while not self._closed.wait(_PAUSE_SECONDS):
            self._answered.clear()
            for shard in list(self._shards.values()):
                if shard.watch(self._answered.set) and self._noted():
                    with contextlib.suppress(TransportError):
                        shard.ask("noted")
            self._answered.wait(_LOOK_SECONDS)

    def _noted(self) -> bool:
        """Note that a check failed; where that is not possible it is tried again, and nobody is told."""
        try:
            self.on_failure()
        except Exception as error:
            _log.error("a check failed at a worker, and that cannot be noted: %s", _text(error))
            return False
        return True


def check_address(address: str, name: str = "--cluster", *, tls: bool = False) -> str:
    """Return the address of a scheduler or a worker, or raise InvalidInputError where it is not safe to connect to.

    tls: whether it must be used on this machine too, as by the workers of a scheduler that uses it.
    """
    if not _ADDRESS.fullmatch(address) or int(address.rpartition(":")[2]) >= 1 << 16:
        raise parameter_error(name, "a party", "an address such as tls://scheduler:8786", address)
    if address.startswith("tcp") and (tls or not _is_loopback(host_of(address))):
        raise parameter_error(
            name,
            "a party",
            "an address that begins with tls://, or of this machine: shares of the data go there. Give Dask's "
            "scheduler, its workers and this party certificates (distributed.comm.tls in Dask's configuration)",
            address,
        )
    return address


def check_workers(workers: int) -> int:
    """Return a number of workers on this machine, or raise InvalidInputError."""
    if not 1 <= workers <= MOST_WORKERS:
        raise parameter_error("--workers", "a party", f"an integer from 1 to {MOST_WORKERS}", workers)
    return workers


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise InvalidInputError(
            "Shards on workers need Dask, which is not installed. Install it: pip install 'cofit[cluster]', or, in a "
            "checkout, make setup."
        ) from None


def _threads(workers: int) -> int:
    """Return how many threads a worker on this machine has: what COFIT_THREADS says, or its part of the processors."""
    return kernels.threads() if THREADS in os.environ else max(1, (os.cpu_count() or 1) // workers)


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _nothing() -> None:
    raise StateError("Nobody watches over these shards.")
