"""A computing party as a long-running process: waits for contributions and peers, trains, releases, and answers.

Parties may start in any order and stop at any moment. Leading (see ``party_sessions``) gives no power over the result:
every party checks the study, the plan and the contributions itself before it takes part.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from pathlib import Path
from typing import Any

from cofit.errors import CofitError, InvalidInputError
from cofit.roles.files.audit import AuditFile
from cofit.roles.files.durable import disk_problem
from cofit.roles.files.keys import participants
from cofit.roles.party.desk import Desk
from cofit.roles.party.sealing import Sealing
from cofit.roles.party.sessions import PartySessions
from cofit.roles.party.state import PartyState
from cofit.roles.service.doors import BUSY_SECONDS, BusyError, answerable
from cofit.roles.service.ports import listen_at
from cofit.study.document import Study
from cofit.study.expected import expected_contributions
from cofit.study.plan import study_plan
from cofit.transport import Conversation, Identity, Reception, Terms

_log = logging.getLogger(__name__)
_IDLE_SECONDS = 600.0


class PartyService:
    """One party of one study, with its state directory. ``run`` returns when it is stopped."""

    def __init__(
        self, study: Study, identity: Identity, state: str | Path, listen_at: tuple[str, int] | None = None
    ) -> None:
        self._study = study
        self._identity = identity
        self._names = [party.name for party in study.parties]
        if identity.name not in self._names:
            raise InvalidInputError(f"'{identity.name}' is no computing party of this study; those are {self._names}.")
        rank = self._names.index(identity.name)
        entry = study.parties[rank]
        if identity.certificate_pem.strip() != entry.certificate_pem.strip():
            raise InvalidInputError(f"The certificate of '{identity.name}' is not the one in the study.")
        self._listen_at = listen_at or (entry.host, entry.port)
        self._plan = study_plan(study)
        expected = expected_contributions(study, self._plan)
        self._state = PartyState(state, study.hash, identity.name)
        try:
            self._audit = AuditFile(self._state.directory / "audit.jsonl")
        except BaseException:
            self._state.close()
            raise
        self._stopping = threading.Event()
        active = study.spec.active
        sealing = Sealing(tuple(expected), self._state, self._audit, take_back=not active)
        self._desk = Desk(
            study, self._plan, expected, rank, self._state, sealing, self._audit, lambda: dict(self._sessions.progress)
        )
        self._sessions = PartySessions(
            study, self._plan, expected, identity, self._state, sealing, self._audit, self._desk, self._stopping
        )

    @property
    def released(self) -> bool:
        """Whether the model is out."""
        return self._state.phase == "released"

    def stop(self) -> None:
        """Make ``run`` return within a few seconds. May be called from any thread, but not by a signal's handler."""
        self._stopping.set()

    def run(self, *, until_released: bool = False) -> str:
        """Serve until stopped (or, if so asked, until all parties have the model); return the phase then.

        StateError, if so asked, where no release can come any more; TransportError where nobody can connect any more.
        """
        pins = {name: one.certificate_pem for name, one in participants(self._study).items()}
        with (
            contextlib.closing(self._state),
            contextlib.closing(self._audit),
            Reception(
                listen_at(self._identity.name, self._listen_at),
                self._identity,
                pins,
                [*self._names, *([] if self._study.dealer is None else [self._study.dealer.name])],
                Terms(bytes(16), bytes.fromhex(self._study.hash), self._study.spec.agreed),
                self._converse,
                timeout=self._study.compute.timeout,
                on_refusal=self._refused,
            ) as reception,
        ):
            self._audit.write("started", study=self._study.hash, plan=self._plan.hash, party=self._identity.name)
            _log.info("study '%s' (%s), %s", self._study.name, self._study.hash[:16], self._state.phase)
            _log.info("answers at %s:%d", reception.host, reception.port)
            try:
                self._sessions.work(reception, until_released)
            finally:
                phase = self._state.phase
                with contextlib.suppress(OSError):
                    self._audit.write("stopped")
                _log.info("stopped (%s)", phase)
        return phase

    # --- conversations -----------------------------------------------------------------------------------

    def _converse(self, conversation: Conversation) -> None:
        while True:
            request, payload = conversation.receive(timeout=_IDLE_SECONDS)
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
                text = "This party cannot use its disk at the moment. Try again later; nothing acknowledged is lost."
                conversation.send({"error": {"kind": "storage", "message": text}})
            else:
                self._log_upload(conversation.peer, request)
                conversation.send(header, content)

    def _log_upload(self, peer: str, request: dict[str, Any]) -> None:
        kind = request.get("request")
        if kind not in ("upload.begin", "upload.commit") or not self._desk.doors.loggable(str(kind), peer):
            return
        if kind == "upload.begin":
            _log.info("the contribution of '%s' is announced", peer)
        else:
            uploads = [self._state.upload(owner.name) for owner in self._study.owners]
            complete = sum(upload is not None and upload.committed for upload in uploads)
            _log.info("the contribution of '%s' is complete (%d of %d)", peer, complete, len(uploads))

    def _refused(self, kind: str, peer: str | None, address: str) -> None:
        self._desk.doors.turned_away(kind, peer)
        if self._desk.doors.loggable("connection", peer or ""):
            _log.warning("a connection from %s (%s) was refused: %s", address, peer or "unknown", kind)
        with contextlib.suppress(OSError):
            self._audit.note("connection refused", peer, kind=kind, address=address)
