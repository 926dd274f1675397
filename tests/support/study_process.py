"""Parties, dealers and owners of a study as processes of their own, which can be killed at a chosen point.

``python -m support.study_process`` reads one command a line (JSON) and forks a process for each ``start``: all is
imported once, so a party is up within milliseconds, and kill -9 hits a real process. ``python -m support.study_process
JSON`` runs one job in this process.

A job names what happens at points of the program: ``die`` maps "before open" (or "after open", see ``_instrument``) to
the how-manieth time the process kills itself there; ``pause`` maps a point to seconds. Every point that is reached goes
to the file ``trace`` in the working directory. ``tamper`` maps a part of a message's label to the how-manieth exchange
of that label in which one bit of one message is flipped. ``worker`` has the same for the workers of a party with shards
(see ``worker_points``), which are started with ``workers`` or are those of the scheduler at ``cluster``.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import hashlib
import importlib
import json
import logging
import os
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import cofit.roles.party.publication as publication_module
import cofit.roles.party.queries as queries_module
import cofit.roles.service.sessions as sessions_module
from cofit.arithmetic import FixedPoint
from cofit.errors import CofitError
from cofit.learn.forecast import forecast
from cofit.learn.releases import accounted_releases
from cofit.roles.client.ask import ask_privately
from cofit.roles.client.journal import Journal
from cofit.roles.dealer.desk import DealerDesk
from cofit.roles.dealer.service import DealerService
from cofit.roles.files.audit import AuditFile
from cofit.roles.files.ledger import Ledger
from cofit.roles.files.program_tables import read_inputs
from cofit.roles.files.release_store import FileStore
from cofit.roles.files.studies import load_program_study, load_study
from cofit.roles.files.tables import read_owner_table
from cofit.roles.jobs.of_study import served_job, training_job
from cofit.roles.jobs.program import ProgramJob
from cofit.roles.owner.contribute import align_table, contribute_table, prepare_inputs, send
from cofit.roles.party.coin import CoinFile
from cofit.roles.party.queries import Queries
from cofit.roles.party.service import PartyService
from cofit.roles.party.state import PartyState
from cofit.roles.service.sessions import Sessions
from cofit.secret import Party
from cofit.study.encode import encode_table
from cofit.study.plan import study_plan
from cofit.transport import Conversation, Identity
from support.tampering import tamper
from support.worker_points import instrument_workers

Job = dict[str, Any]
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG: however the tests end, no party is left behind


def identity_of(name: str, folder: Path) -> Identity:
    """Read NAME.key and NAME.pem."""
    return Identity(name, (folder / f"{name}.pem").read_text(), (folder / f"{name}.key").read_text())


def run_party(job: Job) -> None:
    """Serve until killed. The working directory holds study.toml and the key."""
    identity = identity_of(job["name"], Path())
    shards = {name: job[name] for name in ("cluster", "workers") if name in job}
    if "worker" in job:
        instrument_workers(job["worker"])
    served = served_job(Path("study.toml"))
    service = PartyService(served, identity, job.get("state", "state"), _behind(job), **shards)
    signal.signal(signal.SIGTERM, lambda *_: service.stop())
    service.run()


def run_dealer(job: Job) -> None:
    """The same for a dealer."""
    service = DealerService(served_job(Path("study.toml")), identity_of(job["name"], Path()), "state", _behind(job))
    signal.signal(signal.SIGTERM, lambda *_: service.stop())
    service.run()


def _behind(job: Job) -> tuple[str, int] | None:
    """Where it listens, if that is not where the study says: behind a proxy."""
    return ("127.0.0.1", job["listen"]) if "listen" in job else None


def run_owner(job: Job) -> None:
    """Contribute the table in the working directory; in a vertical study in the order of the keyed hashes."""
    study = load_study("study.toml")
    name = job["name"]
    table, rows = encode_table(study, name, read_owner_table(study, name, job["table"])), None
    if study.data.partition == "vertical":
        table, rows = align_table(study, table, Path("secret").read_bytes(), {})
    identity = identity_of(name, Path())
    if "lies" in job:
        _lie(job["lies"])
    print(contribute_table(training_job(study), identity, table, Path("owner-state"), "data", rows=rows), flush=True)


def _lie(lies: dict[str, int]) -> None:
    """From here on this owner puts integers of its own into the first records of ``labels`` and ``features``."""
    honest = FixedPoint.encode

    def encode(self: FixedPoint, values: Any, bound: Any = None) -> Any:
        encoded = honest(self, values, bound)
        lie = lies.get("labels" if encoded.ndim == 1 else "features")
        if lie is not None:
            encoded[:3] = self.ring.from_int(np.full(encoded[:3].shape[: encoded[:3].ndim], lie, dtype=object))
        return encoded

    FixedPoint.encode = encode  # type: ignore[method-assign]


def run_program_owner(job: Job) -> None:
    """Contribute the inputs of a study's program."""
    study = load_program_study("study.toml")
    owner = study.owner(job["name"])
    assert owner is not None
    prepared = prepare_inputs(ProgramJob(study), owner.name, read_inputs(owner, Path(job["table"])))
    send(prepared, identity_of(owner.name, Path()), Path("owner-state"), "data")


