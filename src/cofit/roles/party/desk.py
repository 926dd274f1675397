"""What a computing party answers to requests, and to whom (``service.desk`` says how).

    upload.begin, upload.chunk, upload.commit    an owner, of its own contribution only
    status                                       every participant of the study
    model, model.signature                       the analysts of the study
    party.state                                  the other computing parties
    party.hold, party.begin                      the leading party (``sealing`` says what they do)
    query.*, party.query, party.answer           clients, and the parties about them (``query_desk``)

Nobody can read a share, a log, or another's contribution. Answers hold public facts only.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cofit.errors import StateError
from cofit.roles.files.audit import AuditFile, Fact
from cofit.roles.files.manifest import check_manifest, files_for
from cofit.roles.jobs.job import Job
from cofit.roles.party.queries import Queries
from cofit.roles.party.query_desk import LARGEST_PIECE, QueryDesk, append_piece, offset_of
from cofit.roles.party.sealing import Sealing
from cofit.roles.party.state import PUBLISHED, SIGNATURE, OtherContentsError, PartyState
from cofit.roles.service.desk import Answer, Desk, Invitations, Request, session_of
from cofit.roles.service.doors import Doors, RefusedError
from cofit.study.expected import party_ranks

_MOST_REPLACEMENTS = 1000


@dataclass(frozen=True)
class Begin:
    """An invitation of the leading party to a session. ``created``: the date that the certificate will carry.
    ``query``: of the client that is answered in it; None: the study's own job is done."""

    session: bytes
    created: str
    query: str | None = None


