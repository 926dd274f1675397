"""A computing party as a long-running process: waits for contributions and peers, trains, releases, and answers.

Parties may start in any order and stop at any moment. The first party of the study leads: when it has all contributions
it asks the others for theirs, and when all hold the same it invites them to a session with a fresh random id. A session
that fails leads to the next one, after a pause, until the weights are released. Leading gives no power over the result:
every party checks the study, the plan and the contributions itself before it takes part.

A failed integrity check (ProtocolError) ends the study here for good: nothing is resumed after it.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.errors import CofitError, InvalidInputError, ProtocolError, StateError, TransportError
from cofit.learn.certify import certify
from cofit.roles.audit_file import AuditFile
from cofit.roles.desk import Begin, Desk, answerable
from cofit.roles.durable import write_durably
from cofit.roles.party_state import PartyState
from cofit.roles.published import Release
from cofit.roles.session import run_session
from cofit.secret import Opening
from cofit.sharing import scheme_named
from cofit.study.document import Study
from cofit.study.expected import expected_contributions, holders
from cofit.study.plan import study_plan
from cofit.transport import Conversation, Identity, Listener, Peer, Reception, Terms, connect_mesh, converse, listen

_log = logging.getLogger(__name__)
_ASK_SECONDS = 0.2
_LONGEST_PAUSE = 10.0
_IDLE_SECONDS = 600.0


class PartyService:
    """One party of one study, with its state directory. ``run`` returns when it is stopped."""

    def __init__(
        self, study: Study, identity: Identity, state: str | Path, listen_at: tuple[str, int] | None = None
    ) -> None:
        self._study = study
        self._identity = identity
        names = [party.name for party in study.parties]
        if identity.name not in names:
            raise InvalidInputError(f"'{identity.name}' is no computing party of this study; those are {names}.")
        self._rank = names.index(identity.name)
        entry = study.parties[self._rank]
        self._listen_at = listen_at or (entry.host, entry.port)
        if identity.certificate_pem.strip() != entry.certificate_pem.strip():
            raise InvalidInputError(f"The certificate of '{identity.name}' is not the one in the study.")
        self._plan = study_plan(study)
        self._expected = expected_contributions(study, self._plan)
        self._state = PartyState(state, study.hash, identity.name)
        self._audit = AuditFile(self._state.directory / "audit.jsonl")
        self._stopping = threading.Event()
        self._progress: dict[str, Any] = {}
        self._desk = Desk(
            study, self._plan, self._expected, self._rank, self._state, self._audit, lambda: dict(self._progress)
        )

    @property
    def released(self) -> bool:
        """Whether the model is out."""
        return self._state.phase == "released"

    def stop(self) -> None:
        """Make ``run`` return soon."""
        self._stopping.set()

    def run(self, *, until_released: bool = False) -> str:
        """Serve until stopped (or, if so asked, until the model is released); return the phase then."""
        participants = {p.name: p.certificate_pem for p in (*self._study.parties, *self._study.owners)}
        participants |= {a.name: a.certificate_pem for a in self._study.analysts}
        with (
            contextlib.closing(self._state),
            contextlib.closing(self._audit),
            Reception(
                self._listen(),
                self._identity,
                participants,
                [party.name for party in self._study.parties],
                self._terms(bytes(16)),
                self._converse,
                timeout=self._study.compute.timeout,
                on_refusal=self._refused,
            ) as reception,
        ):
            self._audit.write("started", study=self._study.hash, plan=self._plan.hash, party=self._identity.name)
            _log.info("'%s' answers at %s:%d", self._identity.name, reception.host, reception.port)
            self._work(reception, until_released)
            self._audit.write("stopped")
            return self._state.phase

    def _listen(self) -> Listener:
        host, port = self._listen_at
        try:
            return listen(host, port)
        except OSError as error:
            raise TransportError(
                self._identity.name,
                f"'{self._identity.name}' cannot listen at {host}:{port}: {error.strerror or error}. If another "
                "process has the port, stop it. If the address is not this machine's, say with --listen where to listen.",
            ) from None

    # --- conversations -----------------------------------------------------------------------------------

    def _converse(self, conversation: Conversation) -> None:
        while True:
            request, payload = conversation.receive(timeout=_IDLE_SECONDS)
            try:
                header, content = self._desk.answer(conversation.peer, request, bytes(payload))
            except CofitError as error:
                refusal = answerable(error)
                if refusal is None:
                    raise
                conversation.send(refusal)
                continue
            conversation.send(header, content)

    def _refused(self, kind: str, peer: str | None, address: str) -> None:
        self._audit.write("connection refused", kind=kind, peer=peer, address=address)

    @contextmanager
    def _ask(self, rank: int) -> Iterator[Conversation]:
        entry = self._study.parties[rank]
        peer = Peer(entry.name, entry.host, entry.port, entry.certificate_pem)
        timeout = self._study.compute.timeout
        with converse(
            self._identity, peer, self._terms(bytes(16)), timeout=timeout, connect_timeout=min(timeout, 2.0)
        ) as conversation:
            yield conversation

    # --- sessions ----------------------------------------------------------------------------------------

    def _work(self, reception: Reception, until_released: bool) -> None:
        pause = _ASK_SECONDS
        while not self._stopping.is_set():
            if self.released or self._state.phase == "failed":
                if until_released:
                    return
                self._stopping.wait(1.0)
                continue
            begin = self._lead() if self._rank == 0 else self._invited()
            if begin is None:
                continue
            try:
                self._session(reception, begin)
                pause = _ASK_SECONDS
            except TransportError as error:
                self._note("session failed", error)
                self._stopping.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            except ProtocolError as error:
                self._state.advance("failed")
                self._note("check failed", error)

    def _invited(self) -> Begin | None:
        try:
            begin = self._desk.invitations.get(timeout=_ASK_SECONDS)
            while not self._desk.invitations.empty():  # only the newest invitation counts
                begin = self._desk.invitations.get_nowait()
        except queue.Empty:
            return None
        return begin

    def _lead(self) -> Begin | None:
        """Ask the others, and invite them when everybody is ready; None if not."""
        mine = self._desk.ready()
        if mine is None:
            self._stopping.wait(_ASK_SECONDS)
            return None
        others = range(1, len(self._study.parties))
        try:
            for rank in others:
                with self._ask(rank) as conversation:
                    told, _ = conversation.request({"request": "party.state"})
                if told.get("plan") != self._plan.hash or told.get("contributions") != mine:
                    self._stopping.wait(_ASK_SECONDS)
                    return None
            self._desk.seal(datetime.now(UTC).isoformat(timespec="seconds"))
            session = secrets.token_bytes(16)
            created = self._state.fact("created") or ""
            for rank in others:
                with self._ask(rank) as conversation:
                    conversation.request(
                        {
                            "request": "party.begin",
                            "session": session.hex(),
                            "contributions": mine,
                            "created": created,
                        }
                    )
        except TransportError as error:
            _log.info("%s", error)
            self._stopping.wait(_ASK_SECONDS)
            return None
        return Begin(session, created)

    def _session(self, reception: Reception, begin: Begin) -> None:
        names = [party.name for party in self._study.parties]
        peers = [Peer(p.name, p.host, p.port, p.certificate_pem) for p in self._study.parties]
        self._audit.write("session begins", session=begin.session.hex())
        compute = self._study.compute
        with connect_mesh(
            self._identity,
            reception.mesh_listener,
            dial=peers[: self._rank],
            accept=peers[self._rank + 1 :],
            terms=self._terms(begin.session),
            connect_timeout=compute.connect_timeout,
            timeout=compute.timeout,
        ) as mesh:
            scheme = scheme_named(compute.scheme)(mesh, names)
            scheme.setup()
            weights, openings = run_session(
                scheme,
                self._study,
                self._plan,
                holders(self._study),
                self._expected,
                self._state,
                self._audit,
                self._report,
            )
        self._publish(weights, openings, begin.created)

    def _publish(self, weights: npt.NDArray[np.float64], openings: tuple[Opening, ...], created: str) -> None:
        certificate = certify(
            self._plan,
            parties=[party.name for party in self._study.parties],
            owners={o: {name: facts.shape for name, facts in i.items()} for o, i in self._expected.items()},
            openings=openings,
            created=created,
        )
        released = Release(tuple(weights.tolist()), certificate)
        write_durably(self._state.directory / "published.json", released.to_json().encode())
        self._state.advance("released")
        self._audit.write("released", plan=self._plan.hash)
        _log.info("the model is released")

    def _report(self, step: str, done: int, total: int) -> None:
        self._progress = {"step": step, "done": done, "total": total}

    def _terms(self, session: bytes) -> Terms:
        return Terms(session, bytes.fromhex(self._study.hash), self._study.compute.scheme)

    def _note(self, event: str, error: CofitError) -> None:
        _log.warning("%s: %s", event, error)
        with contextlib.suppress(StateError):
            self._audit.write(event, error=type(error).__name__)
