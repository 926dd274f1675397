"""The certificate of a release: what it guarantees to whom, and every number that this rests on. Version 1.

A certificate holds public facts only. As JSON it can be read back by a program, as text by a lawyer; both say the same.
It refuses to state what does not fit together: a certificate that calls itself proven has a bounded distance to the
exact minimiser, noise that is large enough for its sensitivity, and a delta that includes the sampler's distance. That
check is of the numbers. It cannot know if the run was really carried out as stated.

Reading is strict: an unknown version, a missing, unknown or repeated field, a wrong type, and numbers that are not
finite or contradict one another are an InvalidInputError that names the field.
"""

from __future__ import annotations

import datetime
import decimal
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import get_type_hints

from cofit.errors import InvalidInputError, parameter_error
from cofit.privacy.accountant import at_epsilon
from cofit.privacy.events import gaussian_event
from cofit.privacy.strict_fields import check_names, decode, encode, exact_text, json_object
from cofit.privacy.zcdp import LARGEST_EPSILON, total_delta
from cofit.sampling.discrete_gaussian import LARGEST_SIGMA

VERSION = 1
UNIT = "one record (row)"
NEIGHBOURS = "one record replaced; the number of records is public"
ROLES = ("owners", "parties", "analyst", "public")
SCALE_NAMES = {"knorm": "beta", "laplace": "scale", "gaussian": "sigma"}
WIDTH = 100

_CHOICES: dict[str, tuple[object, ...]] = {
    "version": (VERSION,),
    "unit": (UNIT,),
    "neighbours": (NEIGHBOURS,),
    "mechanism": tuple(SCALE_NAMES),
    "partition": ("horizontal", "vertical"),
    "sensitivity_kind": ("tight", "paper"),
    "normalised_by": ("owners", "parties"),
}
_POSITIVE = ("epsilon", "noise_scale", "noise_expected_norm", "l2", "n", "d", "gradient_bound", "sensitivity_exact")
_NOT_NEGATIVE = ("delta", "sampler_distance", "tau", "epochs")
_WEAK_EPSILON, _WEAK_DELTA = 20, Fraction(1, 1000)
_UPWARDS = decimal.Context(prec=3, rounding=decimal.ROUND_CEILING)
_TOLERANCE = 1 + Fraction(1, 1 << 40)  # floats beside fractions, and fractions that were rounded


@dataclass(frozen=True)
class CertifiedOpening:
    """One entry of the audit log: what was opened, why, and who learned it. Never the value."""

    number: int
    reason: str
    shape: tuple[int, ...]
    learned_by: tuple[str, ...]


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
    mechanism: str
    noise_scale: Fraction
    noise_scale_name: str
    noise_expected_norm: float
    noise_distribution: str
    grid: str

    model: str
    loss: str
    l2: Fraction
    n: int
    d: int
    partition: str
    normalised_by: str
    solver: str
    epochs: int
    gradient_bound: Fraction
    sensitivity_kind: str
    sensitivity_exact: Fraction
    tau: float | None
    tau_parts: Mapping[str, float]
    sensitivity_total: Fraction

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
        _check_fields(self)
        if self.proven:
            _check_proof(self)

    @property
    def headline(self) -> str:
        """The first line: what is guaranteed, in words that need no dictionary; or that nothing is."""
        numbers = f"epsilon = {_decimal(self.epsilon)}, delta = {_decimal(self.delta_total)}"
        lines = []
        if not self.secret:
            lines.append(
                f"NO SECRECY: with '{self.scheme}' every computing party could read all of the data; for testing only."
            )
        if not self.proven:
            lines.append(
                f"NOT A PROVEN GUARANTEE: {self.warnings[0].rstrip('.')}. Noise was added with a protection in mind "
                f"({numbers}), but it is not proven that the published model gives it."
            )
        if not lines and (self.epsilon > _WEAK_EPSILON or self.delta_total > _WEAK_DELTA):
            lines.append(
                f"HARDLY ANY PROTECTION: with {numbers}, whoever sees the published model may learn nearly everything "
                f"about a single record."
            )
        elif not lines:
            beyond = f", plus at most {_decimal(self.delta_total)}" if self.delta_total else ""
            lines.append(
                "The published model limits what can be learned about any single record: replacing your record by any "
                "other record changes the probability of any outcome by a factor of at most "
                f"{_factor(self.epsilon)}{beyond}, if the assumptions below hold (differential privacy with {numbers}; "
                f"one record replaced)."
            )
        return " ".join(lines)

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
        lines = _wrapped(self.headline)
        for line in _LAYOUT.splitlines():
            name, _, label = line.strip().partition(" = ")
            if label:
                lines += _entry(label, getattr(self, name))
            elif line.startswith(" "):
                lines += _wrapped(name)
            else:
                lines += ["", name, "-" * len(name)]
        return "\n".join(lines) + "\n"


