"""What a dealer answers to requests, and to whom (``service.desk`` says how).

status          everybody who takes part: public facts
dealer.state    the computing parties: which plan it computes
dealer.begin    the first party: come to a session
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cofit.errors import parameter_error
from cofit.roles.files.audit import AuditFile
from cofit.roles.jobs.job import Job, Question
from cofit.roles.service.desk import Answer, Desk, Invitations, Request, session_of
from cofit.roles.service.doors import Doors


@dataclass(frozen=True)
class Call:
    """A call of the leading party to a session. ``job``: what is done in it."""

    session: bytes
    job: Job


class DealerDesk(Desk):
    """Answers requests. Safe to call from several threads."""

    def __init__(
        self,
        job: Job,
        name: str,
        audit: AuditFile,
        progress: Callable[[], dict[str, Any]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        requests = {
            "status": Request("any", self._status),
            "dealer.state": Request("party", self._state),
            "dealer.begin": Request("leader", self._begin, ("session", "question")),
        }
        super().__init__(job.study, audit, Doors("The dealer", clock), requests)
        self._job = job
        self._name = name
        self._progress = progress
        self.invitations = Invitations[Call]()

    def _status(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        progress = self._progress()
        phase = "dealing" if progress else "waiting"
        return {"party": self._name, "job": self._job.name, "phase": phase, "progress": progress}, b""

    def _state(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        return {"plan": self._job.hash}, b""

    def _begin(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        session = session_of(request)
        job = self._job if request.get("question") is None else self._asked(request["question"])
        if job is self._job:
            self.doors.session()
        else:
            self.doors.query()
        self.invitations.put(Call(session, job))
        return {}, b""

    def _asked(self, facts: object) -> Job:
        """Return the job that answers a client."""
        if self._job.questions is None:
            raise parameter_error("question", "dealer.begin", "left out: the study has no clients", "a question")
        if not isinstance(facts, dict) or set(facts) != {"query", "client", "rows", "answers"}:
            must_be = "an object with 'query', 'client', 'rows' and 'answers'"
            raise parameter_error("question", "dealer.begin", must_be, type(facts).__name__)
        return self._job.questions.asked(Question(**facts))
