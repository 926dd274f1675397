"""A study: the public agreement of everybody who takes part, resolved and checked.

Objects of this module are made by ``parse_study``: defaults are filled in, families of features expanded, and every
certificate has been read. ``Study.canonical`` is the one text form of a study, and ``Study.hash``, its SHA-256, is the
study's name on the network: whoever has another hash is refused.

Nothing here is a secret. Nothing here reads a file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from cofit.learn.losses import kinds, loss_named
from cofit.learn.recipes.descent.reference import ReferenceMap
from cofit.learn.targets import Target
from cofit.study.hashed import HashedStudy

FORMAT = 1
Value = str | int | bool
"""What a class or a category may be."""
ANSWERS = ("scores", "probabilities", "classes")
"""What clients may ask for. Where the label is a number, a score is the prediction."""


@dataclass(frozen=True)
class Model:
    """What is trained, and how. The numbers are those of ``cofit.learn.facts.training_facts``.

    What recipe 'best' does not have is None with it. class_weights: in the order of the label's values; None: all
    count alike.
    """

    kind: str
    recipe: str
    intercept: bool
    calibrate_intercept: bool
    l2: float | None
    epochs: int | str | None
    intercept_scaling: float | None
    solver: str | None
    learning_rate: float | None
    momentum: float | None
    initial: str | None
    tolerance: float | None
    allow_unproven: bool | None
    class_weights: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Privacy:
    """What the release guarantees: epsilon and delta; with recipe 'paper' by which noise, for which gradient bound.

    budget_shares: what users have chosen in place of recipe 'best', by name; empty: nothing. pure_steps: with delta =
    0, noise in a few steps where that is better; None: not, as in studies from before there was this choice.
    """

    epsilon: float
    delta: float
    mechanism: str | None
    sensitivity: str | None
    budget_shares: tuple[tuple[str, float], ...]
    pure_steps: bool | None = None


@dataclass(frozen=True)
class Feature:
    """One column of the owners' tables.

    type: 'number' (scaled linearly from [lower, upper] to [-1, 1]; beyond the bounds refused, or clipped if ``clip``),
    'boolean' (0 or 1), or 'category' (one column of 0 and 1 for each of ``values``). missing: what a missing value
    stands for; None: a missing value is refused.
    """

    name: str
    type: str
    lower: float = 0.0
    upper: float = 0.0
    clip: bool = False
    values: tuple[Value, ...] = ()
    missing: Value | float | None = None

    @property
    def width(self) -> int:
        """How many columns it has once encoded."""
        return len(self.values) if self.type == "category" else 1

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """The names of its encoded columns: its own, or 'name=value' for each category."""
        if self.type != "category":
            return (self.name,)
        return tuple(f"{self.name}={value_text(value)}" for value in self.values)


@dataclass(frozen=True)
class Data:
    """What the owners hold. ``rows`` counts the records of the joint data; ``row_key`` names a column, or is None.

    label_values: the classes; none where the label is a number, whose public ends are ``label_range``.
    normalised_by, clip_rows: None leaves it to the plan. weight, weight_bound: the column with the records' weights, at
    the owner of their label, and what none exceeds; None: all count alike. reference: the public map that is applied to
    encoded rows, by every owner of rows, or by the parties. reference_table: the SHA-256 of the file of public rows
    that the map was made from, where the study names that file.
    """

    partition: str
    rows: int
    label: str
    label_values: tuple[Value, ...]
    normalised_by: str | None
    norm_floor: float
    clip_rows: bool | None
    row_nonzeros: int | None
    row_key: str | None
    unmatched: str | None
    ignore_extra: bool
    features: tuple[Feature, ...]
    label_range: tuple[float, float] | None = None
    weight: str | None = None
    weight_bound: float | None = None
    reference: ReferenceMap | None = None
    reference_table: str | None = None

    @property
    def label_feature(self) -> Feature | None:
        """The label as a column of numbers; None where it has classes."""
        if self.label_range is None:
            return None
        return Feature(self.label, "number", *self.label_range)

    def target(self, kind: str) -> Target:
        """What a model of this kind predicts."""
        return loss_named(kinds()[kind]).target

    def largest_count(self, kind: str) -> int | None:
        """What no count exceeds; None where the label of a model of this kind is no count."""
        counted = self.label_range is not None and self.target(kind).counted
        return int(self.label_range[1]) if self.label_range is not None and counted else None


@dataclass(frozen=True)
class Compute:
    """How the parties compute. Times are in seconds.

    checkpoint_epochs: a checkpoint is kept after so many; None: when a minute of work is done, as forecasts have it.
    threshold: None is the most corrupted parties that the scheme withstands. latency: of a message between two parties,
    by which the plan chooses how products travel; None: as is usual with the scheme. memory: the most that a party may
    use, in bytes, by which the plan makes batches of rows; None: no limit. shards: among how many every party divides
    the rows, each a process that may use ``memory``; None: a party is one process.
    """

    scheme: str
    timeout: float
    connect_timeout: float
    checkpoint_epochs: int | None
    threshold: int | None = None
    latency: float | None = None
    memory: int | None = None
    shards: int | None = None


@dataclass(frozen=True)
class Participant:
    """Somebody with a name and a pinned certificate. ``fingerprint``: SHA-256 of the certificate's DER form, in hex."""

    name: str
    certificate_pem: str
    fingerprint: str

    def to_dict(self) -> dict[str, Any]:
        """Return the public facts, with the fingerprint in place of the certificate."""
        facts = dict(vars(self))
        del facts["certificate_pem"], facts["fingerprint"]
        return {**facts, "certificate": self.fingerprint}


