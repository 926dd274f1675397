"""Sessions of a serving participant: each in a thread and with a mesh of its own, and what follows when it ends.

What may end a session: a peer (TransportError: tried again), this participant's disk or ledger (tried again, whoever
runs it is told what to do), a bug (tried again, and logged with its place), a failed check (ProtocolError: for a party
nothing is resumed after it). None of them ends the process.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

from cofit import kernels
from cofit.errors import CofitError, DisputeError, StoppedError, TransportError
from cofit.roles.files.audit import AuditFile, Fact
from cofit.roles.files.durable import disk_problem
from cofit.roles.jobs.job import Job
from cofit.roles.service.doors import Doors
from cofit.roles.service.other_parties import OtherParties
from cofit.roles.service.time_left import TimeLeft
from cofit.transport import Identity, Mesh, Peer, Reception, connect_mesh, measure_lines

_log = logging.getLogger(__name__)
ASK_SECONDS = 0.2
_GRACE_SECONDS = 3.0
_STEP_SECONDS = 1.0


class Invitation(Protocol):
    """What calls to a session."""

    @property
    def session(self) -> bytes:
        """Its random id."""


B = TypeVar("B", bound=Invitation)


class Sessions(ABC, Generic[B]):
    """Runs the sessions of one participant. ``progress`` may be read by all threads."""

    def __init__(
        self,
        job: Job,
        identity: Identity,
        audit: AuditFile,
        doors: Doors,
        stopping: threading.Event,
    ) -> None:
        self._study = job.study
        self._job = job
        self._identity = identity
        self._audit = audit
        self._doors = doors
        self._stopping = stopping
        self._others = OtherParties(job.study, identity)
        self._leader = job.study.parties[0].name
        self.progress: dict[str, Any] = {}
        self._current = job
        self._time_left: TimeLeft | None = None
        self._said = ""
        self._told_at = 0.0

    @abstractmethod
    def _session(self, reception: Reception, begin: B) -> None:
        """Take part in one session; raise what ends it."""

    def _failed(self, error: Exception) -> None:
        """Log and note what has ended a session."""
        self._fail("session failed", error)

    def _check(self, reception: Reception) -> None:
        """What is done between sessions. TransportError where nobody can connect any more."""
        with contextlib.suppress(OSError):
            self._audit.end_day()
        if not reception.running:
            self._stopping.set()
            name = self._identity.name
            raise TransportError(
                name,
                f"The reception of '{name}' has stopped, and nobody can connect any more. The log says why; please "
                f"report it. Start '{name}' again: it resumes.",
            )

    def _attempt(self, reception: Reception, begin: B) -> bool:
        """Run a session in a thread of its own, so that stopping need not wait for the network; True if it succeeds."""
        succeeded = threading.Event()

        def run() -> None:
            if self._guarded(reception, begin):
                succeeded.set()

        thread = threading.Thread(target=run, name="session", daemon=True)
        thread.start()
        while thread.is_alive() and not self._stopping.is_set():
            thread.join(ASK_SECONDS)
            if not reception.running:
                self._stopping.set()
        thread.join(_GRACE_SECONDS)
        return succeeded.is_set()

    def _guarded(self, reception: Reception, begin: B) -> bool:
        kernels.keep_freed_memory(True)
        try:
            self._session(reception, begin)
        except StoppedError:
            return False
        except Exception as error:
            self._failed(error)
            return False
        finally:
            self.progress = {}
            kernels.keep_freed_memory(False)
        return True

    @contextmanager
    def _mesh(
        self, reception: Reception, session: bytes, job: Job, *, dial: Sequence[Peer], accept: Sequence[Peer]
    ) -> Iterator[Mesh]:
        """Connect to everybody in the session, in which this job is done."""
        compute = self._study.compute
        self._current = job
        _log.info("session %s begins with %s", session.hex()[:8], ", ".join(self._others.names))
        self._audit.note("session begins", self._leader, session=session.hex())
        with connect_mesh(
            self._identity,
            reception.mesh_listener,
            dial=dial,
            accept=accept,
            terms=self._others.terms(session, job.spec),
            connect_timeout=compute.connect_timeout,
            timeout=compute.timeout,
            lines=reception.lines,
        ) as mesh:
            self._time_left = TimeLeft(job, measure_lines(mesh))
            try:
                yield mesh
            finally:
                self._time_left = None

    def _report(self, step: str, done: int, total: int) -> None:
        """Take the progress of the job's program; StoppedError where the participant is to stop."""
        self._check_running()
        now = time.monotonic()
        changed = self.progress.get("step") != step
        before, said = self.progress.get("said"), self._current.progress(step, done, total)
        self.progress = {"step": step, "done": done, "total": total, "said": said}
        if self._time_left is not None:
            self._time_left.reached(step, done, total)
        if ((changed or done == total) and said != before) or now - self._told_at >= _STEP_SECONDS:
            self._told_at = now
            _log.info("%s", said)

    def _check_running(self) -> None:
        """Raise StoppedError where the participant is to stop."""
        if self._stopping.is_set():
            raise StoppedError(f"'{self._identity.name}' was stopped.")

    def status(self) -> dict[str, Any]:
        """Return the progress for whoever asks, with the speed of the lines and the seconds that are left, if known."""
        told, left = dict(self.progress), self._time_left
        if not told or left is None:
            return told
        seconds = left.seconds()
        known = {} if seconds is None else {"seconds_left": round(seconds, 1)}
        return {**told, "lines": left.speed.to_dict(), **known}

    # --- telling -----------------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        """Log what is waited for, once; if others bring about something new all the time, some of it."""
        if text != self._said and self._doors.loggable("waits"):
            self._said = text
            _log.info("%s", text)

    def _fail(self, event: str, error: Exception) -> None:
        """Log and note a failure; texts of errors that are not ours stay out of both."""
        self._said = ""
        if self._doors.loggable(event):
            _log_failure(event, error)
        peer = error.peer if isinstance(error, TransportError) else None
        facts: dict[str, Fact] = {"dispute": list(error.parties)} if isinstance(error, DisputeError) else {}
        with self._disk_errors_logged():
            self._audit.note(event, peer, error=type(error).__name__, **facts)

    @contextmanager
    def _disk_errors_logged(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error, CofitError) as error:
            if self._doors.loggable("disk"):
                _log.error("the state directory cannot be written: %s", disk_problem(error) or error)


def _log_failure(event: str, error: Exception) -> None:
    if isinstance(error, CofitError):
        _log.warning("%s: %s", event, error)
    elif (problem := disk_problem(error)) is not None:
        _log.error("%s: %s It is tried again.", event, problem)
    else:
        where = "".join(traceback.format_tb(error.__traceback__))
        name = type(error).__name__
        _log.error("%s with an unexpected %s; it is tried again. Please report this.\n%s", event, name, where)
