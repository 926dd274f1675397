"""Conversations with the parties of a study, and its dealer, as everybody else begins them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from cofit.study.document import Study
from cofit.transport import Conversation, Identity, Peer, Terms, converse

_PATIENCE = 30.0


def connector(
    study: Study, identity: Identity, patience: float = _PATIENCE
) -> Callable[[str], AbstractContextManager[Conversation]]:
    """Return a function that opens a conversation with a party of the study, or its dealer, by name.

    patience: how many seconds it dials a party that does not answer.
    """
    dealers = [] if study.dealer is None else [study.dealer]
    entries = {party.name: party for party in (*study.parties, *dealers)}
    terms = Terms(bytes(16), bytes.fromhex(study.hash), study.spec.agreed)

    def connect(name: str) -> AbstractContextManager[Conversation]:
        entry = entries[name]
        return converse(
            identity,
            Peer(entry.name, entry.host, entry.port, entry.certificate_pem),
            terms,
            timeout=study.compute.timeout,
            connect_timeout=min(study.compute.connect_timeout, patience),
        )

    return connect