@dataclass(frozen=True)
class PartyEntry(Participant):
    """A computing party, or the dealer, and where it listens. A party's place in the list is its rank."""

    host: str
    port: int


@dataclass(frozen=True)
class OwnerEntry(Participant):
    """A data owner: how many rows it brings, which features (in the study's order), and whether it has the label."""

    rows: int
    columns: tuple[str, ...]
    holds_label: bool


@dataclass(frozen=True)
class AnalystEntry(Participant):
    """Somebody who may fetch the released model."""


@dataclass(frozen=True)
class ClientEntry(Participant):
    """Somebody whom the parties answer about rows of its own. rows: of how many at most, in all; None: any."""

    rows: int | None


@dataclass(frozen=True)
class ReleaseTerms:
    """What becomes of the trained weights. model: 'open' (published), or 'shared' (they stay as shares at the parties).

    noise: False: nothing is differentially private. answers: the kinds that clients may ask for, of ``ANSWERS``.
    """

    model: str = "open"
    noise: bool = True
    answers: tuple[str, ...] = ()

    @property
    def shared(self) -> bool:
        """Whether the weights are never opened."""
        return self.model == "shared"


@dataclass(frozen=True)
class Study(HashedStudy):
    """The whole agreement. Make it with ``parse_study``; ``cofit.roles.files.studies`` reads it from a file."""

    name: str
    model: Model
    privacy: Privacy
    data: Data
    compute: Compute
    parties: tuple[PartyEntry, ...]
    owners: tuple[OwnerEntry, ...]
    analysts: tuple[AnalystEntry, ...]
    dealer: PartyEntry | None = None
    release: ReleaseTerms = ReleaseTerms()
    clients: tuple[ClientEntry, ...] = ()

    def canonical(self) -> str:
        """Return the resolved study as JSON with sorted keys and no spaces: equal studies, equal texts."""
        data = vars(self.data) | {"features": [vars(feature) for feature in self.data.features]}
        for name in (
            "clip_rows",
            "label_range",
            "weight",
            "weight_bound",
            "reference",
            "reference_table",
        ):  # studies from before there were such fields keep their hash
            if data[name] is None:
                del data[name]
        if self.data.reference is not None:
            data["reference"] = str(self.data.reference)
        later = ("threshold", "latency", "memory", "shards")  # likewise
        compute = {name: v for name, v in vars(self.compute).items() if v is not None or name not in later}
        resolved = {
            "format": FORMAT,
            "name": self.name,
            "model": {name: v for name, v in vars(self.model).items() if v is not None or name != "class_weights"},
            "privacy": {name: v for name, v in vars(self.privacy).items() if v is not None or name != "pure_steps"},
            "data": data,
            "compute": compute,
            "parties": [party.to_dict() for party in self.parties],
            "owners": [owner.to_dict() for owner in self.owners],
            "analysts": [analyst.to_dict() for analyst in self.analysts],
        }
        if self.dealer is not None:
            resolved["dealer"] = self.dealer.to_dict()
        if self.release != ReleaseTerms():  # likewise
            resolved["release"] = vars(self.release)
        if not self.release.noise:
            del resolved["privacy"]
        if self.clients:
            resolved["clients"] = [client.to_dict() for client in self.clients]
        return json.dumps(resolved, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @property
    def common_rows(self) -> bool:
        """Whether all owners bring the same rows, in one order."""
        return self.data.partition == "vertical"

    def owner(self, name: str) -> OwnerEntry | None:
        """Return the owner of that name, or None."""
        return next((owner for owner in self.owners if owner.name == name), None)

    def client(self, name: str) -> ClientEntry | None:
        """Return the client of that name, or None."""
        return next((client for client in self.clients if client.name == name), None)

    def features_of(self, owner: OwnerEntry) -> tuple[Feature, ...]:
        """Return the features that ``owner`` brings, in the study's order."""
        held = set(owner.columns)
        return tuple(feature for feature in self.data.features if feature.name in held)

    @property
    def weight_names(self) -> tuple[str, ...]:
        """The encoded columns in the order of the trained weights, without the intercept.

        The parties put the owners' columns side by side in the order of the owners: in a vertical study this differs
        from the order of the features.
        """
        holders = self.owners if self.data.partition == "vertical" else self.owners[:1]
        return tuple(name for owner in holders for feature in self.features_of(owner) for name in feature.encoded_names)


def value_text(value: Value | float) -> str:
    """Return a class or category as people write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
