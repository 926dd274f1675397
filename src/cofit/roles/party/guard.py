"""What a party demands before anything is opened, whatever a job's program does.

A value is opened only if the job's policy lists this very opening, every party is known to have stored what is opened,
no checkpoint is left here, and this party's ledger is charged for it. Otherwise ProtocolError, before a message is
sent: the study ends here. A job never gets hold of the guard: what its program opens by itself is refused, because it
is not stored.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from cofit.errors import ProtocolError
from cofit.roles.files.audit import AuditFile
from cofit.roles.files.ledger import Ledger
from cofit.roles.files.release_store import FileStore
from cofit.roles.jobs.job import Job
from cofit.roles.jobs.steps import discard_stored
from cofit.roles.party.state import LEDGER, PartyState
from cofit.secret import Opening, Party

_ACCOUNT = "release"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Guard:
    """The release stores of a party, and the sink of its openings: charged before stored, stored before opened.

    charge: what to do for that, durably; None: charge this party's ledger as the policy says.

    Implements ``cofit.roles.jobs.steps.Vault``, and, of the opening ``number``, ``cofit.secret.stored.ReleaseStore``.
    """

    job: Job
    state: PartyState
    audit: AuditFile
    number: int = 1
    charge: Callable[[], object] | None = None

    def store(self, number: int) -> Guard:
        return replace(self, number=number)

    def settle(self, party: Party, number: int) -> None:
        stored = self.state.stored_at(number).exists()
        if not discard_stored(party, stored, self.state.confirmed(number)):
            return
        if not stored:
            self.state.drop_checkpoints()  # as all do: what comes next is drawn anew
            return
        self.state.discard_release(number)
        self.audit.write(
            "stored release discarded", why="a party was stopped before it had stored it; nothing was opened"
        )
        _log.info("a party was stopped while all were storing: nothing was opened, and the parties draw again")

    def load(self) -> bytes | None:
        record = self._store.load()
        if record is not None:  # a crash may have come between storing and noting
            self._note()
        return record

    def save(self, record: bytes) -> None:
        if self.state.confirmed(self.number):  # whoever sees two draws averages the noise away
            raise ProtocolError(
                f"A release may have been opened, and no party has its record ({self._file.name}) any more. Nothing is "
                "drawn again. Put back backups of it."
            )
        self._charge()
        self._store.save(record)
        self._note()

    def confirm(self) -> None:
        if self._store.load() is None:
            raise ProtocolError("Nothing is stored that could be opened.")
        self.state.drop_checkpoints()  # from here on nobody computes a release from what this party holds
        self.state.confirm_release(self.number)

    def opening(self, opening: Opening) -> None:
        """Note an opening, before its first message is sent, or raise ProtocolError."""
        self.job.policy.check(opening)
        if not self.state.confirmed(opening.number) or self.store(opening.number)._store.load() is None:
            raise ProtocolError("The job wants to open a value that not every party has stored. Nothing was opened.")
        if self.state.has_checkpoints:
            raise ProtocolError("The job wants to open a value while a checkpoint of it is here. Nothing was opened.")
        self._charge()  # which was done before storing, and costs nothing twice
        self.state.begin_opening(opening.number)
        self.audit.write(
            "opening", reason=opening.reason, shape=list(opening.shape), learned_by=list(opening.learned_by)
        )

    @property
    def _store(self) -> FileStore:
        return FileStore(self._file)

    @property
    def _file(self) -> Path:
        return self.state.stored_at(self.number)

    def _charge(self) -> None:
        if self.charge is not None:
            self.charge()
        else:
            self.job.policy.charge(Ledger(self.state.directory / LEDGER), _ACCOUNT, self.job.study)

    def _note(self) -> None:
        if self.state.phase not in ("stored", "released"):
            self.state.advance("stored")
            self.audit.write("release stored", **self.job.policy.charged)
            paid = "the ledger is charged" if self.charge is None else "the rows are counted"
            _log.info("stored: the shares of what is opened are on disk, and %s", paid)
