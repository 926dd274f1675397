"""What every party holds and tells the analysts after a release: the noisy weights and their certificate."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from cofit.errors import InvalidInputError, ProtocolError, parameter_error
from cofit.privacy.certificate import Certificate

VERSION = 1


@dataclass(frozen=True)
class Release:
    """What was opened (the weights, the intercept's, then what prepares rows for their score), and the certificate."""

    weights: tuple[float, ...]
    certificate: Certificate

    def to_json(self) -> str:
        """Return it as JSON; floats are written exactly."""
        certificate = json.loads(self.certificate.to_json())
        return json.dumps({"version": VERSION, "weights": self.weights, "certificate": certificate}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Release:
        """Read what ``to_json`` wrote, or raise InvalidInputError."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            raise InvalidInputError("A release is not valid JSON.") from None
        if not isinstance(document, dict) or set(document) != {"version", "weights", "certificate"}:
            raise InvalidInputError("A release must have the fields version, weights and certificate.")
        if document["version"] != VERSION:
            raise parameter_error("version", "a release", f"{VERSION}", document["version"])
        weights = document["weights"]
        if not isinstance(weights, list) or not all(isinstance(w, float) and math.isfinite(w) for w in weights):
            raise InvalidInputError("The weights of a release must be finite numbers.")
        certificate = Certificate.from_json(json.dumps(document["certificate"]))
        if len(weights) != certificate.released:
            must_be = f"its certificate says {certificate.released}"
            raise InvalidInputError(f"A release has {len(weights)} numbers; {must_be}.")
        return cls(tuple(weights), certificate)


def largest_release(weights: int) -> int:
    """Return how many bytes a release of so many weights may have, generously: nobody takes in more than that."""
    return (4 << 20) + 32 * weights


def agreed(copies: Mapping[str, Release]) -> Release:
    """Return the release if all parties' copies are the same, or raise ProtocolError naming who differs.

    Only the versions of the software at each party may differ.
    """
    (first, reference), *others = copies.items()
    for name, copy in others:
        certificate = replace(
            copy.certificate,
            software=reference.certificate.software,
            cofit_version=reference.certificate.cofit_version,
        )
        if copy.weights != reference.weights or certificate != reference.certificate:
            raise ProtocolError(
                f"The copies of '{first}' and '{name}' differ: one of them is wrong. Do not use the model; compare the "
                f"audit logs of both."
            )
    return reference


def is_date(text: str) -> bool:
    """Whether a text is a date in the one form that we write: what a certificate carries says nothing else."""
    try:
        return datetime.fromisoformat(text).isoformat(timespec="seconds") == text
    except ValueError:
        return False
