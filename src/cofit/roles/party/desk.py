"""What a computing party answers to requests, and to whom.

    upload.begin, upload.chunk, upload.commit    an owner, of its own contribution only
    status                                       every participant of the study
    model, model.signature                       the analysts of the study
    party.state                                  the other computing parties
    party.hold, party.begin                      the leading party (``sealing`` says what they do)

Everything else is refused and noted. Whoever asks, or fails, too often is told that the party is busy, and that is not
noted (``doors``); what peers can bring about without end is summed up in the log beyond so many lines a day: so nobody
can fill the party's disk or keep it from its work with requests. Nobody can read a share, a log, or another's
contribution. Answers hold public facts only. The desk knows nothing of sockets: ``answer`` takes the name that TLS has
proven, a request and its payload.
"""

from __future__ import annotations

import contextlib
import json
import queue
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from cofit.errors import InvalidInputError, StateError, parameter_error
from cofit.learn.plan import Plan
from cofit.roles.files.audit import AuditFile, Fact
from cofit.roles.files.manifest import check_manifest, files_for
from cofit.roles.party.sealing import Sealing
from cofit.roles.party.state import PUBLISHED, SIGNATURE, OtherContentsError, PartyState, check_file_name
from cofit.roles.service.doors import Doors, RefusedError, shown
from cofit.secret import InputFacts
from cofit.study.document import Study
from cofit.study.expected import party_ranks

Answer: TypeAlias = tuple[dict[str, Any], bytes]
_SESSION = re.compile(r"[0-9a-f]{32}")
_LARGEST_PIECE = 4 << 20
_MOST_REPLACEMENTS = 1000


@dataclass(frozen=True)
class Begin:
    """An invitation of the leading party to a session. ``created``: the date that the certificate will carry."""

    session: bytes
    created: str


