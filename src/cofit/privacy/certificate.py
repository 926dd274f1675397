"""The certificate of a release: what it guarantees to whom, and every number that this rests on. Version 2.

A certificate holds public facts only. As JSON it can be read back by a program, as text by a lawyer; both say the same.
It refuses to state what does not fit together (``certificate_checks``): the releases are those of the method, each
with noise for its sensitivity, and the accountant finds the stated delta again from all of them together. That check is
of the numbers. It cannot know if the run was really carried out as stated.

Two methods: ``minimiser``, the paper's (noise on the minimiser; a proven one has a bounded distance tau to it), and
``descent`` (noise in every step). Fields that belong to one of them are null for the other.

Reading is strict: an unknown version, a missing, unknown or repeated field, a wrong type, and numbers that are not
finite or contradict one another are an InvalidInputError that names the field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import get_type_hints

from cofit.errors import InvalidInputError, parameter_error
from cofit.privacy.certificate_checks import (
    CENTRE,
    INTERCEPT,
    LEVEL,
    MEAN,
    NEIGHBOURS,
    RADIUS,
    ROLES,
    SCALE_NAMES,
    SPREAD,
    UNIT,
    VERSION,
    check_certificate,
)
from cofit.privacy.certificate_text import headline_of, text_of
from cofit.privacy.certified import CertifiedDescent, CertifiedOpening, CertifiedRelease
from cofit.privacy.strict_fields import check_names, decode, encode, json_object

__all__ = ["ROLES", "SCALE_NAMES", "Certificate", "CertifiedDescent", "CertifiedOpening", "CertifiedRelease"]


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """The statement of one release. docs/reference/certificate.md explains every field."""

    cofit_version: str
    software: Mapping[str, str]
    created: str
    plan_hash: str
    proven: bool
    warnings: tuple[str, ...]
    assumptions: tuple[str, ...]

    epsilon: Fraction
    delta: Fraction
    delta_total: Fraction
    sampler_distance: Fraction
    rule: str
    releases: tuple[CertifiedRelease, ...]

    recipe: str
    method: str
    mechanism: str
    noise_distribution: str
    noise_expected_norm: float
    noise_scale: Fraction | None
    noise_scale_name: str | None
    grid: str | None

    model: str
    loss: str
    l2: Fraction | None
    n: int
    d: int
    partition: str
    normalised_by: str
    solver: str | None
    epochs: int
    gradient_bound: Fraction | None
    sensitivity_kind: str | None
    sensitivity_exact: Fraction | None
    tau: float | None
    tau_parts: Mapping[str, float]
    sensitivity_total: Fraction | None
    descent: CertifiedDescent | None

    scheme: str
    secret: bool
    adversary: str
    threshold: str
    parties: tuple[str, ...]
    dealers: tuple[str, ...]
    owners: Mapping[str, Mapping[str, tuple[int, ...]]]
    learned: Mapping[str, tuple[str, ...]]
    openings: tuple[CertifiedOpening, ...]

    version: int = VERSION
    unit: str = UNIT
    neighbours: str = NEIGHBOURS

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(Certificate).items():
            object.__setattr__(self, name, decode(kind, encode(getattr(self, name)), name))
        check_certificate(self)

    @property
    def headline(self) -> str:
        """The first line: what is guaranteed, in words that need no dictionary; or that nothing is."""
        return headline_of(self)

    @property
    def released(self) -> int:
        """How many numbers were opened: the weights, and what a score needs of how rows are prepared."""
        opened = (LEVEL, CENTRE, MEAN, SPREAD, RADIUS, f"{INTERCEPT} 1")
        return self.d + sum(release.dimension for release in self.releases if release.name in opened)

    def to_json(self) -> str:
        """Return the certificate as JSON, sorted and indented."""
        return json.dumps(encode(vars(self)), indent=2, sort_keys=True, allow_nan=False) + "\n"

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
        if encoded.get("version") != VERSION:
            must_be = f"{VERSION}, the version that this release can read"
            raise parameter_error("version", "a certificate", must_be, encoded.get("version"))
        kinds = get_type_hints(cls)
        check_names(encoded, set(kinds), "")
        return cls(**{name: decode(kinds[name], value, name) for name, value in encoded.items()})

    def to_text(self) -> str:
        """Return the certificate as plain text, at most 100 columns wide, with every fact that the JSON has."""
        return text_of(self)
