"""A dealer as a long-running process: waits to be called to sessions, and deals.

What a peer may ask, and who:

    status          everybody who takes part: public facts
    dealer.state    the computing parties: which plan it computes
    dealer.begin    the first party: come to a session

Everything else is refused and noted. Whoever asks, or fails, too often is told that the dealer is busy, and that is not
noted (``doors``).
The dealer dials the parties, never the other way round; it accepts no mesh connection, and no payload: a request that
announces one ends the conversation. Its state directory holds the audit log and nothing about anybody's data; no
randomness is kept between sessions.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import re
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

from cofit.errors import CofitError, InvalidInputError, StoppedError, TransportError, parameter_error
from cofit.roles.dealer.session import run_dealing
from cofit.roles.files.audit import AuditFile
from cofit.roles.files.durable import disk_problem
from cofit.roles.files.keys import participants
from cofit.roles.files.state_directory import StateDirectory
from cofit.roles.party.session import CHECKPOINT_EPOCHS
from cofit.roles.service.doors import BUSY_SECONDS, BusyError, Doors, RefusedError, answerable, shown
from cofit.roles.service.other_parties import OtherParties
from cofit.roles.service.ports import listen_at
from cofit.sharing import dealer_of
from cofit.study.document import Study
from cofit.study.expected import expected_contributions, holders, party_ranks
from cofit.study.plan import study_plan
from cofit.transport import Conversation, Identity, Reception, Terms, connect_mesh

_log = logging.getLogger(__name__)
_IDLE_SECONDS = 600.0
_ASK_SECONDS = 0.2
_GRACE_SECONDS = 3.0
_STEP_SECONDS = 1.0
_SESSION = re.compile(r"[0-9a-f]{32}")
_FIELDS = {"status": set[str](), "dealer.state": set[str](), "dealer.begin": {"session"}}


class DealerService:
    """The dealer of one study. ``run`` returns when it is stopped."""

    def __init__(
        self, study: Study, identity: Identity, state: str | Path, address: tuple[str, int] | None = None
    ) -> None:
        entry = study.dealer
        if entry is None or identity.name != entry.name:
            who = "it has none" if entry is None else f"that is '{entry.name}'"
            raise InvalidInputError(f"'{identity.name}' is not the dealer of study '{study.name}': {who}.")
        if identity.certificate_pem.strip() != entry.certificate_pem.strip():
            raise InvalidInputError(f"The certificate of '{identity.name}' is not the one in the study.")
        self._study = study
        self._identity = identity
        self._address = address or (entry.host, entry.port)
        self._plan = study_plan(study)
        self._plan_hash = self._plan.hash
        self._expected = expected_contributions(study, self._plan)
        self._others = OtherParties(study, identity)
        self._state = StateDirectory(state, study.hash, identity.name)
        try:
            self._audit = AuditFile(self._state.directory / "audit.jsonl")
        except BaseException:
            self._state.close()
            raise
        self._stopping = threading.Event()
        self._invitations: queue.Queue[bytes] = queue.Queue(1)
        self._inviting = threading.Lock()
        self._doors = Doors("The dealer", time.monotonic)
        self._parties = [party.name for party in study.parties]
        self._progress: dict[str, Any] = {}
        self._told_at = 0.0

    def stop(self) -> None:
        """Make ``run`` return within a few seconds. May be called from any thread, but not by a signal's handler."""
        self._stopping.set()

    def run(self) -> None:
        """Serve until stopped; TransportError where nobody can connect any more."""
        pins = {name: one.certificate_pem for name, one in participants(self._study).items()}
        with (
            contextlib.closing(self._state),
            contextlib.closing(self._audit),
            Reception(
                listen_at(self._identity.name, self._address),
                self._identity,
                pins,
                (),
                Terms(bytes(16), bytes.fromhex(self._study.hash), self._study.spec.agreed),
                self._converse,
                timeout=self._study.compute.timeout,
                on_refusal=self._refused,
            ) as reception,
        ):
            self._audit.write("started", study=self._study.hash, plan=self._plan.hash, party=self._identity.name)
            _log.info("dealer of study '%s' (%s)", self._study.name, self._study.hash[:16])
            _log.info("answers at %s:%d", reception.host, reception.port)
            try:
                self._work(reception)
            finally:
                with contextlib.suppress(OSError):
                    self._audit.write("stopped")
                _log.info("stopped")

    # --- sessions ----------------------------------------------------------------------------------------

    def _work(self, reception: Reception) -> None:
        while not self._stopping.is_set():
            if not reception.running:
                raise TransportError(
                    self._identity.name,
                    f"The reception of '{self._identity.name}' has stopped, and nobody can connect any more. The log "
                    "says why; please report it. Start the dealer again.",
                )
            with contextlib.suppress(OSError):
                self._audit.end_day()
            with contextlib.suppress(queue.Empty):
                self._attempt(reception, self._invitations.get(timeout=_ASK_SECONDS))

    def _attempt(self, reception: Reception, session: bytes) -> None:
        """Deal in a thread of its own, so that stopping need not wait for the network.

        A newer invitation waits for the end of this session: when the parties leave it they tell the dealer, or their
        connections end, or the study's time-out does.
        """
        thread = threading.Thread(target=self._guarded, args=(reception, session), name="session", daemon=True)
        thread.start()
        while thread.is_alive() and not self._stopping.is_set():
            thread.join(_ASK_SECONDS)
        thread.join(_GRACE_SECONDS)

    def _guarded(self, reception: Reception, session: bytes) -> None:
        try:
            self._session(reception, session)
        except StoppedError:
            return
        except CofitError as error:
            if self._doors.loggable("session failed"):
                _log.warning("session failed: %s", error)
            self._note_failure(error)
        except OSError as error:
            _log.error("session failed: %s", disk_problem(error))
            self._note_failure(error)
        except Exception as error:
            _log.exception("session failed with an unexpected %s. Please report this.", type(error).__name__)
            self._note_failure(error)
        finally:
            self._progress = {}

    def _note_failure(self, error: Exception) -> None:
        with contextlib.suppress(OSError):
            self._audit.note("session failed", self._parties[0], error=type(error).__name__)

    def _session(self, reception: Reception, session: bytes) -> None:
        compute, names = self._study.compute, [peer.name for peer in self._others.peers]
        _log.info("session %s begins with %s", session.hex()[:8], ", ".join(names))
        self._audit.note("session begins", self._parties[0], session=session.hex())
        with connect_mesh(
            self._identity,
            reception.mesh_listener,
            dial=self._others.peers,
            accept=[],
            terms=self._others.terms(session),
            connect_timeout=compute.connect_timeout,
            timeout=compute.timeout,
        ) as mesh:
            scheme = dealer_of(compute.scheme)(mesh, names, self._identity.name)
            scheme.setup()
            every = compute.checkpoint_epochs or CHECKPOINT_EPOCHS
            parts, ranks = holders(self._study), party_ranks(self._study)
            run_dealing(scheme, self._study.hash, self._plan, parts, self._expected, ranks, self._report, every)
        self._audit.note("session done", self._parties[0], session=session.hex())
        _log.info("session %s is done", session.hex()[:8])

    def _report(self, step: str, done: int, total: int) -> None:
        if self._stopping.is_set():
            raise StoppedError("The dealer was stopped.")
        now = time.monotonic()
        changed = self._progress.get("step") != step
        self._progress = {"step": step, "done": done, "total": total}
        if changed or now - self._told_at >= _STEP_SECONDS:
            self._told_at = now
            _log.info("deals for %s%s", step, f": epoch {done} of {total}" if step == "train" and total else "")

    # --- conversations -----------------------------------------------------------------------------------

    def _converse(self, conversation: Conversation) -> None:
        while True:
            request, _ = conversation.receive(0, timeout=_IDLE_SECONDS)
            try:
                conversation.send(self._answer(conversation.peer, request))
            except CofitError as error:
                refusal = answerable(error)
                if refusal is None:
                    raise
                if isinstance(error, BusyError):
                    self._stopping.wait(BUSY_SECONDS)
                conversation.send(refusal)

    def _answer(self, peer: str, request: dict[str, Any]) -> dict[str, Any]:
        with self._doors.request(peer):
            return self._answered(peer, request)

    def _answered(self, peer: str, request: dict[str, Any]) -> dict[str, Any]:
        kind = request.get("request")
        if not isinstance(kind, str) or kind not in _FIELDS:
            self._refuse(peer, shown(kind), "unknown request")
        if kind == "dealer.state" and peer not in self._parties:
            self._refuse(peer, kind, "only a computing party of the study may ask this")
        if kind == "dealer.begin" and peer != self._parties[0]:
            self._refuse(peer, kind, "only the first party of the study leads")
        if unknown := request.keys() - {"request"} - _FIELDS[kind]:
            self._refuse(peer, kind, f"unknown fields {sorted(map(shown, unknown))[:5]}")
        if kind == "status":
            phase = "dealing" if self._progress else "waiting"
            return {"party": self._identity.name, "phase": phase, "progress": dict(self._progress)}
        if kind == "dealer.state":
            return {"plan": self._plan_hash}
        return self._begin(request.get("session"))

    def _begin(self, session: object) -> dict[str, Any]:
        if not isinstance(session, str) or not _SESSION.fullmatch(session):
            raise parameter_error("session", "dealer.begin", "32 hexadecimal digits", str(session)[:64])
        self._doors.session()
        with self._inviting:  # only the newest invitation counts
            with contextlib.suppress(queue.Empty):
                self._invitations.get_nowait()
            self._invitations.put_nowait(bytes.fromhex(session))
        return {}

    def _refuse(self, peer: str, request: str, why: str) -> NoReturn:
        try:
            self._audit.note("request refused", peer, request=request, why=why)
        except OSError as error:
            if self._doors.loggable("disk", peer):
                _log.error(
                    "a request of '%s' was refused (%s) and could not be noted: %s", peer, why, disk_problem(error)
                )
        raise RefusedError(f"Refused: {why}.")

    def _refused(self, kind: str, peer: str | None, address: str) -> None:
        self._doors.turned_away(kind, peer)
        if self._doors.loggable("connection", peer or ""):
            _log.warning("a connection from %s (%s) was refused: %s", address, peer or "unknown", kind)
        with contextlib.suppress(OSError):
            self._audit.note("connection refused", peer, kind=kind, address=address)
