"""Who may ask a serving participant what, and the one way in which requests are answered or refused.

Everything that is not in the table of requests is refused and noted. Whoever asks, or fails, too often is told that the
participant is busy, and that is not noted (``doors``); what peers can bring about without end is summed up in the log
beyond so many lines a day: so nobody can fill a disk or keep a participant from its work with requests. A desk knows
nothing of sockets: ``answer`` takes the name that TLS has proven, a request and its payload.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar

from cofit.errors import parameter_error
from cofit.roles.files.audit import AuditFile
from cofit.roles.files.durable import disk_problem
from cofit.roles.service.doors import Doors, RefusedError, shown
from cofit.study.agreement import Agreement

Answer: TypeAlias = tuple[dict[str, Any], bytes]
Action: TypeAlias = Callable[[str, dict[str, Any], bytes], Answer]
B = TypeVar("B")
_log = logging.getLogger(__name__)
_SESSION = re.compile(r"[0-9a-f]{32}")
_ONLY = {
    "owner": "only an owner of the study may ask this",
    "reader": "only an analyst or a client of the study may ask this",
    "client": "only a client of the study may ask this",
    "party": "only a computing party of the study may ask this",
    "leader": "only the first party of the study leads",
}
_UPLOADS = {
    "owner": ("upload.begin", "upload.chunk", "upload.commit"),
    "client": ("query.begin", "query.chunk", "query.commit"),
}


@dataclass(frozen=True)
class Request:
    """Who may ask it ('owner', 'reader', 'client', 'party', 'leader', or 'any'), what answers it, and its fields."""

    role: str
    action: Action
    fields: tuple[str, ...] = ()


class Desk:
    """Answers requests by a table. Safe to call from several threads."""

    def __init__(self, study: Agreement, audit: AuditFile, doors: Doors, requests: Mapping[str, Request]) -> None:
        self._audit = audit
        self.doors = doors
        self._requests = requests
        self._roles = {
            "owner": {owner.name for owner in study.owners},
            "party": {party.name for party in study.parties},
            "leader": {study.parties[0].name},
            "client": {client.name for client in study.clients},
            "reader": {one.name for one in (*study.analysts, *study.clients)},
        }

    def answer(self, peer: str, request: Mapping[str, Any], payload: bytes) -> Answer:
        """Answer one request, or raise: RefusedError, InvalidInputError or StateError, whose text may be sent back."""
        kind = request.get("request")
        upload = any(peer in self._roles[role] and kind in kinds for role, kinds in _UPLOADS.items())
        with self.doors.request(
            peer,
            upload=upload,
            counted=not upload or kind not in ("upload.chunk", "query.chunk"),
            alone=kind not in ("upload.commit", "query.commit"),  # which read all that was uploaded
        ):
            if not isinstance(kind, str) or kind not in self._requests:
                self._refuse(peer, shown(kind), "unknown request")
            known = self._requests[kind]
            if known.role != "any" and peer not in self._roles[known.role]:
                self._refuse(peer, kind, _ONLY[known.role])
            if unknown := set(request) - {"request", *known.fields}:
                self._refuse(peer, kind, f"unknown fields {sorted(map(shown, unknown))[:5]}")
            return known.action(peer, dict(request), payload)

    def _refuse(self, peer: str, request: str, why: str) -> NoReturn:
        try:
            self._audit.note("request refused", peer, request=request, why=why)
        except OSError as error:  # a refusal needs no disk
            if self.doors.loggable("disk", peer):
                _log.error(
                    "a request of '%s' was refused (%s) and could not be noted: %s", peer, why, disk_problem(error)
                )
        raise RefusedError(f"{why}.")


class Invitations(Generic[B]):
    """Calls to sessions by the leading party: only the newest counts."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[B] = queue.Queue(1)
        self._inviting = threading.Lock()

    def put(self, begin: B) -> None:
        """Take an invitation, in place of one that waits."""
        with self._inviting:
            with contextlib.suppress(queue.Empty):
                self._waiting.get_nowait()
            self._waiting.put_nowait(begin)

    def get(self, timeout: float) -> B | None:
        """Return the newest invitation, or None if none comes within so many seconds."""
        try:
            return self._waiting.get(timeout=timeout) if timeout else self._waiting.get_nowait()
        except queue.Empty:
            return None


def session_of(request: Mapping[str, Any]) -> bytes:
    """Return the id of the session that a request calls to."""
    session = request.get("session")
    if not isinstance(session, str) or not _SESSION.fullmatch(session):
        raise parameter_error("session", str(request.get("request")), "32 hexadecimal digits", shown(session))
    return bytes.fromhex(session)
