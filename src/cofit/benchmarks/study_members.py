"""The parties of a made-up study, each a process of its own that says what its training cost: at its head, and at every
worker.

They are what ``cofit party`` runs: services with their state on disk, connected by TLS, with workers of a Dask cluster
where the study has shards. Only the job is watched (``_Watched``), between its steps.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from cofit import kernels
from cofit.benchmarks.made_up_study import ANALYST, MadeUpStudy
from cofit.errors import CofitError, PartyFailedError
from cofit.roles.analyst.fetch import statuses
from cofit.roles.dealer.service import DealerService
from cofit.roles.files.studies import load_study
from cofit.roles.jobs.job import Work
from cofit.roles.jobs.training import Training
from cofit.roles.local.forked import forked_context
from cofit.roles.local.progress import SHARE, START, Listener, Progress
from cofit.roles.party.service import PartyService
from cofit.roles.shards.head import ClusterShards
from cofit.roles.shards.threads import ThreadShards
from cofit.secret import Party, SecretArray
from cofit.study.document import Study
from cofit.transport import Counts

BEGUN, STEPPING, STEPPED, ENDED = "begun", "stepping", "stepped", "ended"
"""Rows are in place; the first step is done; the last step is done; the noisy weights are there, still secret."""
_TRAIN = "train"
_START_SECONDS = 120.0
_STOP_SECONDS = 20.0
_MOST_SESSIONS = 3


@dataclass(frozen=True)
class Reading:
    """What one process has sent in its session, and its processor seconds, up to a moment."""

    traffic: Counts
    processor_seconds: float


@dataclass(frozen=True)
class Moment:
    """The head of a party and its workers, by shard, at one moment; ``clock``: of the machine. Of a dealer: its session
    with the heads, and those with workers, whose processor seconds are its own (and 0 here).
    """

    clock: float
    head: Reading
    workers: tuple[Reading, ...] = ()


@dataclass
class Watch:
    """What one party has noted, by name of the moment. ``epochs``: the steps of its training."""

    epochs: int = 0
    moments: dict[str, Moment] = field(default_factory=dict)

    def note(self, name: str, party: Party) -> None:
        """Note a moment."""
        shards = party._shards
        told = shards.counts() if isinstance(shards, ClusterShards | ThreadShards) else []
        workers = [Reading(*one) for one in told]
        here = Reading(party._scheme.mesh.counts, time.process_time())
        self.moments[name] = Moment(time.monotonic(), here, tuple(workers))


class _Watched(Training):
    """The training of a study, which notes what it cost. It keeps no checkpoints: steps are then alike."""

    state = None

    def __init__(self, study: Study, tell: Callable[[Progress | CofitError], None]) -> None:
        super().__init__(study)
        self.watch, self._tell, self._sessions = Watch(self.plan.epochs), tell, 0

    def value(self, work: Work) -> SecretArray:
        party, report = work.party, work.party._report
        self._sessions += 1
        if self._sessions > _MOST_SESSIONS:  # a party would try for ever
            self._tell(CofitError(f"{_MOST_SESSIONS} sessions have failed; its log says why"))

        def told(step: str, done: int, total: int) -> None:
            if report is not None:
                report(step, done, total)
            self._tell(Progress(step, done, total))
            if step == _TRAIN and done in (1, total):
                self.watch.note(STEPPING if done == 1 else STEPPED, party)

        party._report = told
        if work.spread is not None:
            work.spread(party)
            work = Work(work.party, work.checkpoints, work.coin, work.keep)
        self.watch.note(BEGUN, party)
        try:
            return super().value(work)
        finally:
            self.watch.note(ENDED, party)


def run_members(study: MadeUpStudy, workers: int | None, threads: int, progress: Listener) -> dict[str, Watch]:
    """Run the study from its beginning to the release; return what every party, and the dealer, has noted.

    workers: of each party, where the study has shards. threads: of the kernels, in every process that holds rows.
    """
    study.write()
    with _started(study, workers, threads) as connections:
        progress(Progress(START, 0, 1))
        _answering(study, connections)
        progress(Progress(SHARE, 0, 1))
        study.contribute()
        found: dict[str, Watch] = {}
        names = {connection: name for name, connection in connections.items()}
        while len(found) < len(study.parties):
            for ready in wait([c for c, name in names.items() if name not in found]):
                name = names[ready]  # type: ignore[index]
                message = _received(name, connections[name])
                if isinstance(message, Watch):
                    found[name] = message
                elif name == study.parties[0]:
                    progress(message)
        for name in study.dealers:
            connections[name].send(None)  # it stops, and then tells
            while not isinstance(message := _received(name, connections[name]), Watch):
                pass
            found[name] = message
        return found


def _received(name: str, connection: Connection) -> Any:
    try:
        message = connection.recv()
    except (EOFError, OSError):
        message = CofitError("its process has died")
    if isinstance(message, BaseException):
        raise PartyFailedError(name, f"'{name}' failed: {message}.") from message
    return message


def _answering(study: MadeUpStudy, connections: dict[str, Connection]) -> None:
    """Wait until all parties answer."""
    document = load_study(study.path)
    analyst = study.identity(document, ANALYST)
    deadline = time.monotonic() + _START_SECONDS
    while silent := [name for name, told in statuses(document, analyst, 1.0).items() if isinstance(told, str)]:
        for name, connection in connections.items():
            if connection.poll():
                _received(name, connection)
        if time.monotonic() > deadline:
            raise PartyFailedError(silent[0], f"'{silent[0]}' does not answer.")
        time.sleep(0.1)


@contextlib.contextmanager
def _started(study: MadeUpStudy, workers: int | None, threads: int) -> Iterator[dict[str, Connection]]:
    """Run all parties, and the dealer, for as long as the block takes. A process ends when its connection does."""
    context = forked_context()
    processes: list[BaseProcess] = []
    connections: dict[str, Connection] = {}
    try:
        for name in (*study.dealers, *study.parties):
            ours, theirs = context.Pipe()
            process: BaseProcess = context.Process(
                target=_member, args=(theirs, study, name, workers, threads), name=name
            )
            process.start()  # not a daemon: those may have no processes of their own
            theirs.close()
            processes.append(process)
            connections[name] = ours
        yield connections
    finally:
        for connection in connections.values():
            connection.close()
        for started in processes:
            started.join(_STOP_SECONDS)
            if started.is_alive():
                started.kill()
                started.join()


def _member(connection: Connection, made_up: MadeUpStudy, name: str, workers: int | None, threads: int) -> None:
    os.environ["COFIT_THREADS"] = str(threads)
    kernels.set_threads(threads)
    sending = threading.Lock()

    def tell(message: Any) -> None:
        with sending, contextlib.suppress(OSError):  # nobody listens any more: the service is stopped
            connection.send(message)

    try:
        study = load_study(made_up.path)
        identity, state = made_up.identity(study, name), made_up.directory / f"{name}.state"
        job = _Watched(study, tell)
        if name in made_up.dealers:
            dealer = DealerService(job, identity, state)
            _stop_with(connection, dealer.stop)
            dealer.run()
            tell(job.watch)
            return
        party = PartyService(job, identity, state, workers=workers)
        _stop_with(connection, party.stop)
        party.run(until_released=True)
        tell(job.watch)
    except BaseException as error:  # carried to who has started us
        tell(CofitError(f"{type(error).__name__}: {error}"))
        raise


def _stop_with(connection: Connection, stop: Callable[[], None]) -> None:
    """Stop a service when whoever started it says so, or is gone."""

    def watch() -> None:
        with contextlib.suppress(EOFError, OSError):
            connection.recv()
        stop()

    threading.Thread(target=watch, name="launcher", daemon=True).start()
