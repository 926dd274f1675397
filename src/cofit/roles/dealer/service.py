"""A dealer as a long-running process: waits to be called to sessions, and deals.

The dealer dials the parties, never the other way round; it accepts no mesh connection, and no payload: a request that
announces one ends the conversation. Its state directory holds the audit log and nothing about anybody's data; no
randomness is kept between sessions.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from cofit.errors import InvalidInputError
from cofit.roles.dealer.desk import Call, DealerDesk
from cofit.roles.dealer.session import run_dealing
from cofit.roles.files.state_directory import StateDirectory
from cofit.roles.jobs.job import Job
from cofit.roles.service.service import Service, check_certificate
from cofit.roles.service.sessions import ASK_SECONDS, Sessions
from cofit.roles.shards.dealing import DealerSpread
from cofit.sharing import Scheme, dealer_of
from cofit.transport import Identity, Reception

_log = logging.getLogger(__name__)


class DealerSessions(Sessions[Call]):
    """The sessions of a dealer.

    A newer call waits for the end of a session: when the parties leave it they tell the dealer, or their connections
    end, or the study's time-out does.
    """

    def _session(self, reception: Reception, begin: Call) -> None:
        with self._mesh(reception, begin.session, begin.job, dial=self._others.peers, accept=[]) as mesh:
            names = [peer.name for peer in self._others.peers]
            scheme = dealer_of(self._job.spec.name)(mesh, names, self._identity.name, self._job.spec)
            scheme.setup()
            if begin.job.shards is None:
                run_dealing(scheme, begin.job, self._report)
            else:
                self._deal_to_shards(reception, scheme, begin.job, begin.job.shards)
        self._audit.note("session done", self._leader, session=begin.session.hex())
        _log.info("session %s is done", begin.session.hex()[:8])

    def _deal_to_shards(self, reception: Reception, scheme: Scheme, job: Job, shards: int) -> None:
        def check() -> None:
            scheme.mesh.check_peers()
            self._check_running()

        spread, well = DealerSpread(job, self._identity, shards, reception, check), False
        try:
            run_dealing(scheme, job, self._report, spread)
            well = True
        finally:
            spread.end(well=well)

    def work(self, reception: Reception, desk: DealerDesk) -> None:
        """Deal in the sessions that the leader calls to, until stopped."""
        while not self._stopping.is_set():
            self._check(reception)
            if (call := desk.invitations.get(timeout=ASK_SECONDS)) is not None:
                self._attempt(reception, call)


class DealerService(Service):
    """The dealer of one study. ``run`` returns when it is stopped."""

    def __init__(
        self, job: Job, identity: Identity, state: str | Path, listen_at: tuple[str, int] | None = None
    ) -> None:
        study = job.study
        entry = study.dealer
        if entry is None or identity.name != entry.name:
            who = "it has none" if entry is None else f"that is '{entry.name}'"
            raise InvalidInputError(f"'{identity.name}' is not the dealer of study '{study.name}': {who}.")
        check_certificate(identity, entry)
        directory = StateDirectory(state, study.hash, identity.name)
        address = listen_at or (entry.host, entry.port)
        super().__init__("dealer", job, identity, directory, address, callers=(), largest_payload=0)
        self._desk: DealerDesk = DealerDesk(job, identity.name, self._audit, self._progress)
        self._sessions = DealerSessions(job, identity, self._audit, self._desk.doors, self._stopping)

    def run(self) -> None:
        """Serve until stopped; TransportError where nobody can connect any more."""
        self._serve(lambda reception: self._sessions.work(reception, self._desk))

    def _progress(self) -> dict[str, Any]:
        return self._sessions.status()
