"""The joint data of all owners, as a party program takes them."""

from __future__ import annotations

from dataclasses import dataclass

from cofit.errors import InvalidInputError
from cofit.learn.base_plan import Plan
from cofit.learn.batches import batch_bytes
from cofit.learn.recipes.descent.public_map import PublicMap
from cofit.secret import Party, SecretArray
from cofit.secret.ranges import Bound

FEATURES = "features"
LABELS = "labels"
WEIGHTS = "weights"


@dataclass(frozen=True)
class Holders:
    """Who contributes what: owners of features in the order of rows (or columns), owners of labels in that of rows.

    Where records have weights, they come from whoever has their labels. reference: the public map that the parties
    apply to the joint rows, where owners hold columns and the plan has one.
    """

    features: tuple[str, ...]
    labels: tuple[str, ...]
    reference: PublicMap | None = None


def gathered(
    party: Party, plan: Plan, holders: Holders, constant: Bound | None = None, *, held: bool = True
) -> tuple[SecretArray, SecretArray]:
    """Return all features, prepared for many products where they are ``held``, and all labels. ``constant``: fills one
    more column. From here on batches of rows hold what the plan allows."""
    party.limit_batches(batch_bytes(plan.facts.memory))
    by_columns = plan.facts.partition == "vertical"
    if not by_columns:
        _refuse_misaligned(party, holders)
    pieces = [(owner, FEATURES) for owner in holders.features]
    with party.label("hold"):
        x = party.joined(pieces, int(by_columns), constant=constant, held=plan.epochs if held else 0)
    return x, party.joined([(owner, LABELS) for owner in holders.labels], 0)


def gathered_weights(party: Party, plan: Plan, holders: Holders) -> SecretArray | None:
    """Return the weights of all records, as they were shared; None where the plan has none."""
    if plan.facts.weight_bound is None:
        return None
    for owner in holders.labels:
        counts = [party.facts(owner, name).shape[:1] for name in (LABELS, WEIGHTS)]
        if counts[0] != counts[1]:
            raise InvalidInputError(f"Owner '{owner}' brings {counts[0][0]} labels and {counts[1][0]} weights.")
    return party.joined([(owner, WEIGHTS) for owner in holders.labels], 0)


def _refuse_misaligned(party: Party, holders: Holders) -> None:
    """Every owner of rows brings features and labels of the same rows: else a person would be in two records."""
    for owner in dict.fromkeys((*holders.features, *holders.labels)):
        rows = [party.facts(owner, name).shape[0] for name in (FEATURES, LABELS)]
        if rows[0] != rows[1]:
            raise InvalidInputError(f"Owner '{owner}' brings {rows[0]} rows of features and {rows[1]} labels.")
    if holders.features != holders.labels:
        raise InvalidInputError("In a horizontal study every owner brings features and labels, in the same order.")
