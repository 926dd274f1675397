"""What a computing party answers to requests, and to whom.

    upload.begin, upload.chunk, upload.commit    an owner, of its own contribution only
    status                                       every participant of the study
    model                                        the analysts of the study
    party.state, party.begin                     the other computing parties

Everything else is refused and logged. Nobody can read a share, a log, or another's contribution. Answers hold public
facts only. The desk knows nothing of sockets: ``answer`` takes the name that TLS has proven, a request and its payload.
"""

from __future__ import annotations

import queue
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn, TypeAlias

from cofit.errors import CofitError, InvalidInputError, StateError, parameter_error
from cofit.learn.plan import Plan
from cofit.roles.audit_file import AuditFile
from cofit.roles.manifest import check_manifest, files_for, manifest_hash
from cofit.roles.party_state import PartyState, check_file_name
from cofit.secret import InputFacts
from cofit.study.document import Study

Answer: TypeAlias = tuple[dict[str, Any], bytes]
_SESSION = re.compile(r"[0-9a-f]{32}")
_LARGEST_PIECE = 4 << 20


class RefusedError(CofitError):
    """A request that this participant may not make, or not now."""


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
        audit: AuditFile,
        progress: Callable[[], dict[str, Any]],
    ) -> None:
        self._study = study
        self._plan = plan
        self._expected = expected
        self._rank = rank
        self._state = state
        self._audit = audit
        self._progress = progress
        self._roles = {
            "owner": {owner.name for owner in study.owners},
            "party": {party.name for party in study.parties},
            "analyst": {analyst.name for analyst in study.analysts},
        }
        self.invitations: queue.Queue[Begin] = queue.Queue()
        self._requests: dict[str, tuple[str, Callable[[str, dict[str, Any], bytes], Answer]]] = {
            "upload.begin": ("owner", self._begin_upload),
            "upload.chunk": ("owner", self._chunk),
            "upload.commit": ("owner", self._commit),
            "status": ("any", self._status),
            "model": ("analyst", self._model),
            "party.state": ("party", self._party_state),
            "party.begin": ("party", self._begin),
        }

    def answer(self, peer: str, request: Mapping[str, Any], payload: bytes) -> Answer:
        """Answer one request, or raise: RefusedError, InvalidInputError or StateError, whose text may be sent back."""
        kind = request.get("request")
        if not isinstance(kind, str) or kind not in self._requests:
            self._refuse(peer, str(kind)[:64], "unknown request")
        role, action = self._requests[kind]
        if role != "any" and peer not in self._roles[role]:
            self._refuse(peer, kind, f"only an {role} of the study may ask this")
        return action(peer, dict(request), payload)

    def ready(self) -> dict[str, str] | None:
        """Return the hash of every owner's manifest, when all contributions are here; else None."""
        hashes = {}
        for owner in self._expected:
            upload = self._state.upload(owner)
            if upload is None or not upload.committed:
                return None
            hashes[owner] = manifest_hash(upload.manifest["common"])
        return hashes

    # --- owners ------------------------------------------------------------------------------------------

    def _begin_upload(self, owner: str, request: dict[str, Any], payload: bytes) -> Answer:
        _only(request, "manifest")
        scheme, parties = self._study.compute.scheme, len(self._study.parties)
        manifest = check_manifest(request.get("manifest"), scheme, parties, self._expected[owner])
        stored = {"common": manifest, "files": files_for(manifest, self._rank)}
        sizes = self._state.begin_upload(owner, manifest["upload"], stored)
        known = self._state.upload(owner)
        committed = known is not None and known.committed
        self._audit.write("upload announced", owner=owner, upload=manifest["upload"], complete=committed)
        return {"sizes": sizes, "committed": committed}, b""

    def _chunk(self, owner: str, request: dict[str, Any], payload: bytes) -> Answer:
        _only(request, "upload", "file", "offset")
        name, offset = check_file_name(request.get("file")), request.get("offset")
        if not isinstance(offset, int) or isinstance(offset, bool) or offset < 0:
            raise parameter_error("offset", "upload.chunk", "an integer that is at least 0", offset)
        if not 0 < len(payload) <= _LARGEST_PIECE:
            raise parameter_error("payload", "upload.chunk", f"1 to {_LARGEST_PIECE} bytes", len(payload))
        return {"size": self._state.append(owner, str(request.get("upload")), name, offset, payload)}, b""

    def _commit(self, owner: str, request: dict[str, Any], payload: bytes) -> Answer:
        _only(request, "upload")
        self._state.commit(owner, str(request.get("upload")))
        self._audit.write("upload complete", owner=owner, upload=str(request.get("upload")))
        return {"committed": True}, b""

    # --- everybody ---------------------------------------------------------------------------------------

    def _status(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        _only(request)
        contributions = {}
        for owner in self._expected:
            upload = self._state.upload(owner)
            contributions[owner] = "missing" if upload is None else "complete" if upload.committed else "incomplete"
        return {
            "party": self._study.parties[self._rank].name,
            "study": self._study.hash,
            "plan": self._plan.hash,
            "phase": self._state.phase,
            "contributions": contributions,
            "progress": self._progress(),
        }, b""

    def _model(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        _only(request)
        path = self._state.directory / "published.json"
        if self._state.phase != "released" or not path.exists():
            raise RefusedError(f"There is no model yet: the study is {self._state.phase}.")
        self._audit.write("model fetched", analyst=peer)
        return {}, path.read_bytes()

    # --- parties -----------------------------------------------------------------------------------------

    def _party_state(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        _only(request)
        return {"phase": self._state.phase, "plan": self._plan.hash, "contributions": self.ready()}, b""

    def _begin(self, peer: str, request: dict[str, Any], payload: bytes) -> Answer:
        _only(request, "session", "contributions", "created")
        session, created = request.get("session"), request.get("created")
        if peer != self._study.parties[0].name:
            self._refuse(peer, "party.begin", "only the first party of the study begins sessions")
        if not isinstance(session, str) or not _SESSION.fullmatch(session):
            raise parameter_error("session", "party.begin", "32 hexadecimal digits", session)
        if self._state.phase == "failed":
            raise RefusedError("A check failed here: this study is not resumed.")
        mine = self.ready()
        if mine is None or request.get("contributions") != mine:
            raise RefusedError("The contributions here are not those of the invitation.")
        self.seal(str(created))
        self.invitations.put(Begin(bytes.fromhex(session), self._state.fact("created") or ""))
        return {}, b""

    def seal(self, created: str) -> None:
        """Close the contributions for good, and fix the date of the certificate. The first call counts."""
        try:
            datetime.fromisoformat(created)
        except ValueError:
            raise parameter_error("created", "party.begin", "an ISO 8601 date", created) from None
        if self._state.phase == "collecting":
            self._state.record(phase="sealed", created=created)
            self._audit.write("contributions sealed", owners=sorted(self._expected))

    def _refuse(self, peer: str, request: str, why: str) -> NoReturn:
        self._audit.write("request refused", peer=peer, request=request, why=why)
        raise RefusedError(f"Refused: {why}.")


def answerable(error: Exception) -> dict[str, Any] | None:
    """Return what may be told of an error to the other end; None for those that say nothing but that one happened."""
    if isinstance(error, RefusedError | InvalidInputError | StateError):
        return {"error": {"kind": type(error).__name__, "message": str(error)[:2000]}}
    return None


def _only(request: dict[str, Any], *names: str) -> None:
    unknown = set(request) - {"request", *names}
    if unknown:
        raise InvalidInputError(f"The request has unknown fields: {sorted(unknown)[:5]}.")
