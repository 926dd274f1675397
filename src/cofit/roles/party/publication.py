"""What a party publishes of a release, once: the numbers and their certificate, and then its signature of both.

    DIR/published.json      what was opened, and its certificate; once there, it never changes
    DIR/signature.json      this party's signature of it

A party that is killed at any moment in between resumes: what is published already is kept (a later
session opens the same numbers), and what is not signed yet is signed as soon as the party runs again. What was signed
is noted, by its digest, before the signature is made: no party ever signs two releases of one study.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence

from cofit.errors import InvalidInputError, ProtocolError, StateError
from cofit.roles.files.audit import AuditFile
from cofit.roles.files.durable import write_durably
from cofit.roles.files.signatures import sign, signing_key
from cofit.roles.jobs.job import Job, Outcome
from cofit.roles.party.state import PUBLISHED, SIGNATURE, PartyState
from cofit.secret import Opening
from cofit.transport import Identity

_log = logging.getLogger(__name__)


class Publication:
    """The published release of one party, and its signature."""

    def __init__(
        self,
        job: Job,
        identity: Identity,
        state: PartyState,
        audit: AuditFile,
    ) -> None:
        self._job = job
        self._identity = identity
        self._state = state
        self._audit = audit
        signing_key(identity)  # whatever cannot sign is refused before anything is computed

    def publish(self, outcome: Outcome, openings: Sequence[Opening], created: str) -> None:
        """Publish what a session has opened, unless that was done before. ProtocolError if it opened other numbers."""
        earlier = self._published()
        if earlier is not None and self._numbers(earlier) != tuple(outcome.numbers.tolist()):
            raise ProtocolError(
                "This session opened other numbers than those that this party has published. Do not use them; "
                "compare the audit logs of all parties."
            )
        if self._state.phase == "released":
            _log.info("the release was opened again, for a party that did not have it yet")
            return
        if earlier is None:
            write_durably(self._state.directory / PUBLISHED, self._job.publish(outcome, openings, created))
        if self.unsigned:
            self.sign()
        self._state.advance("released")
        self._audit.write("released", plan=self._job.hash)
        now = "clients can ask" if self._job.study.clients else "analysts can fetch its result"
        _log.info("released: the %s is complete, and %s", self._job.name, now)

    @property
    def unsigned(self) -> bool:
        """Whether there is a release that this party has not signed yet."""
        folder = self._state.directory
        return (folder / PUBLISHED).exists() and not (folder / SIGNATURE).exists()

    def sign(self) -> None:
        """Sign what is published, durably. StateError where this party has signed another release of the study."""
        published = self._published()
        if published is None:
            raise StateError(f"{PUBLISHED} is missing in the state directory. Put back a backup of it.")
        self._numbers(published)
        content = self._job.to_sign(self._identity, published)
        digest = hashlib.sha256(content).hexdigest()
        if self._state.fact("signed") not in (None, digest):
            raise StateError(
                f"This party has signed another release of this study than the one in {PUBLISHED}, and never signs "
                f"two. Put back a backup of {PUBLISHED} and {SIGNATURE}."
            )
        self._state.record(signed=digest)
        signature = {"party": self._identity.name, "signature": sign(self._identity, content)}
        write_durably(self._state.directory / SIGNATURE, json.dumps(signature).encode())
        self._audit.write("release signed", digest=digest)
        _log.info("signed: what is released carries the signature of this party")

    def _published(self) -> bytes | None:
        try:
            return (self._state.directory / PUBLISHED).read_bytes()
        except FileNotFoundError:
            return None

    def _numbers(self, published: bytes) -> tuple[float, ...]:
        try:
            return self._job.numbers(published)
        except InvalidInputError as error:
            raise StateError(
                f"{PUBLISHED} in the state directory cannot be read: {error} Put back a backup of it."
            ) from None