def run_client(job: Job) -> None:
    """Ask about the rows in rows.npy, and write answers.npy; what is kept meanwhile is in 'asking'."""
    study, rows = load_study("study.toml"), np.load("rows.npy")
    identity = identity_of(job["name"], Path())
    found = ask_privately(study, identity, rows, job.get("answers"), Path("asking"), batch_rows=job.get("batch"))
    np.save("answers.npy", found.values)
    Path("statement.json").write_text(found.statement.to_json())


_MAINS = {
    "client": run_client,
    "party": run_party,
    "dealer": run_dealer,
    "owner": run_owner,
    "program owner": run_program_owner,
}


# --- points at which to die --------------------------------------------------------------------------------


class _Points:
    def __init__(self, die: dict[str, int], pause: dict[str, float]) -> None:
        self._die = die
        self._pause = pause
        self._seen: Counter[str] = Counter()
        self._trace = os.open("trace", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def reached(self, point: str, note: str = "") -> None:
        self._seen[point] += 1
        os.write(self._trace, f"{time.time():.6f} {point}{note and ': '}{note}\n".encode())
        if self._die.get(point) == self._seen[point]:
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)
        if point in self._pause:
            time.sleep(self._pause[point])


def _instrument(points: _Points) -> None:
    def around(
        owner: Any, attribute: str, label: Callable[..., str | None], note: Callable[[], str] = lambda: ""
    ) -> None:
        original = getattr(owner, attribute)

        @functools.wraps(original)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            name = label(*args, **kwargs)
            if name is not None:
                points.reached(f"before {name}")
            result = original(*args, **kwargs)
            if name is not None:
                points.reached(f"after {name}", note())
            return result

        setattr(owner, attribute, wrapped)

    def release_digest() -> str:
        return hashlib.sha256(Path("state/release").read_bytes()).hexdigest()

    around(PartyState, "record", lambda _, **facts: f"phase {facts['phase']}" if "phase" in facts else None)
    around(PartyState, "hold", lambda *_: "hold")
    around(Queries, "charge", lambda *_: "count")
    around(queries_module, "write_durably", lambda path, *_, **__: f"write {path.name}")
    around(Journal, "keep", lambda *_: "keep")
    around(Journal, "renewed", lambda *_: "renew")
    around(PartyState, "seal", lambda *_, **__: "phase sealed")
    around(PartyState, "begin_upload", lambda *_: "begin upload")
    around(PartyState, "confirm_release", lambda *_: "confirm")
    around(PartyState, "begin_opening", lambda *_: "begin opening")
    around(PartyState, "append", lambda *_: "append")
    around(PartyState, "commit", lambda *_: "commit")
    around(PartyState, "save_checkpoint", lambda *_: "checkpoint")
    around(PartyState, "drop_checkpoints", lambda *_: "drop checkpoints")
    around(CoinFile, "save", lambda *_: "save coin")
    around(FileStore, "save", lambda *_: "save release", release_digest)
    around(Ledger, "charge", lambda *_: "charge")
    around(Ledger, "expose", lambda *_: "charge")
    around(Party, "open", lambda *_, **__: "open")
    around(Party, "barrier", lambda *_, **__: "barrier")
    around(AuditFile, "write", lambda _, event, **__: f"audit {event}")
    around(DealerDesk, "answer", lambda _, __, request, ___: f"answer {request.get('request')}")
    around(sessions_module, "connect_mesh", lambda *_, **__: "connect")
    around(publication_module, "write_durably", lambda path, *_, **__: f"write {path.name}")
    around(Path, "replace", lambda _, target: f"replace in {Path(target).parent.name}")
    around(Conversation, "send", lambda _, header, *__: f"send {header['request']}" if "request" in header else None)
    around(Conversation, "request", lambda _, header, *__, **___: f"request {header['request']}")
    _note_progress(Sessions, points)


