"""Statements of results: what a party that lies may send is refused, and a signature is of one party, key and study."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest

from cofit.errors import InvalidInputError, VerificationError
from cofit.roles.files.signatures import sign
from cofit.roles.files.statements import SignedStatement, Statement, sign_statement
from cofit.study.program import ProgramStudy
from unit.study.studies import IDENTITIES
from unit.study.test_parse_program import DOCUMENT, parsed

CREATED = "2026-01-02T03:04:05+00:00"
PARTIES = ("party-a", "party-b", "party-c")


def study(**changes: Any) -> ProgramStudy:
    return parsed({**DOCUMENT, **changes})


def statement(**changes: Any) -> Statement:
    return Statement(study(**changes), ((3,), None), {"mean": 1.5}, CREATED)


def read(change: Any) -> Statement:
    document = copy.deepcopy(statement().document)
    change(document)
    return Statement.from_json(study(), json.dumps(document))


def test_what_was_written_is_read() -> None:
    assert read(lambda document: None) == statement()


def opened(*values: Any) -> Any:
    return lambda document: document["openings"][0].update(values=list(values))


@pytest.mark.parametrize(
    "change",
    [
        opened(10**400),
        opened(float("nan")),
        opened(float("inf")),
        opened(True),
        opened("3"),
        opened(3, 4),
        opened(),
        lambda document: document["openings"][0].update(values=None),
        lambda document: document["openings"][1].update(values=[1.0] * 6),
        lambda document: document["openings"].pop(),
        lambda document: document.update(result=float("nan")),
        lambda document: document.update(result={"a": [float("-inf")]}),
        lambda document: document.update(created="today"),
        lambda document: document.update(statement="Differentially private"),
        lambda document: document.update(sources={"clinics.py": "cd" * 32}),
        lambda document: document.update(assumptions=[]),
        lambda document: document.update(more=1),
    ],
)
def test_what_no_party_that_follows_the_protocol_sends_is_refused_by_an_error_of_ours(change: Any) -> None:
    with pytest.raises(InvalidInputError, match="statement"):
        read(change)


def signatures(of: Statement) -> dict[str, str]:
    return {name: sign(IDENTITIES[name], sign_statement(IDENTITIES[name], of)) for name in PARTIES}


def test_a_signature_is_of_one_statement_of_one_study_by_one_party() -> None:
    signed = signatures(statement())
    SignedStatement(statement(), signed).check()
    others: list[tuple[Statement, dict[str, str]]] = [
        (replace(statement(), values=((4,), None)), signed),
        (replace(statement(), result={"mean": 1.6}), signed),
        (replace(statement(), created="2026-01-02T03:04:06+00:00"), signed),
        (statement(name="others"), signed),
        (statement(), {**signed, "party-a": signed["party-b"]}),
        (statement(), {**signed, "party-c": ""}),
        (statement(), {name: signed[name] for name in PARTIES[:2]}),
    ]
    for one, by in others:
        with pytest.raises(VerificationError):
            SignedStatement(one, by).check()


def test_a_signature_is_bound_to_the_certificate_that_the_study_has() -> None:
    """The same key in another certificate of the same name has signed something else."""
    mine = IDENTITIES["party-a"]
    content = statement().to_sign("party-a", IDENTITIES["party-b"].certificate_pem)
    signed = {**signatures(statement()), "party-a": sign(mine, content)}
    with pytest.raises(VerificationError, match="'party-a' does not fit"):
        SignedStatement(statement(), signed).check()
