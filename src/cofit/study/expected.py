"""What every owner is to contribute, by the study and its plan alone: the public facts of each input."""

from __future__ import annotations

from cofit.learn.inputs import FEATURES, LABELS, WEIGHTS, Holders
from cofit.learn.plan import Plan
from cofit.learn.weights import weight_facts
from cofit.secret import InputFacts
from cofit.study.agreement import Agreement
from cofit.study.document import Study


def expected_contributions(study: Study, plan: Plan) -> dict[str, dict[str, InputFacts]]:
    """Return the shape, format and bound of every owner's inputs.

    An owner that brings the label alone has no features.
    """
    expected = {}
    for owner in study.owners:
        inputs = {}
        if owner.columns:
            width = sum(feature.width for feature in study.features_of(owner)) + plan.own_columns
            if study.data.reference is not None and study.data.partition == "horizontal":
                width = study.data.reference.columns
            inputs[FEATURES] = plan.features((owner.rows, width))
        if owner.holds_label:
            inputs[LABELS] = plan.target.facts(owner.rows, plan.formats.ring)
            if plan.facts.weight_bound is not None:
                inputs[WEIGHTS] = weight_facts(owner.rows, plan.formats.ring)
        expected[owner.name] = inputs
    return expected


def party_ranks(study: Agreement) -> dict[str, int]:
    """Return the ranks of those owners that are computing parties too: a name stands for one certificate in a study."""
    ranks = {party.name: rank for rank, party in enumerate(study.parties)}
    return {owner.name: ranks[owner.name] for owner in study.owners if owner.name in ranks}


def holders(study: Study) -> Holders:
    """Return who holds features and labels, in the order of rows, or of columns."""
    reference, by_columns = study.data.reference, study.data.partition == "vertical"
    return Holders(
        tuple(owner.name for owner in study.owners if owner.columns),
        tuple(owner.name for owner in study.owners if owner.holds_label),
        reference.public if reference is not None and by_columns else None,
    )