# --- what must be true -----------------------------------------------------------------------------------


def _check_fields(c: Certificate) -> None:
    for name, choices in _CHOICES.items():
        _require(c, name, getattr(c, name) in choices, f"one of {list(choices)}")
    for name in _POSITIVE:
        _require(c, name, getattr(c, name) > 0, "positive")
    for name in _NOT_NEGATIVE:
        _require(c, name, getattr(c, name) is None or getattr(c, name) >= 0, "at least 0")
    _require(c, "epsilon", c.epsilon <= LARGEST_EPSILON, f"at most {LARGEST_EPSILON}")
    _require(c, "delta_total", c.delta <= c.delta_total <= 1, "from delta to 1")
    _require(c, "sampler_distance", c.sampler_distance <= 1, "at most 1")
    _require(c, "sensitivity_total", c.sensitivity_total >= c.sensitivity_exact, "at least sensitivity_exact")
    _require(c, "noise_scale_name", c.noise_scale_name == SCALE_NAMES[c.mechanism], SCALE_NAMES[c.mechanism])
    a_power = re.fullmatch(r"2\^(-[0-9]{1,4}|0)", c.grid) is not None
    _require(c, "grid", a_power, "a power of two such as '2^-13', and at most 1")
    if c.mechanism == "gaussian":
        must_be = f"at most 2^{LARGEST_SIGMA.bit_length() - 1} steps of the grid, the largest that is sampled"
        _require(c, "noise_scale", c.noise_scale <= LARGEST_SIGMA * _grid(c), must_be)
    _require(c, "created", _is_date(c.created), "an ISO 8601 date")
    _require(c, "warnings", c.proven or len(c.warnings) > 0, "the reason first, if the guarantee is not proven")
    _require(c, "parties", len(set(c.parties)) == len(c.parties) > 0, "different names, at least one")
    apart = len(c.dealers) <= 1 and not set(c.dealers) & set(c.parties)
    _require(c, "dealers", apart, "empty, or one name that is none of the parties")
    roles = {*ROLES, *(["dealer"] if c.dealers else [])}
    _require(c, "learned", set(c.learned) == roles, f"a mapping with the keys {sorted(roles)}")


def _check_proof(c: Certificate) -> None:
    """Raise unless the stated noise gives the stated guarantee for the stated sensitivity."""
    _require(c, "proven", c.tau is not None, "false while tau is not bounded")
    exact = 2 * c.gradient_bound / (c.n * c.l2)
    _require(c, "sensitivity_exact", c.sensitivity_exact * _TOLERANCE >= exact, "at least 2 G / (n Lambda)")
    grid = _grid(c)
    left = c.sensitivity_total * _TOLERANCE - c.sensitivity_exact - 2 * Fraction(c.tau or 0)
    truncated = 0 if c.mechanism == "knorm" else 4 * c.d * grid**2  # knorm: rounded after the noise
    must_be = "at least sensitivity_exact + 2 tau, and + 2 sqrt(d) grid where weights are truncated to the grid first"
    _require(c, "sensitivity_total", left >= 0 and left**2 >= truncated, must_be)
    if c.mechanism == "gaussian":
        event = gaussian_event("weights", c.sensitivity_total / grid, c.noise_scale / grid, c.d, c.sampler_distance)
        total = at_epsilon([event], c.epsilon).delta
    else:
        squared = (c.sensitivity_total / c.noise_scale) ** 2 * (c.d if c.mechanism == "laplace" else 1)
        sufficient = squared <= (c.epsilon * _TOLERANCE) ** 2
        _require(c, "noise_scale", sufficient, "large enough for epsilon and sensitivity_total")
        total = total_delta(0, c.sampler_distance, c.epsilon)
    _require(c, "delta_total", c.delta_total * _TOLERANCE >= total, f"at least {float(total)}, from noise and sampler")


