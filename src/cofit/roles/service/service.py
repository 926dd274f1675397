"""A participant that others connect to: one process with one state directory, a desk, and sessions.

Computing parties and the dealer are such. They may start in any order and stop at any moment: what was acknowledged is
on disk, and whoever starts again resumes where it was.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import Any

from cofit.errors import CofitError, InvalidInputError, TransportError
from cofit.roles.files.audit import AuditFile
from cofit.roles.files.durable import disk_problem
from cofit.roles.files.keys import participants
from cofit.roles.files.state_directory import StateDirectory
from cofit.roles.jobs.job import Job
from cofit.roles.service.desk import Desk
from cofit.roles.service.doors import BUSY_SECONDS, BusyError, answerable
from cofit.study.document import PartyEntry
from cofit.transport import MAX_PAYLOAD_BYTES, Conversation, Identity, Listener, Reception, Refused, Terms, listen
from cofit.transport.refusals import EXPLAINED

_log = logging.getLogger(__name__)
_IDLE_SECONDS = 600.0
_DISK = "This {} cannot use its disk at the moment. Try again later; nothing acknowledged is lost."


class Service:
    """The skeleton. ``role``: what it is called. ``callers``: who may connect to it for a session.

    A service owns its state directory and audit log from here on, and closes them when ``serve`` ends.
    """

    def __init__(
        self,
        role: str,
        job: Job,
        identity: Identity,
        state: StateDirectory,
        address: tuple[str, int],
        callers: Sequence[str],
        largest_payload: int = MAX_PAYLOAD_BYTES,
    ) -> None:
        self._role = role
        self._study = job.study
        self._job = job
        self._identity = identity
        self._address = address
        self._callers = callers
        self._largest_payload = largest_payload
        self._directory = state
        try:
            self._audit = AuditFile(state.directory / "audit.jsonl")
        except BaseException:
            state.close()
            raise
        self._stopping = threading.Event()
        self._desk: Desk

    def stop(self) -> None:
        """Make it return within a few seconds. May be called from any thread, but not by a signal's handler."""
        self._stopping.set()

    def _serve(self, work: Callable[[Reception], None]) -> str:
        """Answer, and ``work``, until that ends; return the phase then. TransportError where nobody can connect."""
        study, name = self._study, self._identity.name
        pins = {name: one.certificate_pem for name, one in participants(study).items()}
        with (
            contextlib.closing(self._directory),
            contextlib.closing(self._audit),
            Reception(
                _listener(name, self._address),
                self._identity,
                pins,
                self._callers,
                Terms(bytes(16), bytes.fromhex(study.hash), study.spec.agreed),
                self._converse,
                timeout=study.compute.timeout,
                on_refusal=self._refused,
            ) as reception,
        ):
            self._audit.write("started", study=study.hash, plan=self._job.hash, party=name)
            named = study.name, study.hash[:16], self._job.name, self._phase()
            _log.info("%s of study '%s' (%s): %s, %s", self._role, *named)
            _log.info("answers at %s:%d", reception.host, reception.port)
            try:
                work(reception)
            finally:
                phase = self._phase()
                with contextlib.suppress(OSError):
                    self._audit.write("stopped")
                _log.info("stopped (%s)", phase)
        return phase

    def _phase(self) -> str:
        """Where the study stands here."""
        return "waiting to be called"

    # --- conversations -----------------------------------------------------------------------------------

    def _converse(self, conversation: Conversation) -> None:
        while True:
            request, payload = conversation.receive(self._largest_payload, timeout=_IDLE_SECONDS)
            try:
                header, content = self._desk.answer(conversation.peer, request, bytes(payload))
            except CofitError as error:
                refusal = answerable(error)
                if refusal is None:
                    raise
                if isinstance(error, BusyError):
                    self._stopping.wait(BUSY_SECONDS)
                conversation.send(refusal)
            except (OSError, sqlite3.Error) as error:
                if self._desk.doors.loggable("disk", conversation.peer):
                    _log.error("a request of '%s' failed: %s", conversation.peer, disk_problem(error))
                conversation.send({"error": {"kind": "storage", "message": _DISK.format(self._role)}})
            else:
                self._answered(conversation.peer, request)
                conversation.send(header, content)

    def _answered(self, peer: str, request: dict[str, Any]) -> None:
        """Called after each request that was answered, for those who log it."""

    def _refused(self, kind: str, peer: str | None, address: str) -> None:
        self._desk.doors.turned_away(kind, peer)
        if self._desk.doors.loggable("connection", peer or ""):
            why = EXPLAINED[Refused(kind)]
            _log.warning("a connection from %s (%s) was refused (%s): %s", address, peer or "unknown", kind, why)
        with contextlib.suppress(OSError):
            self._audit.note("connection refused", peer, kind=kind, address=address)


def check_certificate(identity: Identity, entry: PartyEntry) -> None:
    """Raise InvalidInputError unless the study has this certificate of the participant."""
    if identity.certificate_pem.strip() != entry.certificate_pem.strip():
        raise InvalidInputError(f"The certificate of '{identity.name}' is not the one in the study.")


def _listener(name: str, address: tuple[str, int]) -> Listener:
    """Listen there, or raise TransportError with what to do."""
    host, port = address
    try:
        return listen(host, port)
    except OSError as error:
        raise TransportError(
            name,
            f"'{name}' cannot listen at {host}:{port}: {error.strerror or error}. If another process has the port, "
            "stop it. If the address is not this machine's, give --listen.",
        ) from None