def _note_progress(service: Any, points: _Points) -> None:
    report = service._report

    def noted(self: Any, step: str, done: int, total: int) -> None:
        report(self, step, done, total)
        points.reached(f"progress {step}", str(done))

    service._report = noted


def run_job(job: Job) -> int:
    """Run one party, dealer or owner in this process."""
    os.chdir(job["cwd"])
    if "file_limit" in job:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["file_limit"], resource.RLIM_INFINITY))
    logging.basicConfig(level=logging.INFO, force=True, format="%(asctime)s %(message)s")
    logging.captureWarnings(True)
    if "before" in job:
        exec(job["before"], {})
    _instrument(_Points(job.get("die", {}), job.get("pause", {})))
    for label, when in job.get("tamper", {}).items():
        tamper(label, when)
    try:
        _MAINS[job["main"]](job)
    except CofitError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        return 1
    return 0


# --- the process that forks the others ---------------------------------------------------------------------


_warm: set[str] = set()


def _warm_up(path: Path) -> None:
    """Plan the study, account for it and count its messages, once for all who are forked: they find all that made."""
    with contextlib.suppress(CofitError, OSError):  # whoever needs the study says what is wrong with it
        plan = study_plan(load_study(path))
        if plan.hash not in _warm:
            _warm.add(plan.hash)
            accounted_releases(plan)
            forecast(plan)


def _fork(job: Job) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        os.setsid()
        log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for old, new in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(old, new)
        os.closerange(3, 1024)
        main = sys.modules["__main__"]
        main.__spec__, main.__file__ = None, None  # processes that this one spawns need not import all of this
        code = run_job(job)
    except BaseException:
        logging.exception("the process ends")
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def serve() -> None:
    """Answer commands until standard input ends, then kill what still runs."""
    running: set[int] = set()
    pa.array(np.zeros(1))  # imports pandas, where it is installed; every owner would again
    gc.freeze()  # a collection in a child would write to, and so copy, all that it was forked with
    try:
        for line in sys.stdin:
            command = json.loads(line)
            if command["do"] == "start":
                _warm_up(Path(command["job"]["cwd"]) / "study.toml")
                if {"workers", "cluster"} & set(command["job"]):
                    importlib.import_module("distributed")
                pid = _fork(command["job"])
                running.add(pid)
                answer: dict[str, Any] = {"pid": pid}
            else:
                pid, status = os.waitpid(command["pid"], os.WNOHANG)
                running.discard(pid)
                answer = {"code": os.waitstatus_to_exitcode(status) if pid else None}
            print(json.dumps(answer), flush=True)
    finally:
        for pid in running:
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(run_job(json.loads(sys.argv[1])))
    serve()
