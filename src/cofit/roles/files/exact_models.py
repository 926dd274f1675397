"""What is published of weights that have no noise and stay shared: a statement, which follows from the study.

It begins with what it is not. No number of the model is in it: there is nothing to use but the parties' answers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from cofit.errors import InvalidInputError
from cofit.roles.files.published import is_date
from cofit.roles.files.signatures import TAG
from cofit.study.document import Study
from cofit.study.served_statement import exact_lines
from cofit.transport import fingerprint

VERSION = 1
KIND = "cofit shared model without noise"


@dataclass(frozen=True)
class ExactModel:
    """The statement of one study. plan: the hash of its job."""

    study: Study
    plan: str
    weights: int
    created: str

    @property
    def document(self) -> dict[str, Any]:
        """The statement in JSON's types."""
        return {
            "kind": KIND,
            "version": VERSION,
            "statement": list(exact_lines(self.study, self.weights)),
            "study": self.study.hash,
            "plan": self.plan,
            "created": self.created,
        }

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(self.document, indent=1) + "\n"

    @classmethod
    def from_json(cls, study: Study, plan: str, weights: int, text: str) -> ExactModel:
        """Read what ``to_json`` wrote for this study, or raise InvalidInputError."""
        try:
            document = json.loads(text)
            created = document["created"]
            found = cls(study, plan, weights, created)
            sound = isinstance(created, str) and is_date(created) and document == found.document
        except (ValueError, TypeError, KeyError, RecursionError):
            sound = False
        if not sound:
            raise InvalidInputError("It is not the statement that follows from this study, or it was changed.")
        return found

    def to_sign(self, party: str, certificate_pem: str) -> bytes:
        """Return what a party signs of it."""
        content = {**self.document, "party": party, "key": fingerprint(certificate_pem)}
        return TAG + json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