def _grid(c: Certificate) -> Fraction:
    return Fraction(2) ** int(c.grid.removeprefix("2^"))


def _require(certificate: Certificate, name: str, holds: bool, must_be: str) -> None:
    if not holds:
        raise parameter_error(name, "a certificate", must_be, getattr(certificate, name))


def _is_date(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


# --- text ------------------------------------------------------------------------------------------------

_LAYOUT = """\
Warnings and assumptions
  The guarantee holds if the assumptions do.
  proven = The guarantee is proven
  warnings = Warnings
  assumptions = Assumptions
What the published model reveals
  This is about one release. Every further release from the same data reveals more.
  Whoever has k records in the data is protected less: the factor is raised to the power k, and what
  is added to it grows as well.
  unit = What is protected
  neighbours = Compared are two sets of data with
  epsilon = Epsilon (the factor is e to this power)
  delta = Delta as asked for
  delta_total = Delta of the guarantee, with the imperfection of the noise's sampler
  sampler_distance = Distance of the sampled noise from the ideal noise, in total variation
Who learned what during the computation
  Owners hold the data, computing parties compute on it, the analyst asked for the model.
  learned = Learned by
  openings = Everything that was opened
  scheme = Secret sharing scheme
  secret = The scheme keeps the data secret from the computing parties
  adversary = Protects against
  threshold = Corrupted parties that it withstands
  parties = Computing parties
  dealers = Dealer of randomness, trusted to collude with no computing party
  owners = Owners, and the public shapes of what they contributed
The model
  model = Model
  loss = Loss
  l2 = L2 penalty (Lambda)
  n = Records (n)
  d = Weights (d)
  partition = Partition of the data
  normalised_by = Records were scaled to length 1 or less by the
  solver = Solver
  epochs = Epochs
How far one record can move the model
  All lengths are Euclidean, in units of the weights.
  sensitivity_kind = Kind of the bound of the gradient
  gradient_bound = Bound of one record's gradient (G)
  sensitivity_exact = Distance that one record can move the exact minimiser, 2 G / (n Lambda)
  tau = Distance of the computed weights from the exact minimiser, at most (tau)
  tau_parts = Parts of tau
  sensitivity_total = Distance that the noise was calibrated to
The noise
  mechanism = Mechanism
  noise_distribution = Distribution
  noise_scale_name = Name of its parameter
  noise_scale = Its parameter, in units of the weights
  noise_expected_norm = Expected length of the noise
  grid = Published weights are multiples of
Origin
  version = Version of this format
  created = Created
  cofit_version = cofit
  software = Software
  plan_hash = Hash of the plan
"""


def _entry(label: str, value: object) -> Iterator[str]:
    """Yield the lines of one field: a value beside its label, several values below it."""
    if isinstance(value, Mapping):
        value = tuple(f"{name}: {_shown(value[name])}" for name in sorted(value))
    if isinstance(value, tuple) and value:
        yield from _wrapped(f"{label}:", "  ")
        for item in value:
            yield from _wrapped(f"- {_shown(item)}", "    ")
    else:
        yield from _wrapped(f"{label}: {_shown(value)}", "  ")


def _shown(value: object) -> str:
    if isinstance(value, Fraction):
        return f"{float(value)!r} ({exact_text(value)})"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, CertifiedOpening):
        learners = ", ".join(value.learned_by) or "nobody"
        return f"opening {value.number}: {value.reason} (shape {_shape(value.shape)}; learned by {learners})"
    if isinstance(value, Mapping):
        return "; ".join(f"{name} ({_shape(value[name])})" for name in sorted(value)) or "nothing"
    if isinstance(value, tuple):
        return "; ".join(value) or "none"
    return "NOT BOUNDED" if value is None else str(value)


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "one number"


def _wrapped(text: str, indent: str = "") -> list[str]:
    hanging = indent + "  " if indent else ""
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=hanging, break_on_hyphens=False)


def _decimal(number: Fraction) -> str:
    """Return the number with three significant digits, rounded up."""
    return str(_UPWARDS.divide(Decimal(number.numerator), Decimal(number.denominator))).lower()


def _factor(epsilon: Fraction) -> str:
    """Return e^epsilon with three significant digits, rounded up."""
    precise = decimal.Context(prec=40, rounding=decimal.ROUND_CEILING)
    exponent = precise.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    return str(_UPWARDS.plus(precise.exp(exponent))).lower()
