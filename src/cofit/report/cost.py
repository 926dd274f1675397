"""What a run cost, phase by phase: the file ``cost.json`` beside a model, and the forecast where nothing was measured.

Rounds, bytes and seconds are facts of traffic: whoever watches the network sees them, and they follow from the plan.
Nothing in the file depends on anybody's data.

    {"kind": "cofit cost", "version": 1, "plan_hash": "...", "created": "...", "scheme": "rep3",
     "members": ["hospital-a", ...], "phases": [{"name": "share", "rounds": 3, "bytes": 12, "seconds": 0.5}, ...]}

``plan_hash`` and ``created`` are those of the certificate that the cost belongs to. Reading is strict.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cofit.errors import CofitError, InvalidInputError, parameter_error
from cofit.learn.forecast import Contributors, forecast
from cofit.learn.inputs import FEATURES, LABELS, WEIGHTS, Holders
from cofit.learn.plan import Plan
from cofit.learn.rebuild import rebuilt_plan
from cofit.learn.weights import weight_facts
from cofit.models.linear_model import LinearModel
from cofit.models.study_model import StudyModel
from cofit.privacy.certificate import Certificate
from cofit.report.source import linear
from cofit.secret import InputFacts

VERSION = 1
KIND = "cofit cost"
FILE_NAME = "cost.json"
_OWNER = "a cost file"
_TEXTS = ("plan_hash", "created", "scheme")
_FIELDS = {"kind", "version", "members", "phases", *_TEXTS}
_LARGEST_FILE = 1 << 20
_LARGEST_COUNT = 1 << 80


@dataclass(frozen=True)
class PhaseCost:
    """One phase: rounds of the party that waits most, bytes sent by everybody, seconds if they are known."""

    name: str
    rounds: int
    bytes: int
    seconds: float | None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise parameter_error("phases.name", _OWNER, "a text", self.name)
        for field in ("rounds", "bytes"):
            value = getattr(self, field)
            if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _LARGEST_COUNT:
                raise parameter_error(f"phases.{field}", _OWNER, "an integer that is at least 0 and below 2^80", value)
        if self.seconds is not None and not (
            isinstance(self.seconds, float) and math.isfinite(self.seconds) and self.seconds >= 0
        ):
            raise parameter_error("phases.seconds", _OWNER, "a float that is at least 0, or null", self.seconds)


@dataclass(frozen=True)
class Cost:
    """The cost of one run."""

    plan_hash: str
    created: str
    scheme: str
    members: tuple[str, ...]
    phases: tuple[PhaseCost, ...]

    def __post_init__(self) -> None:
        for name in _TEXTS:
            if not isinstance(getattr(self, name), str):
                raise parameter_error(name, _OWNER, "a text", getattr(self, name))
        if not isinstance(self.members, tuple) or not all(isinstance(member, str) for member in self.members):
            raise parameter_error("members", _OWNER, "a list of names", self.members)
        names = [phase.name for phase in self.phases]
        if not names or len(set(names)) < len(names):
            raise parameter_error("phases", _OWNER, "phases with different names, at least one", names)

    @property
    def total(self) -> PhaseCost:
        """All phases together; seconds only if all are known."""
        seconds = [phase.seconds for phase in self.phases]
        known = [second for second in seconds if second is not None]
        return PhaseCost(
            "total",
            sum(phase.rounds for phase in self.phases),
            sum(phase.bytes for phase in self.phases),
            float(sum(known)) if len(known) == len(seconds) else None,
        )

    def belongs_to(self, certificate: Certificate) -> bool:
        """Whether this is the cost of the run that the certificate is about."""
        return (self.plan_hash, self.created) == (certificate.plan_hash, certificate.created)

    def to_json(self) -> str:
        """Return it as JSON, version 1."""
        return json.dumps({"kind": KIND, "version": VERSION, **asdict(self)}, indent=2, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Cost:
        """Read what ``to_json`` wrote, or raise InvalidInputError with the name of the field that is wrong."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            raise parameter_error("text", _OWNER, "JSON", "something else") from None
        if not isinstance(document, dict) or document.get("kind") != KIND:
            raise parameter_error("kind", _OWNER, f"'{KIND}'", "something else")
        version = document.get("version")
        if version != VERSION or isinstance(version, bool):
            raise parameter_error("version", _OWNER, f"{VERSION}, the version that this release can read", version)
        for name in sorted(_FIELDS ^ set(document)):
            raise parameter_error(name, _OWNER, "stated" if name in _FIELDS else "left out", document.get(name))
        members, phases = document["members"], document["phases"]
        if not isinstance(members, list) or not isinstance(phases, list):
            raise InvalidInputError("The fields members and phases of a cost file must be lists.")
        return cls(
            members=tuple(members),
            phases=tuple(_phase(phase) for phase in phases),
            **{name: document[name] for name in _TEXTS},
        )

    @classmethod
    def load(cls, path: Path) -> Cost:
        """Read a file that holds ``to_json``, or raise InvalidInputError that names the file."""
        try:
            if not path.is_file() or path.stat().st_size > _LARGEST_FILE:
                raise InvalidInputError(f"The cost must be a file that `cofit demo` wrote. Got '{path}' instead.")
            return cls.from_json(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InvalidInputError(f"The cost '{path}' cannot be read: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise InvalidInputError(f"The cost '{path}' is not UTF-8 text.") from None
        except InvalidInputError as error:
            raise InvalidInputError(f"{path}: {error}") from None


def _phase(given: Any) -> PhaseCost:
    if not isinstance(given, dict) or set(given) != {"name", "rounds", "bytes", "seconds"}:
        raise parameter_error("phases", _OWNER, "phases with name, rounds, bytes and seconds", given)
    return PhaseCost(**given)


# --- forecast --------------------------------------------------------------------------------------------


def forecast_cost(model: LinearModel | StudyModel) -> Cost | None:
    """Return what the plan of a model must have cost; None where another release of cofit made the plan.

    Rounds and bytes are counted; seconds estimate the reference machine.
    """
    certificate = linear(model).certificate
    plan = rebuilt_plan(certificate)
    if plan is None:
        return None
    try:
        expected = forecast(plan, owners=_contributors(plan, certificate), parties=len(certificate.parties))
    except (CofitError, KeyError):
        return None
    phases = [PhaseCost(name, p.rounds, p.bytes, float(p.seconds)) for name, p in expected.phases.items()]
    members = tuple(dict.fromkeys((*certificate.owners, *certificate.parties, *certificate.dealers)))
    return Cost(certificate.plan_hash, certificate.created, certificate.scheme, members, tuple(phases))


def _contributors(plan: Plan, certificate: Certificate) -> Contributors:
    inputs: dict[str, Mapping[str, InputFacts]] = {}
    ring = plan.formats.ring
    facts: dict[str, Callable[[tuple[int, ...]], InputFacts]] = {
        FEATURES: plan.features,
        LABELS: lambda shape: plan.target.facts(shape[0], ring),
        WEIGHTS: lambda shape: weight_facts(shape[0], ring),
    }
    for owner, shapes in certificate.owners.items():
        inputs[owner] = {name: facts[name](shape) for name, shape in shapes.items()}
    features, labels = (tuple(owner for owner, named in inputs.items() if kind in named) for kind in (FEATURES, LABELS))
    ranks = {name: rank for rank, name in enumerate(certificate.parties) if name in inputs}
    return Contributors(inputs, Holders(features, labels), ranks)