class PartyDesk(Desk):
    """Answers requests from the party's state. Safe to call from several threads."""

    def __init__(
        self,
        job: Job,
        rank: int,
        state: PartyState,
        sealing: Sealing,
        audit: AuditFile,
        progress: Callable[[], dict[str, Any]],
        clock: Callable[[], float] = time.monotonic,
        queries: Queries | None = None,
    ) -> None:
        requests = {
            "upload.begin": Request("owner", self._begin_upload, ("manifest",)),
            "upload.chunk": Request("owner", self._chunk, ("upload", "file", "offset")),
            "upload.commit": Request("owner", self._commit, ("upload",)),
            "status": Request("any", self._status),
            "model": Request("reader", self._model, ("offset",)),
            "model.signature": Request("reader", self._signature),
            "party.state": Request("party", self._party_state),
            "party.hold": Request("leader", self._hold, ("contributions", "instead_of")),
            "party.begin": Request("leader", self._begin, ("session", "contributions", "created")),
        }
        doors = Doors("This party", clock)
        self.invitations = Invitations[Begin]()
        self.about_queries: QueryDesk | None = None
        self._queries = queries
        if queries is not None:
            self.about_queries = QueryDesk(queries, state, doors, self._incarnation, self._invite)
            requests |= self.about_queries.requests
        super().__init__(job.study, audit, doors, requests)
        self._study = job.study
        self._job = job
        self._rank = rank
        self._state = state
        self._progress = progress
        self._sealing = sealing
        self.told_of_failure: set[str] = set()
        self._of_other_rows: dict[str, str] = {}
        self._of_other_contents: dict[str, str] = {}

    # --- owners ------------------------------------------------------------------------------------------

    def _begin_upload(self, owner: str, request: dict[str, Any], payload: bytes) -> Answer:
        manifest = check_manifest(
            request.get("manifest"),
            self._job.spec,
            self._job.inputs[owner],
            plan=self._job.hash,
            vertical=self._study.common_rows,
            holder=party_ranks(self._study).get(owner),
        )
        stored = {"common": manifest, "files": files_for(manifest, self._rank)}
        if self._state.forgotten:
            raise RefusedError("This party has deleted its shares of the study (`cofit forget`) and takes no new ones.")
        with self._sealing.lock:
            before = self._state.upload(owner)
            self._retire(owner, manifest["upload"])
            sizes = self._state.begin_upload(owner, manifest["upload"], stored)
            known = self._state.upload(owner)
        committed = known is not None and known.committed
        facts: dict[str, Fact] = {"owner": owner, "upload": manifest["upload"], "complete": committed}
        if before is None or before.upload != manifest["upload"]:
            self._audit.write("upload announced", **facts)
        else:
            self._audit.note("upload announced again", owner, **facts)
        return {"sizes": sizes, "committed": committed, "incarnation": self._incarnation()}, b""

    def _incarnation(self) -> str:
        """The random text that came with this party's state: owners tell by it whether this is still the same run."""
        return self._state.fact("incarnation") or ""

    def _retire(self, owner: str, upload: str) -> None:
        """Remember that an upload takes the place of the one before, which then never comes back.

        Owners take a new id for every upload: an old one that returns is a process that was left behind.
        """
        known = self._state.upload(owner)
        if known is None or known.upload == upload or self._state.phase != "collecting":
            return
        if self._state.fact(_retired(owner, upload)) is not None:
            raise StateError(f"Upload {upload} was replaced by a newer one and cannot come back.")
        count = int(self._state.fact(f"replacements {owner}") or 0) + 1
        if count > _MOST_REPLACEMENTS:
            raise RefusedError(
                f"'{owner}' has replaced its contribution {_MOST_REPLACEMENTS} times; no more is possible."
            )
        self._state.record(**{_retired(owner, known.upload): "replaced", f"replacements {owner}": str(count)})

    def _chunk(self, owner: str, request: dict[str, Any], payload: bytes) -> Answer:
        return {"size": append_piece(self._state, owner, request, payload, "upload.chunk")}, b""

    def _commit(self, owner: str, request: dict[str, Any], payload: bytes) -> Answer:
        upload = str(request.get("upload"))

        def check_rows() -> None:
            known = self._state.upload(owner)
            waits = known is not None and known.upload == upload and not known.committed
            if waits and (others := self._sealing.other_rows(owner)):
                self._of_other_rows[owner] = upload
                self._audit.note("rows differ", owner, owner=owner, upload=upload, others=others)
                raise StateError(_rows_differ(owner, others))

        known = self._state.upload(owner)
        again = known is not None and known.upload == upload and known.committed
        check_rows()  # before all of it is read; another owner's may be complete by the time it was
        try:
            self._state.commit(owner, upload, check_rows)
        except OtherContentsError as error:
            if self._of_other_contents.get(owner) != upload:  # one line for each upload, however often it is tried
                self._of_other_contents[owner] = upload
                self._audit.note("shares differ", owner, owner=owner, upload=upload, file=error.file)
            raise StateError(str(error)) from None
        if not again:
            self._audit.write("upload complete", owner=owner, upload=upload)
        return {"committed": True}, b""

    # --- everybody ---------------------------------------------------------------------------------------

    def _status(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        answered = {}
        if self._queries is not None:
            answered["answered"] = {name: self._queries.counted(name) for name in self._clients_shown_to(peer)}
        return {
            **answered,
            "party": self._study.parties[self._rank].name,
            "study": self._study.hash,
            "job": self._job.name,
            "plan": self._job.hash,
            "incarnation": self._incarnation(),
            "phase": self._state.phase,
            "contributions": {owner: self._contribution(owner) for owner in self._job.inputs},
            "progress": self._progress(),
        }, b""

    def _clients_shown_to(self, peer: str) -> list[str]:
        """Whose counts somebody sees: who is nothing but a client sees its own, and not how much others ask."""
        study = self._study
        others = {one.name for one in (*study.parties, *study.owners, *study.analysts)}
        return [client.name for client in study.clients if peer in others or client.name == peer]

    def _contribution(self, owner: str) -> str:
        upload = self._state.upload(owner)
        if upload is None:
            return "missing"
        refused = not upload.committed and self._of_other_contents.get(owner) == upload.upload
        if refused or self._sealing.differs(owner):
            return "shares differ"
        told = upload.committed or self._of_other_rows.get(owner) == upload.upload
        if told and self._sealing.other_rows(owner):
            return "rows differ"
        return "complete" if upload.committed else "incomplete"

    def _model(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        """A piece of the release from an offset on, and the size of all of it. It never changes once it is there."""
        offset = offset_of(request, "model")
        path = self._state.directory / PUBLISHED
        if self._state.phase != "released" or not path.exists():
            raise RefusedError(f"There is no model yet: the study is {self._state.phase}.")
        if not offset:
            self._audit.note("model fetched", peer, analyst=peer)
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(min(offset, size))
            return {"size": size}, file.read(LARGEST_PIECE)

    def _signature(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        """This party's signature of the release."""
        path = self._state.directory / SIGNATURE
        if self._state.phase != "released" or not path.exists():
            raise RefusedError("This party has not signed the release yet. Ask again; if it lasts, its log says why.")
        return {"signature": json.loads(path.read_bytes())["signature"]}, b""

    # --- parties -----------------------------------------------------------------------------------------

    def _party_state(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        phase = self._state.phase
        if phase == "failed":
            self.told_of_failure.add(peer)
        return {
            "phase": phase,
            "forgotten": self._state.forgotten,
            "plan": self._job.hash,
            "contributions": self._sealing.ready(),
            "held": self._sealing.held(),
        }, b""

    def _hold(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        self._check_open()
        self._sealing.hold(request.get("contributions"), request.get("instead_of"))
        return {}, b""

    def _begin(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        self._check_open()
        session = session_of(request)
        self.doors.session()
        self._sealing.seal(str(request.get("created")), request.get("contributions"))
        self.invitations.put(Begin(session, self._state.fact("created") or ""))
        return {}, b""

    def _invite(self, session: bytes, query: str) -> None:
        self.invitations.put(Begin(session, "", query))

    def _check_open(self) -> None:
        """Raise RefusedError if this party takes part in no session any more."""
        if self._state.phase == "failed":
            raise RefusedError("A check failed here: this study is not resumed.")
        if self._state.forgotten:
            raise RefusedError("This party has deleted its shares of the study (`cofit forget`).")


def _retired(owner: str, upload: str) -> str:
    return f"retired {owner} {upload}"


def _rows_differ(owner: str, others: list[str]) -> str:
    named = " and ".join(f"'{other}'" for other in others)
    return (
        f"The rows of '{owner}' are not those of {named}: the digests of their row keys differ. Check on both sides "
        f"that the tables have the same row keys and that all owners use the same secret (`cofit align --compare` "
        f"tells how many rows are missing where). Then whoever was wrong contributes again."
    )
