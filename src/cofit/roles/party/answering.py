"""When the leading party calls to a session that answers a query: as soon as all parties hold the same of it.

A query that is announced does not change (its id is its upload's), so parties need not hold or seal it together as they
do contributions: the leader compares what all have, once each says that it is complete, and in the session all compare
again. One session answers one query. It is repeated until every party has the answer: the stored shares are opened
again, for one that was stopped in between.

A client that announced different things to different parties is told so, and its query has ended. One that announced a
query here and never elsewhere is asked about less and less often: the others answer the leader only so many requests a
second, and those about one client's queries must not use them up for all.
"""

from __future__ import annotations

import secrets
import time
from typing import Any

from cofit.roles.jobs.job import Job
from cofit.roles.party.queries import Queries, Query
from cofit.roles.service.doors import Doors
from cofit.roles.service.other_parties import OtherParties

MOST_FAILURES = 10
"""Sessions in a row that end without an answer, before a query is given up."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 10.0
_DIFFERENT = "the parties were told different things of this query"
_LOST = "a party that had this query has it no more"
_GIVEN_UP = "the parties could not compute it together; ask again later"


class Answering:
    """The leader's side."""

    def __init__(self, job: Job, queries: Queries, others: OtherParties, doors: Doors) -> None:
        self._job = job
        self._queries = queries
        self._others = others
        self._doors = doors

    def next(self) -> tuple[bytes, str] | None:
        """Invite everybody to the next session that a query needs; return session and query, if there is one."""
        for query in self._queries.waiting():
            told = {name: self._asked(name, query) for name in self._others.names}
            if self._ready(query, told):
                return self._invited(query)
        return None

    def failed(self, query: Query) -> None:
        """Try again after a pause, or give up."""
        query.failures += 1
        query.due = time.monotonic() + min(_FIRST_PAUSE * 2**query.failures, _LONGEST_PAUSE)
        if query.failures >= MOST_FAILURES:
            self._queries.fail(query, _GIVEN_UP)

    def _asked(self, name: str, query: Query) -> dict[str, Any]:
        with self._others.conversation(name) as conversation:
            return conversation.request({"request": "party.query", "query": query.id})[0]

    def _ready(self, query: Query, told: dict[str, dict[str, Any]]) -> bool:
        """Whether all hold the same, and somebody has no answer yet."""
        states = list(told.values())
        if query.state.phase == "released" and all(state.get("phase") in ("released", "") for state in states):
            query.settled = True  # one that lacks it had it: its client has fetched from all
            return False
        if any(state.get("phase") == "failed" for state in states):
            query.settled = True  # also where it is answered here: there is no more to come
            self._queries.fail(query, _LOST)
            return False
        if query.state.phase == "stored" and any(state.get("phase") == "" for state in states):
            self._queries.fail(query, _LOST)
            return False
        if any(state.get("complete") is None for state in states):
            query.waits += 1
            query.due = time.monotonic() + min(_FIRST_PAUSE * 1.5**query.waits, _LONGEST_PAUSE)
            return False
        if any(state.get("complete") != query.complete or state.get("plan") != query.job.hash for state in states):
            self._queries.fail(query, _DIFFERENT)
            return False
        return True

    def _invited(self, query: Query) -> tuple[bytes, str]:
        self._doors.query()
        session, asked = secrets.token_bytes(16), query.job.question
        for name in self._others.names:
            with self._others.conversation(name) as conversation:
                conversation.request({"request": "party.answer", "session": session.hex(), "query": query.id})
        for dealer in self._others.dealers:
            with self._others.conversation(dealer.name) as conversation:
                facts = {"query": asked.query, "client": asked.client, "rows": asked.rows, "answers": asked.answers}
                conversation.request({"request": "dealer.begin", "session": session.hex(), "question": facts})
        return session, query.id
