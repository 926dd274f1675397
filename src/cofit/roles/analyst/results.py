"""The analyst's side of a study of a program: fetch what was opened from all parties, and check it."""

from __future__ import annotations

import math

from cofit.errors import InvalidInputError, ProtocolError
from cofit.roles.analyst.fetch import Copy
from cofit.roles.files.statements import SignedStatement, Statement, agreed_statement
from cofit.roles.service.conversations import Waiting, connector
from cofit.study.program import ProgramStudy
from cofit.transport import Identity

_ROOM = 4 << 20
_BYTES_OF_A_NUMBER = 64


def fetch_results(study: ProgramStudy, identity: Identity, waiting: Waiting | None = None) -> SignedStatement:
    """Return what the program opened to all, which every party must hold in the same words and have signed.

    ProtocolError where copies differ, or are not what the study gives; VerificationError where a signature is missing
    or wrong: one party's word is never enough. waiting: told of a party that does not answer.
    """
    connect = connector(study, identity, waiting=waiting)
    most = _ROOM + _BYTES_OF_A_NUMBER * sum(math.prod(one.shape) for one in study.program.openings)
    copies, signatures = [], {}
    for party in study.parties:
        text, signatures[party.name] = Copy(connect, party.name, most).fetch()
        try:
            copies.append((party.name, Statement.from_json(study, text)))
        except InvalidInputError as error:
            raise ProtocolError(f"What '{party.name}' sends is not a result of this study. {error}") from None
    signed = SignedStatement(agreed_statement(copies), signatures)
    signed.check()
    return signed
