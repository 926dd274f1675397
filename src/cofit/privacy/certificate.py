"""The certificate of a release: what it guarantees to whom, and every number that this rests on. Version 3.

A certificate holds public facts only. As JSON it can be read back by a program, as text by a lawyer; both say the same.
It has a common part, the *statement* of its method (tagged with the method's name, with the fields of that method
alone), and *facts*: all public facts of the run, exact, from which the plan follows, and from the plan every number.

Two checks, one independent of the other. Here (``certificate_checks``), whoever makes or reads a certificate: the
numbers fit together, and the accountant finds the stated delta again from all stated releases. In ``learn.rebuild``,
wherever a certificate is read with its model: the plan is rebuilt from the facts, the certificate from the plan, and
every field compared. Neither can know if the run was really carried out as stated: that is what signatures are for.

Reading is strict: an unknown version, a missing, unknown or repeated field, a wrong type, and numbers that are not
finite or contradict one another are an InvalidInputError that names the field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from cofit.errors import InvalidInputError, parameter_error
from cofit.privacy.certificate_checks import NEIGHBOURS, ROLES, UNIT, VERSION, check_certificate
from cofit.privacy.certificate_text import about_others, headline_of, text_of
from cofit.privacy.certified import CertifiedDescent, CertifiedMinimiser, CertifiedOpening, CertifiedRelease, Statement
from cofit.privacy.release_names import OPENED, PREPARING
from cofit.privacy.strict_fields import check_names, decode, encode, json_object, kinds_of
from cofit.sharing import Spec, scheme_named

__all__ = [
    "ROLES",
    "Certificate",
    "CertifiedDescent",
    "CertifiedMinimiser",
    "CertifiedOpening",
    "CertifiedRelease",
    "Fact",
]

Fact: TypeAlias = str | int | bool | Mapping[str, str] | None
"""A public fact of the run: a text, a whole number, a flag, or fractions as exact text."""
NOT_MET = "one assumption is not met"
"""How a warning begins that takes back an assumption."""
_OLDER = (1, 2)
_ADDED = ("soundness_bits", "statistical_bits")
"""Fields that earlier releases lack: left out where they are None."""


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """The statement of one release. docs/reference/certificate.md explains every field."""

    cofit_version: str
    software: Mapping[str, str]
    created: str
    study: str | None
    plan_hash: str
    facts: Mapping[str, Fact]
    proven: bool
    warnings: tuple[str, ...]
    assumptions: tuple[str, ...]

    epsilon: Fraction
    delta: Fraction
    delta_total: Fraction
    check_delta: Fraction
    sampler_distance: Fraction
    rule: str
    releases: tuple[CertifiedRelease, ...]

    recipe: str
    mechanism: str
    noise_distribution: str
    noise_expected_norm: float
    statement: Statement

    model: str
    loss: str
    n: int
    d: int
    partition: str
    normalised_by: str
    epochs: int

    scheme: str
    secret: bool
    adversary: str
    threshold: str
    parties: tuple[str, ...]
    dealers: tuple[str, ...]
    owners: Mapping[str, Mapping[str, tuple[int, ...]]]
    learned: Mapping[str, tuple[str, ...]]
    openings: tuple[CertifiedOpening, ...]
    soundness_bits: int | None = None
    statistical_bits: int | None = None

    version: int = VERSION
    unit: str = UNIT
    neighbours: str = NEIGHBOURS

    def __post_init__(self) -> None:
        for name, kind in kinds_of(Certificate).items():
            object.__setattr__(self, name, decode(kind, encode(getattr(self, name)), name))
        check_certificate(self)

    @property
    def spec(self) -> Spec:
        """The scheme among these parties; secret, adversary, threshold and dealers state what it says."""
        threshold, route = self.facts.get("threshold"), self.facts.get("route")
        return scheme_named(self.scheme).info.spec(len(self.parties), threshold, route)  # type: ignore[arg-type]

    @property
    def method(self) -> str:
        """The method that the statement is of: 'minimiser' (noise on it) or 'descent' (noise in every step)."""
        return self.statement.method

    @property
    def descent(self) -> CertifiedDescent | None:
        """The statement of noisy descent, or None."""
        return self.statement if isinstance(self.statement, CertifiedDescent) else None

    @property
    def minimiser(self) -> CertifiedMinimiser | None:
        """The statement of noise on the minimiser, or None."""
        return self.statement if isinstance(self.statement, CertifiedMinimiser) else None

    @property
    def headline(self) -> str:
        """The first line: what is guaranteed, in words that need no dictionary; or that nothing is."""
        return headline_of(self)

    @property
    def about_others(self) -> str:
        """What other owners can and cannot do to a record; nothing where there is hardly a guarantee to speak of."""
        return about_others(self)

    @property
    def unmet(self) -> tuple[str, ...]:
        """Those warnings that say of an assumption that it is not met."""
        return tuple(warning for warning in self.warnings if warning.startswith(NOT_MET))

    @property
    def released(self) -> int:
        """How many numbers were opened: the weights, and what a score needs of how rows are prepared.

        Of a model that stays shared the latter alone.
        """
        if self.shared_model:
            return sum(release.dimension for release in self.releases if release.name in PREPARING)
        return self.d + sum(release.dimension for release in self.releases if release.name in OPENED)

    @property
    def shared_model(self) -> bool:
        """Whether the weights stay shares at the parties, and are never opened."""
        return self.facts.get("shared_model") is True

    def to_json(self) -> str:
        """Return the certificate as JSON, sorted and indented."""
        stated = {name: value for name, value in vars(self).items() if name not in _ADDED or value is not None}
        return json.dumps(encode(stated), indent=2, sort_keys=True, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read what ``to_json`` wrote, or raise InvalidInputError with the name of the field that is wrong."""
        try:
            encoded = json.loads(text, object_pairs_hook=json_object)
        except InvalidInputError:
            raise
        except (TypeError, ValueError, RecursionError) as error:
            raise parameter_error("text", "Certificate.from_json", "a certificate in JSON", str(error)) from None
        if not isinstance(encoded, dict):
            raise parameter_error("text", "Certificate.from_json", "a JSON object", encoded)
        version = encoded.get("version")
        if version != VERSION or isinstance(version, bool | float):
            must_be = f"{VERSION}, the version that this release can read"
            if version in _OLDER and not isinstance(version, bool | float):
                must_be += "; read it with the release of cofit that wrote it"
                must_be += f" ({encoded['cofit_version']})" if isinstance(encoded.get("cofit_version"), str) else ""
            raise parameter_error("version", "a certificate", must_be, version)
        kinds = kinds_of(cls)
        check_names(encoded, {name for name in kinds if name not in _ADDED or encoded.get(name) is not None}, "")
        return cls(**{name: decode(kinds[name], value, name) for name, value in encoded.items()})

    def to_text(self) -> str:
        """Return the certificate as plain text of 100 columns, with every fact of the JSON; numbers are rounded."""
        return text_of(self)

    def __str__(self) -> str:
        return self.to_text()
