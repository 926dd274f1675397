"""The analyst's side of a study: ask every party how far it is, fetch the release from all, and compare the copies."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cofit.errors import CofitError, ProtocolError, TransportError
from cofit.roles.contributing import connector
from cofit.roles.published import Release, agreed, largest_release
from cofit.study.document import Study
from cofit.study.plan import study_plan
from cofit.transport import Conversation, Identity

_PATIENCE = 5.0


def fetch_release(study: Study, identity: Identity) -> Release:
    """Return the release, which every party must hold in the same words and for the plan of this study.

    ProtocolError where copies differ or belong to another plan: one party's word is never enough.
    """
    connect = connector(study, identity)
    plan = study_plan(study)
    copies = {}
    for party in study.parties:
        with connect(party.name) as conversation:
            copies[party.name] = Release.from_json(_fetched(conversation, largest_release(plan.released)))
    release = agreed(copies)
    if len(release.weights) != plan.released:
        raise ProtocolError(f"The release has {len(release.weights)} numbers, and the study's plan {plan.released}.")
    if release.certificate.plan_hash != plan.hash:
        raise ProtocolError(
            "The certificate of the release belongs to another plan than the study's. Do not use the model; check that "
            "everybody runs the same cofit release, and compare the audit logs of the parties."
        )
    return release


def _fetched(conversation: Conversation, most: int) -> str:
    """Return the release of one party, which comes in pieces; TransportError beyond ``most`` bytes in all.

    The text is checked as a whole by whoever reads it, and compared with the copies of all other parties.
    """
    content = bytearray()
    while True:
        answer, piece = conversation.request({"request": "model", "offset": len(content)})
        content += piece
        size = answer.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 < size <= most or len(content) > size:
            raise _no_release(conversation.peer)
        if len(content) == size:
            break
        if not piece:
            raise _no_release(conversation.peer)
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise _no_release(conversation.peer) from None


def _no_release(party: str) -> TransportError:
    return TransportError(
        party, f"What '{party}' sends is no release of this study. Run the same cofit release everywhere."
    )


def statuses(study: Study, identity: Identity, patience: float = _PATIENCE) -> dict[str, dict[str, Any] | str]:
    """Return what every party, and the dealer, says of the study, or, as text, why one does not answer.

    All are asked at once.

    patience: how many seconds a party is dialled.
    """
    connect = connector(study, identity, patience)

    def ask(name: str) -> dict[str, Any] | str:
        try:
            with connect(name) as conversation:
                return conversation.request({"request": "status"}, timeout=max(patience, 1.0))[0]
        except CofitError as error:
            return str(error)

    names = [party.name for party in (*study.parties, *([] if study.dealer is None else [study.dealer]))]
    with ThreadPoolExecutor(len(names)) as pool:
        return dict(zip(names, pool.map(ask, names), strict=True))
