"""The sessions of a computing party: when they begin, how they end, and what follows.

The first party of the study leads: when it has all contributions it asks the others for theirs, and when all hold the
same (``sealing``) it invites them to a session with a fresh random id. A session that fails leads to the next one,
after a pause. This goes on until *every* party has the model: a party that has released takes part again, and the same
stored shares are opened again, for one that was stopped between the opening and its own publication.

Only the leader pauses. The others take the newest invitation as soon as they can: if they paused too, the pauses could
fit together such that one party always comes when the leader has given up.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

from cofit.errors import CofitError, ProtocolError, StateError, TransportError
from cofit.learn.division import DELEGATION_BYTES
from cofit.roles.files.audit import AuditFile
from cofit.roles.files.durable import disk_problem
from cofit.roles.files.share_files import engine_on
from cofit.roles.jobs.job import Job, Outcome
from cofit.roles.party.answering import Answering
from cofit.roles.party.desk import Begin, PartyDesk
from cofit.roles.party.publication import Publication
from cofit.roles.party.queries import Queries, Query
from cofit.roles.party.sealing import Sealing
from cofit.roles.party.session import MOST_SESSIONS, begin_once, run_session
from cofit.roles.party.state import PartyState
from cofit.roles.service.doors import BusyError, RefusedError
from cofit.roles.service.sessions import ASK_SECONDS, Sessions
from cofit.roles.shards.cluster import Cluster
from cofit.roles.shards.spread import Spread
from cofit.secret import Opening
from cofit.sharing import scheme_of
from cofit.transport import Identity, Mesh, Reception

_log = logging.getLogger(__name__)
_LONGEST_ASK = 2.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 10.0
_TELL_SECONDS = 15.0
"""How long a party in which a check failed stays to tell the others, who ask it every few seconds."""
_LINGER_SECONDS = 2.0
_CHECK_FAILED = (
    "A check failed while a query was answered: somebody cheats, or is broken. This party answers no more until it is "
    "started again; compare the audit logs first."
)
_PUBLISH_SECONDS = 5.0
"""How long the others have to publish after a session, before it is opened again for those who have not."""


class PartySessions(Sessions[Begin]):
    """Leads or follows the sessions of one party. ``work`` belongs to one thread."""

    def __init__(
        self,
        job: Job,
        identity: Identity,
        state: PartyState,
        sealing: Sealing,
        audit: AuditFile,
        desk: PartyDesk,
        stopping: threading.Event,
        queries: Queries | None = None,
        memory: int | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        """memory: the bytes that this party may use; None: any number. cluster: where its shards are, if any."""
        super().__init__(job, identity, audit, desk.doors, stopping)
        self._names = [party.name for party in job.study.parties]
        self._rank = self._names.index(identity.name)
        self._state = state
        self._sealing = sealing
        self._desk = desk
        self._publication = Publication(job, identity, state, audit)
        self._queries = queries
        self._limit = memory
        self._cluster = cluster
        self._answering = None if queries is None else Answering(job, queries, self._others, desk.doors)
        self._ended = False
        self._alone_since: float | None = None
        self._ask_pause = ASK_SECONDS
        self._reopen_after = 0.0

    def work(self, reception: Reception, until_released: bool) -> None:
        """Lead or follow sessions until stopped, or, if so asked, until all parties have the model or this one failed.

        Whoever cannot be asked whether it has the model is waited for as long as for a connection, and no longer.
        StateError, if so asked, where another party says that no release can come any more; TransportError where the
        reception has stopped.
        """
        pause = _FIRST_PAUSE
        while not self._stopping.is_set():
            self._sign()
            if self._queries is not None:
                self._queries.expire()
            if until_released and self._over():
                return
            self._check(reception)
            begin = self._lead() if self._rank == 0 else self._invited()
            if begin is None:
                continue
            if self._attempt(reception, begin):
                pause = _FIRST_PAUSE
            elif self._rank == 0:
                self._stopping.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        self._check(reception)

    def _out(self) -> bool:
        """Whether this party takes part in no further session."""
        return self._ended or self._state.phase == "failed" or self._state.forgotten

    # --- before a session --------------------------------------------------------------------------------

    def _over(self) -> bool:
        """Whether nothing is left to do here; StateError where no release can come any more."""
        phase = self._state.phase
        if phase == "released":
            return self._all_have_the_model()
        if self._state.forgotten:
            raise StateError("The shares here were deleted (`cofit forget`): this party gets no model of the study.")
        self._others.glance()
        if phase == "failed":
            return self._all_know()
        for why in self._others.out.values():
            raise StateError(f"{why} This party stops: it gets no model.")
        return False

    def _all_know(self) -> bool:
        """Whether all others know that a check failed here, or are out themselves, or had the time to ask."""
        now = time.monotonic()
        self._alone_since = now if self._alone_since is None else self._alone_since
        known = self._desk.told_of_failure.union(self._others.out)
        return known.issuperset(self._others.names) or now - self._alone_since >= _TELL_SECONDS

    def _all_have_the_model(self) -> bool:
        """Whether all have the model, and had the time to see that we have it."""
        now = time.monotonic()
        self._alone_since = now if self._alone_since is None else self._alone_since
        for name in self._others.without_model:
            with contextlib.suppress(TransportError):
                self._others.state_of(name)
        if not self._others.without_model:
            return now - self._alone_since >= _LINGER_SECONDS
        if now - self._alone_since < max(self._study.compute.connect_timeout, _LINGER_SECONDS):
            return False
        missing = ", ".join(sorted(self._others.without_model))
        _log.warning("%s did not say that it has the model. If it has none, start this party again.", missing)
        return True

    def _invited(self) -> Begin | None:
        begin = self._desk.invitations.get(timeout=ASK_SECONDS)
        if begin is not None and self._out():
            self._say("This party takes part in no further session: a check failed here, or its shares were deleted.")
            return None
        return begin

    def _lead(self) -> Begin | None:
        """Ask the others, and invite them when everybody is ready; None, after a pause, if not."""
        try:
            begin = self._invitation() or self._to_answer()
        except TransportError as error:
            self._say(f"waits for '{error.peer}': {error}")
            begin = None
        except BusyError as error:
            self._say(str(error))
            begin = None
        except (OSError, sqlite3.Error, CofitError) as error:
            self._fail("invitation failed", error)
            begin = None
        if begin is None:
            self._stopping.wait(self._ask_pause)
            serving = self._answering is not None and self._state.phase == "released"
            self._ask_pause = ASK_SECONDS if serving else min(1.5 * self._ask_pause, _LONGEST_ASK)
        else:
            self._ask_pause = ASK_SECONDS
        return begin

    def _invitation(self) -> Begin | None:
        mine = None if self._out() else self._sealing.ready()
        if mine is None or (self._state.phase == "released" and not self._others.without_model):
            return None
        told = {name: self._others.state_of(name) for name in self._others.names}
        for name, state in told.items():
            if problem := self._hindrance(name, state, mine):
                self._say(problem)
                return None
        if self._state.phase == "released" and (
            not self._others.without_model or time.monotonic() < self._reopen_after
        ):
            return None
        dealers = [dealer.name for dealer in self._others.dealers]
        for name in dealers:
            with self._others.conversation(name) as conversation:
                told_plan = conversation.request({"request": "dealer.state"})[0].get("plan")
            if told_plan != self._job.hash:
                self._say(_another_plan(name))
                return None
        self._desk.doors.session()
        self._hold(mine, told)
        self._sealing.seal(datetime.now(UTC).isoformat(timespec="seconds"), mine)
        begin = Begin(secrets.token_bytes(16), self._state.fact("created") or "")
        for name in self._others.names:
            invitation = {"session": begin.session.hex(), "contributions": mine, "created": begin.created}
            with self._others.conversation(name) as conversation:
                conversation.request({"request": "party.begin", **invitation})
        for name in dealers:
            with self._others.conversation(name) as conversation:
                conversation.request({"request": "dealer.begin", "session": begin.session.hex()})
        return begin

    def _to_answer(self) -> Begin | None:
        """Invite the others to a session that answers a client, if there is a query for it."""
        if self._answering is None or self._out() or self._state.phase != "released":
            return None
        found = self._answering.next()
        return None if found is None else Begin(found[0], "", found[1])

    def _hold(self, mine: Mapping[str, str], told: Mapping[str, Mapping[str, Any]]) -> None:
        """Let the others keep what is going to be sealed, whatever their owners do meanwhile (see ``sealing``)."""
        for name, state in told.items():
            if state.get("phase") == "collecting" and state.get("held") != mine:
                with self._others.conversation(name) as conversation:
                    named = {"contributions": mine, "instead_of": state.get("held")}
                    conversation.request({"request": "party.hold", **named})

    def _hindrance(self, name: str, state: Mapping[str, Any], mine: Mapping[str, str]) -> str:
        """Return why no session with this party can begin, or nothing."""
        if name in self._others.out:
            return self._others.out[name]
        if state.get("plan") != self._job.hash:
            return _another_plan(name)
        theirs = mine if state.get("held") == mine else state.get("contributions")
        if not isinstance(theirs, dict):
            return f"waits for contributions to arrive at '{name}'"
        if differing := self._sealing.compare(name, mine, theirs):
            return f"The contributions at '{name}' differ from those here: {differing} must repeat `cofit contribute`."
        return ""

    # --- a session ---------------------------------------------------------------------------------------

    def _session(self, reception: Reception, begin: Begin) -> None:
        if begin.query is None:
            outcome, openings = self._done(reception, begin.session, self._job, self._state, self._end)
            self._publication.publish(outcome, openings, begin.created)
            if self._cluster is not None:
                self._cluster.close()  # the data are needed no more
            self._reopen_after = time.monotonic() + _PUBLISH_SECONDS
        else:
            self._answer(reception, begin.session, begin.query)

    def _answer(self, reception: Reception, session: bytes, name: str) -> None:
        """Take part in a session that answers a client."""
        queries, query = self._queries, None if self._queries is None else self._queries.get(name)
        if queries is None or query is None:
            raise StateError("The query of this session is not here any more.")
        try:
            outcome, _ = self._done(
                reception,
                session,
                query.job,
                query.state,
                partial(self._end_query, query),
                sessions=self._state,
                charge=partial(queries.charge, query),
            )
            queries.answered(query, outcome)
        except RefusedError as error:
            queries.fail(query, str(error))
            raise
        except Exception:
            if self._answering is not None:
                self._answering.failed(query)
            raise

    def _done(
        self,
        reception: Reception,
        session: bytes,
        job: Job,
        state: PartyState,
        end: Callable[[], None],
        **where: Any,
    ) -> tuple[Outcome, tuple[Opening, ...]]:
        """Do a job with all others, in a session; ``end`` is called where a check fails, before anybody is told."""
        peers, dealers, rank = self._others.peers, self._others.dealers, self._rank
        accept = [*peers[rank + 1 :], *dealers]
        on_disk = self._limit is not None and job.memory is not None and job.memory.exceeds(self._limit)
        with (
            engine_on(state.directory if on_disk and job.shards is None else None) as engine,
            self._mesh(reception, session, job, dial=peers[:rank], accept=accept) as mesh,
        ):
            dealer = dealers[0].name if dealers else None
            scheme = scheme_of(job.spec)(mesh, self._names, dealer, job.spec)
            scheme.engine, scheme.on_failure = engine or scheme.engine, end
            scheme.sessions = 1 + (job.shards or 0)
            try:
                scheme.setup()
                with self._spread(mesh, job, state, end, on_disk) as spread:
                    return run_session(scheme, job, state, self._audit, self._report, spread=spread, **where)
            except ProtocolError:
                end()  # before the mesh closes, and so tells the others
                raise

    @contextmanager
    def _spread(
        self, mesh: Mesh, job: Job, state: PartyState, end: Callable[[], None], on_disk: bool
    ) -> Iterator[Spread | None]:
        """Return what brings the rows to the shards of this party, where it has some, and end their sessions after."""
        if job.shards is None or self._cluster is None:
            yield None
            return

        def check() -> None:
            mesh.check_peers()
            self._check_running()

        most = None if job.spec.soundness_bits is None else MOST_SESSIONS
        self._cluster.on_failure = partial(self._noted_failure, end)
        spread = Spread(self._cluster, job, self._identity, job.shards, on_disk, state.component, check)
        if most is not None:
            spread.begun = partial(begin_once, state, most=most)
        spread.met = self._meet
        well = False
        try:
            yield spread
            well = True
        except ProtocolError:
            end()  # before the shards leave, and so tell the others
            raise
        finally:
            spread.end(well=well)

    def _meet(self, told: Sequence[bytes]) -> None:
        """Note whom the shards of this session are to meet.

        ProtocolError where a check failed at a shard in the session before, and is noted only now: all shards have
        answered in this one, so that none of them waits for that any more.
        """
        if self._ended:
            raise ProtocolError("A check failed at a worker, in the session before. This one ends, and none follows.")
        shards = len(told[0]) // DELEGATION_BYTES
        self._audit.write("shards met", shards=shards, delegations=hashlib.sha256(b"".join(told)).hexdigest())

    def _noted_failure(self, end: Callable[[], None]) -> None:
        """Note durably that a check failed at a worker, or raise StateError: it is tried again, and nobody is told."""
        end()
        if self._state.phase not in ("released", "failed"):
            raise StateError("The state directory cannot be written.")

    def _end_query(self, query: Query) -> None:
        """End a query in which a check failed, for good, and take part in no further session of this process."""
        self._end()
        if self._desk.about_queries is not None:
            self._desk.about_queries.closed = _CHECK_FAILED
        with self._disk_errors_logged():
            if self._queries is not None:
                self._queries.fail(query, _CHECK_FAILED)

    def _failed(self, error: Exception) -> None:
        if isinstance(error, ProtocolError):
            self._end()
            self._fail("check failed", error)
            if self._cluster is not None:
                self._cluster.close()  # and with it the rows at the workers
        elif not self._stopping.is_set():
            self._fail("session failed", error)

    def _end(self) -> None:
        """Take part in no further session, durably: before anybody is told, so that a kill cannot undo it."""
        self._ended = True
        if self._state.phase not in ("released", "failed"):
            with self._disk_errors_logged():
                self._state.advance("failed")

    def _sign(self) -> None:
        """Sign a release that was published by a process that did not come to it; it is tried again until it works."""
        if not self._publication.unsigned:
            return
        try:
            self._publication.sign()
        except (OSError, sqlite3.Error, CofitError) as error:
            self._say(f"The release cannot be signed yet: {disk_problem(error) or error}")


def _another_plan(name: str) -> str:
    return f"'{name}' computes another plan of this study. Run the same cofit release everywhere."
