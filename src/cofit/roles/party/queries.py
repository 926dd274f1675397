"""The queries of clients at a computing party: what is here of each, and of how many rows each client was answered.

A query is a job with a state directory of its own, in the party's: its upload, its coin, its stored release, its phase.

    DIR/queries/ID                  as in ``state``; the facts 'client', 'rows', 'answers' and 'since' beside
    DIR/queries/ID/answer           the opened sum of answers and mask, for the client to fetch
    DIR/state.sqlite, facts         'answered CLIENT': the rows that were counted; 'query ID': that this one was;
                                    'ended ID': that this one was sealed, and ended uncounted

**Counted before answered.** The rows of a query are added to the client's count, and the query noted, in one
transaction, before this party stores its share of the masked answer; all parties store theirs before anything is opened
(``secret.release``). So at whatever moment processes are killed, every party's count is at least the rows that were
opened. A query is counted once, however many sessions it takes; what was counted is never taken back.

**Never twice under one mask.** A query whose share was stored is opened from that store alone (``guard``), and once
its directory is gone the note in the party's own state stays: its id is refused for ever. So is the id of one that was
sealed and ended without being counted: it may have been in a session, and under its id the other parties hold its
upload and its coin. Had it come back with another upload or without its nonce, they would take that for a lie of this
party, and answer nobody any more. What was never sealed is forgotten with its directory.

A client has at most ``MOST_QUERIES`` here. One more takes the place of the oldest that is not being computed, or that
has waited ``STUCK_SECONDS`` for it: a client that was stopped while it sent, and lost its seed, leaves queries that are
sealed here and nowhere else, and is not to be locked out by them. They all end after a day. So nobody can fill a disk:
a query is as large as its rows, whose number is limited too.
"""

from __future__ import annotations

import contextlib
import logging
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cofit.errors import CofitError, InvalidInputError, StateError, parameter_error
from cofit.roles.files.audit import AuditFile
from cofit.roles.files.durable import sync_directory, write_durably
from cofit.roles.files.manifest import check_manifest, files_for, manifest_hash
from cofit.roles.files.release_store import FileStore
from cofit.roles.jobs.job import Outcome, QueryJob, Question, Questions
from cofit.roles.party.state import PUBLISHED, QUERIES, PartyState
from cofit.roles.service.doors import BusyError, RefusedError
from cofit.study.agreement import Agreement

MOST_QUERIES = 3
"""Of one client, at one time: one is computed while the next is sent, and one is fetched."""
KEPT_SECONDS = 24 * 3600.0
STUCK_SECONDS = 600.0
ANSWER = "answer"
_ID = re.compile(r"[0-9a-f]{32}")
_BUSY_SECONDS = 5.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class KeptModel:
    """Implements ``jobs.job.Kept``: what training has left in a party's directory."""

    state: PartyState

    def store(self) -> FileStore:
        return FileStore(self.state.stored_at(1))

    def published(self) -> bytes:
        try:
            return (self.state.directory / PUBLISHED).read_bytes()
        except FileNotFoundError:
            raise StateError(f"{PUBLISHED} is missing in the state directory. Put back a backup of it.") from None


@dataclass(eq=False)
class Query:
    """One query here. settled: every party has its answer, or never will. failures: sessions that ended without one, in
    this process. waits: how often another party did not have it yet. due: not computed before that time, by the
    monotonic clock."""

    job: QueryJob
    state: PartyState
    since: float
    settled: bool = False
    failures: int = 0
    waits: int = 0
    due: float = field(default=0.0)

    @property
    def id(self) -> str:
        """Its random name."""
        return self.job.question.query

    @property
    def arrived(self) -> bool:
        """Whether all that was announced is here; it may still end, or be refused, before it is sealed."""
        upload = self.state.upload(self.job.question.client)
        return upload is not None and upload.committed

    @property
    def complete(self) -> str | None:
        """The hash of what was announced, once it is sealed: never before, for until then its client can replace it."""
        upload = self.state.upload(self.job.question.client)
        if upload is None or self.state.phase == "collecting":
            return None
        return manifest_hash(upload.manifest["common"])


