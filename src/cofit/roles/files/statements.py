"""What every party holds and tells the analysts after a program has run: what was opened, what that means, and what
the program returned.

    {"version": 1, "kind": "program", "statement": "Not differentially private: ...", "study": "<hash>", "name": ...,
     "program": "module:function", "sources": {...}, "parties": [...], "scheme": ..., "assumptions": [...],
     "created": ..., "openings": [{"reason": ..., "shape": ..., "to": [...], "values": [...] or null}], "result": ...}

``values``: in row-major order, exactly; null where not all parties learned them. ``result``: what the function
returned, in plain form, where everything was opened to all; floats with 12 significant digits, because parties on
different machines may compute the last ones differently. All else follows from the study, and is compared with it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cofit.errors import InvalidInputError, ProtocolError, VerificationError
from cofit.roles.files.published import is_date
from cofit.roles.files.signatures import TAG, check_bytes
from cofit.study.program import ProgramStudy
from cofit.study.program_statement import assumptions, headline
from cofit.transport import Identity, fingerprint

_VERSION = 1
_KIND = "program"
_DIGITS = 12
_LONGEST_RESULT = 1 << 20
Number = int | float


@dataclass(frozen=True)
class Statement:
    """The document of one study. values: of each opening, None where not all parties learned it."""

    study: ProgramStudy
    values: tuple[tuple[Number, ...] | None, ...]
    result: Any
    created: str

    @property
    def document(self) -> dict[str, Any]:
        """It in JSON's types."""
        study = self.study
        return {
            "version": _VERSION,
            "kind": _KIND,
            "statement": headline(study),
            "study": study.hash,
            "name": study.name,
            "program": study.program.name,
            "sources": dict(study.program.sources),
            "parties": [party.name for party in study.parties],
            "dealer": None if study.dealer is None else study.dealer.name,
            "owners": {owner.name: {one.name: list(one.shape) for one in owner.inputs} for owner in study.owners},
            "scheme": study.spec.name,
            "assumptions": list(assumptions(study)),
            "created": self.created,
            "openings": [
                {
                    "reason": one.reason,
                    "shape": list(one.shape),
                    "to": list(one.to),
                    "values": None if values is None else list(values),
                }
                for one, values in zip(study.program.openings, self.values, strict=True)
            ],
            "result": self.result,
        }

    def to_json(self) -> str:
        """Return it as JSON; numbers are written exactly."""
        return json.dumps(self.document, allow_nan=False)

    def to_sign(self, party: str, certificate_pem: str) -> bytes:
        """Return what a party signs of it: bound to its name and key, and to this kind of document."""
        content = {"party": party, "key": fingerprint(certificate_pem), "statement": self.document}
        return TAG + json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

    @classmethod
    def from_json(cls, study: ProgramStudy, text: str) -> Statement:
        """Read what ``to_json`` wrote for this study, or raise InvalidInputError."""
        try:
            document = json.loads(text)
            openings = document["openings"]
            values = tuple(
                None if len(one.to) < len(study.parties) else _numbers(stated["values"], math.prod(one.shape))
                for one, stated in zip(study.program.openings, openings, strict=True)
            )
            statement = cls(study, values, document["result"], document["created"])
            same = is_date(statement.created) and statement.document == document
            statement.to_json()  # not so where a number is none, which only a party that lies would send
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            raise InvalidInputError("It is no statement of results of this study, or is damaged.") from None
        if not same:
            raise InvalidInputError(
                "It is not the statement that follows from this study: it is of another one, or was changed."
            )
        return statement


@dataclass(frozen=True)
class SignedStatement:
    """A statement, and the signatures (hexadecimal) of all parties, by name."""

    statement: Statement
    signatures: dict[str, str]

    def check(self) -> None:
        """Raise VerificationError, which names the party, unless every party of the study has signed."""
        for party in self.statement.study.parties:
            signature = self.signatures.get(party.name)
            if signature is None:
                raise VerificationError(f"The signature of '{party.name}' is missing. Fetch the results again.")
            content = self.statement.to_sign(party.name, party.certificate_pem)
            if not check_bytes(party.certificate_pem, signature, content):
                raise VerificationError(
                    f"The signature of '{party.name}' does not fit: it has not signed these results. Do not use them."
                )

    def to_json(self) -> str:
        """Return the file that analysts keep: statement and signatures."""
        return json.dumps({**self.statement.document, "signatures": self.signatures}, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, study: ProgramStudy, text: str) -> SignedStatement:
        """Read such a file, unchecked signatures included; InvalidInputError for anything else."""
        try:
            document = json.loads(text)
            signatures = document.pop("signatures")
            if not all(isinstance(part, str) for pair in signatures.items() for part in pair):
                raise TypeError
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise InvalidInputError("It is no file of results, as `cofit result` writes it.") from None
        return cls(Statement.from_json(study, json.dumps(document)), signatures)


def sign_statement(identity: Identity, statement: Statement) -> bytes:
    """Return what this party signs."""
    return statement.to_sign(identity.name, identity.certificate_pem)


def agreed_statement(copies: Sequence[tuple[str, Statement]]) -> Statement:
    """Return the statement if all parties' copies are the same, or raise ProtocolError naming who differs."""
    (first, reference), *others = copies
    for name, copy in others:
        if copy != reference:
            opened = copy.values == reference.values
            what = "opened the same values, and their programs returned different results" if opened else "differ"
            raise ProtocolError(
                f"The copies of '{first}' and '{name}' {what}: one of them is wrong, or the program is not the same on "
                "all machines. Do not use them; compare the audit logs of both."
            )
    return reference


def plain(result: object) -> Any:
    """Return what a program returned in JSON's types; for what has no such form, a text that says so."""
    try:
        found = _plain(result, 0)
        text = json.dumps(found, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return f"(the program returned {type(result).__name__}, which has no plain form)"
    if len(text) > _LONGEST_RESULT:
        return f"(the program returned more than {_LONGEST_RESULT} bytes)"
    return found


def _plain(value: object, depth: int) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return [_plain(one, depth + 1) for one in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(one, depth + 1) for key, one in value.items()}
    raise TypeError


def _numbers(stated: object, count: int) -> tuple[Number, ...]:
    if not isinstance(stated, list) or len(stated) != count:
        raise ValueError
    if not all(isinstance(one, int | float) and not isinstance(one, bool) and math.isfinite(one) for one in stated):
        raise ValueError
    return tuple(stated)
