"""What a party demands before anything is opened, whatever a job's program does.

A value is opened only if the job's policy lists this very opening, every party is known to have stored the release,
and this party's ledger is charged for it. Otherwise ProtocolError, before a message is sent: the study ends here. A job
never gets hold of the guard: its program runs only where nothing is stored, and whatever it opens is refused then.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from cofit.errors import ProtocolError
from cofit.roles.files.audit import AuditFile
from cofit.roles.files.ledger import Ledger, PrivacyCost
from cofit.roles.files.release_store import FileStore
from cofit.roles.jobs.job import Job
from cofit.roles.party.state import LEDGER, RELEASE, PartyState
from cofit.secret import Opening

_ACCOUNT = "release"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Guard:
    """The release store of a party, and the sink of its openings: charged before stored, stored before opened.

    Implements ``cofit.secret.stored.ReleaseStore``.
    """

    job: Job
    state: PartyState
    audit: AuditFile

    def load(self) -> bytes | None:
        record = self._store.load()
        if record is not None:  # a crash may have come between storing and noting
            self._note()
        return record

    def save(self, record: bytes) -> None:
        if self.state.release_confirmed:  # whoever sees two draws averages the noise away
            raise ProtocolError(
                f"A release may have been opened, and no party has its record ({RELEASE}) any more. Nothing is drawn "
                "again. Put back backups of it."
            )
        self._charge()
        self._store.save(record)
        self._note()

    def confirm(self) -> None:
        if self._store.load() is None:
            raise ProtocolError("Nothing is stored that could be opened.")
        self.state.confirm_release()

    def opening(self, opening: Opening) -> None:
        """Note an opening, before its first message is sent, or raise ProtocolError."""
        self.job.policy.check(opening)
        if not self.state.release_confirmed or self._store.load() is None:
            raise ProtocolError("The job wants to open a value that not every party has stored. Nothing was opened.")
        self._charge()  # which was done before storing, and costs nothing twice
        self.state.begin_opening()
        self.audit.write(
            "opening", reason=opening.reason, shape=list(opening.shape), learned_by=list(opening.learned_by)
        )

    @property
    def _store(self) -> FileStore:
        return FileStore(self.state.directory / RELEASE)

    def _charge(self) -> None:
        study, policy = self.job.study, self.job.policy
        ledger = Ledger(self.state.directory / LEDGER)
        ledger.charge(PrivacyCost(_ACCOUNT, study.hash, study.name, policy.epsilon, policy.delta, policy.releases))

    def _note(self) -> None:
        if self.state.phase not in ("stored", "released"):
            self.state.advance("stored")
            policy = self.job.policy
            self.audit.write("release stored", epsilon=float(policy.epsilon), delta=float(policy.delta))
            _log.info("stored: the noisy shares are on disk, and the privacy budget is charged")