class Queries:
    """All queries of one party. Safe to call from several threads. clock: seconds since 1970."""

    def __init__(
        self,
        study: Agreement,
        questions: Questions,
        rank: int,
        state: PartyState,
        audit: AuditFile,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._study = study
        self._questions = questions
        self._rank = rank
        self._state = state
        self._audit = audit
        self._clock = clock
        self._lock = threading.RLock()
        self._here: dict[str, Query] = {}
        for folder in sorted((state.directory / QUERIES).glob("*")):
            self._recall(folder)

    def _recall(self, folder: Path) -> None:
        """Take up a query that an earlier process has left; what it had only begun is deleted."""
        try:
            state = PartyState(folder, self._study.hash, self._study.parties[self._rank].name)
        except (CofitError, OSError) as error:
            _log.warning("a query that was begun is of no use and deleted: %s", error)
            self._state.record(**{_ended(folder.name): ""})  # it may have been sealed
            shutil.rmtree(folder, ignore_errors=True)
            return
        client, rows, answers, since = (state.fact(name) for name in ("client", "rows", "answers", "since"))
        if client is None or rows is None or answers is None or since is None:
            state.close()
            shutil.rmtree(folder, ignore_errors=True)
            return
        job = self._questions.asked(Question(folder.name, client, int(rows), answers), KeptModel(self._state))
        self._here[folder.name] = Query(job, state, float(since))

    def close(self) -> None:
        """Let another process work with them."""
        with self._lock:
            for query in self._here.values():
                query.state.close()
            self._here.clear()

    # --- counting ----------------------------------------------------------------------------------------

    def counted(self, client: str) -> int:
        """Return of how many rows a client was answered, or may have been."""
        return int(self._state.fact(_answered(client)) or 0)

    def charge(self, query: Query) -> None:
        """Count the rows of a query, durably, once; RefusedError where the study allows the client no more."""
        asked = query.job.question
        with self._lock:
            if self._state.fact(_counted(query.id)) is not None:
                return
            total = self.counted(asked.client) + asked.rows
            if query.job.limit is not None and total > query.job.limit:
                raise _limit(query.job, total - asked.rows)
            self._state.record(
                **{_answered(asked.client): str(total), _counted(query.id): f"{asked.client} {asked.rows}"}
            )

    # --- clients -----------------------------------------------------------------------------------------

    def begin(self, client: str, request: Mapping[str, Any]) -> dict[str, int]:
        """Take the announcement of a query; return how many bytes of each of its files are here already."""
        name, rows, answers = request.get("query"), request.get("rows"), str(request.get("answers"))
        if not isinstance(name, str) or not _ID.fullmatch(name):
            raise parameter_error("query", "query.begin", "32 hexadecimal digits", name)
        if isinstance(rows, bool) or not isinstance(rows, int):
            raise parameter_error("rows", "query.begin", "an integer", rows)
        job = self._questions.asked(Question(name, client, rows, answers), KeptModel(self._state))
        inputs = job.inputs[client]
        manifest = check_manifest(request.get("manifest"), job.spec, inputs, plan=job.hash, vertical=False)
        if manifest["upload"] != name:
            raise parameter_error("upload", "a manifest", "the id of its query", manifest["upload"])
        with self._lock:
            known = self._here.get(name)
            if known is None:
                self._check_new(job)
                known = self._created(job)
            elif known.job.question != job.question:
                raise StateError(f"Query {name} was announced before, with other rows or by somebody else.")
            stored = {"common": manifest, "files": files_for(manifest, self._rank)}
            return known.state.begin_upload(client, name, stored)

    def _check_new(self, job: QueryJob) -> None:
        asked = job.question
        if self._state.fact(_counted(asked.query)) is not None:
            raise StateError(f"Query {asked.query} was answered before. Ask anew, with another id and mask.")
        if self._state.fact(_ended(asked.query)) is not None:
            raise StateError(f"Query {asked.query} has ended here. Ask anew, with another id and mask.")
        self._check_limit(job)
        own = self._of_client(asked.client)
        if len(own) >= MOST_QUERIES:
            idle = [query for query in own if self._idle(query)]
            if not idle:
                why = f"{len(own)} queries of '{asked.client}' are being computed"
                raise BusyError("This party", why, _BUSY_SECONDS)
            self._drop(min(idle, key=lambda query: query.since))

    def _idle(self, query: Query) -> bool:
        """Whether another one may take its place."""
        stuck = query.state.phase == "sealed" and self._clock() - query.since > STUCK_SECONDS
        return stuck or query.state.phase in ("collecting", "released", "failed")

    def _of_client(self, client: str) -> list[Query]:
        return [query for query in self._here.values() if query.job.question.client == client]

    def _check_limit(self, job: QueryJob) -> None:
        """Raise RefusedError unless the rows fit beside those that were counted, or will be: of sealed queries."""
        sealed = [one for one in self._of_client(job.question.client) if one.state.phase in ("sealed", "stored")]
        due = [one.job.question.rows for one in sealed if self._state.fact(_counted(one.id)) is None]
        counted = self.counted(job.question.client) + sum(due)
        if job.limit is not None and counted + job.question.rows > job.limit:
            raise _limit(job, counted)

    def _created(self, job: QueryJob) -> Query:
        folder = self._state.directory / QUERIES / job.question.query
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        state = PartyState(folder, self._study.hash, self._study.parties[self._rank].name)
        sync_directory(folder.parent)
        asked, since = job.question, self._clock()
        state.record(client=asked.client, rows=str(asked.rows), answers=asked.answers, since=repr(since))
        query = self._here[asked.query] = Query(job, state, since)
        named = asked.query
        self._audit.note("query announced", asked.client, query=named, rows=asked.rows, answers=asked.answers)
        return query

    def of(self, client: str, name: object) -> Query:
        """Return a client's own query; StateError where it is not here."""
        with self._lock:
            query = self._here.get(str(name))
        if query is None or query.job.question.client != client:
            raise StateError("No such query is here: it was fetched, or has ended, or was never announced.")
        return query

    def seal(self, query: Query) -> None:
        """Let nothing of a complete query be replaced; RefusedError where the client's other queries leave no rows."""
        with self._lock:
            if query.state.phase == "collecting":
                self._check_limit(query.job)
                query.state.seal("", take_back=False)

    def done(self, client: str, name: object) -> None:
        """Delete a query that its client has got, or wants no more; what was counted stays so."""
        with self._lock:
            query = self.of(client, name)
            if query.state.phase in ("sealed", "stored"):
                raise StateError("This query is being computed.")
            self._drop(query)

    # --- sessions ----------------------------------------------------------------------------------------

    def get(self, name: str) -> Query | None:
        """Return a query that is here."""
        with self._lock:
            return self._here.get(name)

    def waiting(self) -> Iterator[Query]:
        """Return the complete queries whose answer not every party is known to have, the oldest first."""
        with self._lock:
            found = sorted(self._here.values(), key=lambda query: query.since)
        now = time.monotonic()
        return (q for q in found if not q.settled and q.due <= now and q.state.phase not in ("collecting", "failed"))

    def answered(self, query: Query, outcome: Outcome) -> None:
        """Keep what a session has opened, for the client to fetch: it is there when the phase says so."""
        path = query.state.directory / ANSWER
        if query.state.phase != "released":
            write_durably(path, query.job.publish(outcome, (), ""))
            query.state.advance("released")
            asked = query.job.question
            _log.info("query %s of '%s' is answered: %d rows", query.id[:8], asked.client, asked.rows)

    def fail(self, query: Query, why: str) -> None:
        """End a query: its client is told, and asks anew."""
        with self._lock:
            if query.state.phase not in ("failed", "released"):
                query.state.record(why=why)
                query.state.advance("failed")
                self._audit.note("query failed", query.job.question.client, query=query.id, why=why)

    def expire(self) -> None:
        """End what is older than a day."""
        now = self._clock()
        with self._lock:
            for query in [q for q in self._here.values() if now - q.since > KEPT_SECONDS]:
                self._drop(query)

    def _drop(self, query: Query) -> None:
        if query.state.phase != "collecting" and self._state.fact(_counted(query.id)) is None:
            self._state.record(**{_ended(query.id): query.job.question.client})
        self._here.pop(query.id, None)
        query.state.close()
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(query.state.directory)
        sync_directory(query.state.directory.parent)


def _answered(client: str) -> str:
    return f"answered {client}"


def _counted(query: str) -> str:
    return f"query {query}"


def _ended(query: str) -> str:
    return f"ended {query}"


def _limit(job: QueryJob, counted: int) -> RefusedError:
    asked = job.question
    left = max((job.limit or 0) - counted, 0)
    remedy = f"Ask about {left:,} or fewer, or" if left else "To ask more,"
    return RefusedError(
        f"The study lets '{asked.client}' be answered {job.limit:,} rows in all, of which {counted:,} are used: "
        f"{asked.rows:,} more are too many. {remedy} agree on a study with a larger limit."
    )


def check_query(name: object) -> str:
    """Return the id of a query that a party names, or raise InvalidInputError."""
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise InvalidInputError("A query is named by 32 hexadecimal digits.")
    return name
