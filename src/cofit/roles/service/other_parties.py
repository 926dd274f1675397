"""The other computing parties of a study, as one of them asks them how far they are."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cofit.errors import TransportError
from cofit.sharing import Spec
from cofit.study.agreement import Agreement
from cofit.study.document import PartyEntry
from cofit.transport import Conversation, Identity, Peer, Terms, converse

_PATIENCE = 5.0
_GLANCE_SECONDS = 1.0
_PAUSE = 2.0


class OtherParties:
    """Conversations of one party with the others, and what they have said that never changes.

    ``with_model``: who has the model. ``out``: who takes part in no session any more, and why.
    """

    def __init__(self, study: Agreement, identity: Identity) -> None:
        self._study = study
        self._identity = identity
        self.peers = [_peer(party) for party in study.parties]
        self.dealers = [] if study.dealer is None else [_peer(study.dealer)]
        self.names = [peer.name for peer in self.peers if peer.name != identity.name]
        self.with_model: set[str] = set()
        self.out: dict[str, str] = {}
        self._ask_again = 0.0

    @property
    def without_model(self) -> set[str]:
        """Those who have not said that they have the model."""
        return set(self.names) - self.with_model

    def terms(self, session: bytes, spec: Spec | None = None) -> Terms:
        """What the two ends of a connection must have in common. spec: in a session, which has a plan; None: none."""
        return Terms(session, bytes.fromhex(self._study.hash), (spec or self._study.spec).agreed)

    @contextmanager
    def conversation(self, name: str, patience: float = _PATIENCE) -> Iterator[Conversation]:
        """A conversation with one party, or the dealer, which is dialled for ``patience`` seconds at most."""
        timeout = self._study.compute.timeout
        peer = next(peer for peer in (*self.peers, *self.dealers) if peer.name == name)
        with converse(
            self._identity, peer, self.terms(bytes(16)), timeout=timeout, connect_timeout=min(timeout, patience)
        ) as conversation:
            yield conversation

    def state_of(self, name: str, patience: float = _PATIENCE) -> dict[str, Any]:
        """Return what a party says of itself."""
        with self.conversation(name, patience) as conversation:
            told, _ = conversation.request({"request": "party.state"})
        if told.get("phase") == "released":
            self.with_model.add(name)
        if why := _why_out(name, told):
            self.out[name] = why
        return told

    def glance(self) -> None:
        """Ask those that can be reached at once, unless all were asked a moment ago."""
        if time.monotonic() >= self._ask_again:
            for name in self.names:
                with contextlib.suppress(TransportError):
                    self.state_of(name, _GLANCE_SECONDS)
            self._ask_again = time.monotonic() + _PAUSE


def _peer(entry: PartyEntry) -> Peer:
    return Peer(entry.name, entry.host, entry.port, entry.certificate_pem)


def _why_out(name: str, state: Mapping[str, Any]) -> str:
    """Return why a party that says this of itself takes part in no session any more, or nothing."""
    if state.get("phase") == "failed":
        return f"'{name}' says that a check failed there: the study is not resumed. Compare the audit logs."
    if state.get("forgotten") is True:
        return (
            f"'{name}' says that its shares were deleted (`cofit forget`): no session is possible any more. Whoever "
            "has no model yet gets none; agree on a new study."
        )
    return ""
