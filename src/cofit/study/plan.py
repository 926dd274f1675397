"""The plan of a study: its facts, with features counted as they are encoded, handed to the planner."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from cofit.learn.asked import SETTINGS
from cofit.learn.facts import Facts, training_facts
from cofit.learn.forecast import Contributors, forecast
from cofit.learn.losses import kinds
from cofit.learn.memory_check import check_plan_memory
from cofit.learn.plan import Plan, plan_training
from cofit.learn.route import routed_plan
from cofit.study.document import Study
from cofit.study.expected import expected_contributions, holders, party_ranks


def study_facts(study: Study) -> Facts:
    """Return the public facts of the training run: the study's own fields are settings under their names.

    Numbers are scaled to [-1, 1] and everything else is 0 or 1, so the bound of every feature is 1, and the mean of a
    row is at least minus the share of numbers.
    """
    model, data = study.model, study.data
    parts = (model, study.privacy, data, study.compute)
    cols = sum(feature.width for feature in data.features)
    referenced: dict[str, Any] = {}
    if data.reference is not None:
        inputs, cols = cols, data.reference.columns
        referenced = {"reference": data.reference.hash, "feature_lower": None}
        referenced |= {"reference_inputs": inputs} if data.partition == "vertical" else {"feature_bound": None}
    return training_facts(
        data.rows,
        cols,
        partition=data.partition,
        loss=kinds()[model.kind],
        classes=max(2, len(data.label_values)),
        shared_model=study.release.shared,
        largest_count=data.largest_count(model.kind),
        shards=study.compute.shards,
        **{
            **{name: value for part in parts for name, value in vars(part).items() if name in SETTINGS},
            "fit_intercept": model.intercept,
            "budget_shares": dict(study.privacy.budget_shares) or None,
            "feature_bound": 1.0,
            "feature_lower": lowest_mean(study),
            **referenced,
        },
    ).among(len(study.parties))


def lowest_mean(study: Study) -> Fraction | None:
    """Return what the mean of a row is never below, for recipe best: numbers are within [-1, 1], all else is 0 or 1."""
    features = study.data.features
    numbers = sum(feature.type == "number" for feature in features)
    return Fraction(-numbers, sum(feature.width for feature in features)) if study.model.recipe == "best" else None


@lru_cache(maxsize=64)
def study_plan(study: Study) -> Plan:
    """Return the plan that all participants compute from the study, or raise with the reason and the remedy."""
    facts = study_facts(study)
    plan = plan_training(facts)
    given = Contributors(expected_contributions(study, plan), holders(study), party_ranks(study))
    plan = routed_plan(facts, study.compute.latency, owners=given, parties=len(study.parties))
    if facts.memory is not None:
        cost = partial(forecast, owners=given, parties=len(study.parties), noise=study.release.noise)
        check_plan_memory(plan, cost, "compute.memory", "the study")
    return plan