class Desk:
    """Answers requests from the party's state. Safe to call from several threads."""

    def __init__(
        self,
        study: Study,
        plan: Plan,
        expected: Mapping[str, Mapping[str, InputFacts]],
        rank: int,
        state: PartyState,
        sealing: Sealing,
        audit: AuditFile,
        progress: Callable[[], dict[str, Any]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._study = study
        self._plan_hash = plan.hash
        self._expected = expected
        self._rank = rank
        self._state = state
        self._audit = audit
        self._progress = progress
        self.doors = Doors("This party", clock)
        self._sealing = sealing
        self._roles = {
            "owner": {owner.name for owner in study.owners},
            "party": {party.name for party in study.parties},
            "analyst": {analyst.name for analyst in study.analysts},
        }
        self.invitations: queue.Queue[Begin] = queue.Queue(1)
        self._inviting = threading.Lock()
        self.told_of_failure: set[str] = set()
        self._of_other_rows: dict[str, str] = {}
        self._of_other_contents: dict[str, str] = {}
        self._requests: dict[str, tuple[str, Callable[[str, dict[str, Any], bytes], Answer]]] = {
            "upload.begin": ("owner", self._begin_upload),
            "upload.chunk": ("owner", self._chunk),
            "upload.commit": ("owner", self._commit),
            "status": ("any", self._status),
            "model": ("analyst", self._model),
            "model.signature": ("analyst", self._signature),
            "party.state": ("party", self._party_state),
            "party.hold": ("party", self._hold),
            "party.begin": ("party", self._begin),
        }

    def answer(self, peer: str, request: Mapping[str, Any], payload: bytes) -> Answer:
        """Answer one request, or raise: RefusedError, InvalidInputError or StateError, whose text may be sent back."""
        kind = request.get("request")
        owner = peer in self._roles["owner"]
        with self.doors.request(
            peer,
            upload=owner and kind in ("upload.begin", "upload.chunk", "upload.commit"),
            counted=not owner or kind != "upload.chunk",
            alone=kind != "upload.commit",  # which reads all that was uploaded
        ):
            if not isinstance(kind, str) or kind not in self._requests:
                self._refuse(peer, shown(kind), "unknown request")
            role, action = self._requests[kind]
            if role != "any" and peer not in self._roles[role]:
                self._refuse(peer, kind, f"only an {role} of the study may ask this")
            return action(peer, dict(request), payload)

    # --- owners ------------------------------------------------------------------------------------------

    def _begin_upload(self, owner: str, request: dict[str, Any], payload: bytes) -> Answer:
        _only(request, "manifest")
        manifest = check_manifest(
            request.get("manifest"),
            self._study.compute.scheme,
            len(self._study.parties),
            self._expected[owner],
            plan=self._plan_hash,
            vertical=self._study.data.partition == "vertical",
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
        _only(request, "upload", "file", "offset")
        name, offset = check_file_name(request.get("file")), _offset(request, "upload.chunk")
        if not 0 < len(payload) <= _LARGEST_PIECE:
            raise parameter_error("payload", "upload.chunk", f"1 to {_LARGEST_PIECE} bytes", len(payload))
        return {"size": self._state.append(owner, str(request.get("upload")), name, offset, payload)}, b""

    def _commit(self, owner: str, request: dict[str, Any], payload: bytes) -> Answer:
        _only(request, "upload")
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
        _only(request)
        return {
            "party": self._study.parties[self._rank].name,
            "study": self._study.hash,
            "plan": self._plan_hash,
            "incarnation": self._incarnation(),
            "phase": self._state.phase,
            "contributions": {owner: self._contribution(owner) for owner in self._expected},
            "progress": self._progress(),
        }, b""

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
        _only(request, "offset")
        offset = _offset(request, "model")
        path = self._state.directory / PUBLISHED
        if self._state.phase != "released" or not path.exists():
            raise RefusedError(f"There is no model yet: the study is {self._state.phase}.")
        if not offset:
            self._audit.note("model fetched", peer, analyst=peer)
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(min(offset, size))
            return {"size": size}, file.read(_LARGEST_PIECE)

    def _signature(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        """This party's signature of the release."""
        _only(request)
        path = self._state.directory / SIGNATURE
        if self._state.phase != "released" or not path.exists():
            raise RefusedError("This party has not signed the release yet. Ask again; if it lasts, its log says why.")
        return {"signature": json.loads(path.read_bytes())["signature"]}, b""

    # --- parties -----------------------------------------------------------------------------------------

    def _party_state(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        _only(request)
        phase = self._state.phase
        if phase == "failed":
            self.told_of_failure.add(peer)
        return {
            "phase": phase,
            "forgotten": self._state.forgotten,
            "plan": self._plan_hash,
            "contributions": self._sealing.ready(),
            "held": self._sealing.held(),
        }, b""

    def _hold(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        _only(request, "contributions", "instead_of")
        self._check_leader(peer, "party.hold")
        self._sealing.hold(request.get("contributions"), request.get("instead_of"))
        return {}, b""

    def _begin(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        _only(request, "session", "contributions", "created")
        self._check_leader(peer, "party.begin")
        session, created = request.get("session"), request.get("created")
        if not isinstance(session, str) or not _SESSION.fullmatch(session):
            raise parameter_error("session", "party.begin", "32 hexadecimal digits", session)
        self.doors.session()
        self._sealing.seal(str(created), request.get("contributions"))
        with self._inviting:  # only the newest invitation counts
            with contextlib.suppress(queue.Empty):
                self.invitations.get_nowait()
            self.invitations.put_nowait(Begin(bytes.fromhex(session), self._state.fact("created") or ""))
        return {}, b""

    def _check_leader(self, peer: str, request: str) -> None:
        if peer != self._study.parties[0].name:
            self._refuse(peer, request, "only the first party of the study leads")
        if self._state.phase == "failed":
            raise RefusedError("A check failed here: this study is not resumed.")
        if self._state.forgotten:
            raise RefusedError("This party has deleted its shares of the study (`cofit forget`).")

    def _refuse(self, peer: str, request: str, why: str) -> NoReturn:
        self._audit.note("request refused", peer, request=request, why=why)
        raise RefusedError(f"Refused: {why}.")


def _retired(owner: str, upload: str) -> str:
    return f"retired {owner} {upload}"


def _rows_differ(owner: str, others: list[str]) -> str:
    named = " and ".join(f"'{other}'" for other in others)
    return (
        f"The rows of '{owner}' are not those of {named}: the digests of their row keys differ. Check on both sides "
        f"that the tables have the same row keys and that all owners use the same secret (`cofit align --compare` "
        f"tells how many rows are missing where). Then whoever was wrong contributes again."
    )


def _offset(request: dict[str, Any], kind: str) -> int:
    offset = request.get("offset")
    if not isinstance(offset, int) or isinstance(offset, bool) or offset < 0:
        raise parameter_error("offset", kind, "an integer that is at least 0", offset)
    return offset


def _only(request: dict[str, Any], *names: str) -> None:
    unknown = set(request) - {"request", *names}
    if unknown:
        raise InvalidInputError(f"The request has unknown fields: {sorted(unknown)[:5]}.")
