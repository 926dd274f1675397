"""The analyst's side of a study: ask the parties how far they are, fetch the release from all, and check it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cofit.errors import CofitError, InvalidInputError, ProtocolError, TransportError
from cofit.roles.files.published import Release, agreed, largest_release
from cofit.roles.files.signatures import PartySignature, SignedRelease, canonical_pem, check_signatures
from cofit.roles.service.conversations import Connect, Waiting, connector, opened, patiently
from cofit.study.agreement import Agreement
from cofit.study.document import Study
from cofit.study.encoding import study_encoding
from cofit.study.plan import study_plan
from cofit.study.statement import check_certificate_of
from cofit.transport import Conversation, Identity

_PATIENCE = 5.0


def fetch_release(study: Study, identity: Identity, waiting: Waiting | None = None) -> SignedRelease:
    """Return the release, which every party must hold in the same words, for the plan of this study, and have signed.

    ProtocolError where copies differ, or where they are not what the study gives; VerificationError where a signature
    is missing or wrong: one party's word is never enough. waiting: told of a party that does not answer.
    """
    connect = connector(study, identity, waiting=waiting)
    plan = study_plan(study)
    copies, signatures = {}, []
    for party in study.parties:
        text, signature = Copy(connect, party.name, largest_release(plan.released)).fetch()
        copy = Release.from_json(text)
        copies[party.name] = copy
        software = copy.certificate.cofit_version, copy.certificate.software
        pem = canonical_pem(party.certificate_pem) or party.certificate_pem
        signatures.append(PartySignature(party.name, pem, *software, signature))
    release = agreed(copies)
    if len(release.weights) != plan.released:
        raise ProtocolError(f"The release has {len(release.weights)} numbers, and the study's plan {plan.released}.")
    if release.certificate.plan_hash != plan.hash:
        raise ProtocolError(
            "The certificate of the release belongs to another plan than the study's. Do not use the model; check that "
            "everybody runs the same cofit release, and compare the audit logs of the parties."
        )
    try:
        check_certificate_of(study, plan, release.certificate)
    except InvalidInputError as error:
        raise ProtocolError(
            f"The certificate of the release is not what the study gives. {error} Do not use the model; compare the "
            f"audit logs of the parties."
        ) from None
    check_signatures(signatures, release, study_encoding(study))
    return SignedRelease(release, tuple(signatures))


class Copy:
    """The release as one party has it; TransportError beyond ``most`` bytes.

    It comes in pieces. Where the connection breaks, the next one goes on with the piece that was missing: a release
    never changes. The text is checked as a whole by whoever reads it, and compared with the copies of all others.
    """

    def __init__(self, connect: Connect, party: str, most: int) -> None:
        self._connect = connect
        self._party = party
        self._most = most
        self._content = bytearray()

    def fetch(self) -> tuple[str, str]:
        """Return the text, and the party's signature of it."""
        return patiently(self._party, self._attempt, lambda: len(self._content))

    def _attempt(self) -> tuple[str, str]:
        with opened(self._connect, self._party) as conversation:
            text = self.text(conversation)
            signature = conversation.request({"request": "model.signature"})[0].get("signature")
        if not isinstance(signature, str):
            raise _no_release(self._party)
        return text, signature

    def text(self, conversation: Conversation) -> str:
        """Ask for what is missing, and return all of it."""
        while not self._complete(conversation):
            pass
        try:
            return self._content.decode()
        except UnicodeDecodeError:
            raise _no_release(self._party) from None

    def _complete(self, conversation: Conversation) -> bool:
        """Ask for the next piece; whether it was the last."""
        answer, piece = conversation.request({"request": "model", "offset": len(self._content)})
        self._content += piece
        size, have = answer.get("size"), len(self._content)
        if not isinstance(size, int) or isinstance(size, bool) or not 0 < size <= self._most or have > size:
            raise _no_release(self._party)
        if have < size and not piece:
            raise _no_release(self._party)
        return have == size


def _no_release(party: str) -> TransportError:
    return TransportError(
        party, f"What '{party}' sends is no release of this study. Run the same cofit release everywhere."
    )


def statuses(
    study: Agreement, identity: Identity, patience: float = _PATIENCE, waiting: Waiting | None = None
) -> dict[str, dict[str, Any] | str]:
    """Return what every party, and the dealer, says of the study, or, as text, why one does not answer.

    All are asked at once.

    patience: how many seconds a party is dialled. waiting: told of one that does not answer.
    """
    connect = connector(study, identity, patience, waiting)

    def ask(name: str) -> dict[str, Any] | str:
        try:
            with connect(name) as conversation:
                return conversation.request({"request": "status"}, timeout=max(patience, 1.0))[0]
        except CofitError as error:
            return str(error)

    names = [party.name for party in (*study.parties, *([] if study.dealer is None else [study.dealer]))]
    with ThreadPoolExecutor(len(names)) as pool:
        return dict(zip(names, pool.map(ask, names), strict=True))
