"""Certificates of real plans, of every kind of facts, as runs would state them."""

from __future__ import annotations

from functools import cache
from typing import Any

from cofit.learn.certify import certify
from cofit.learn.facts import training_facts
from cofit.learn.inputs import FEATURES, LABELS, WEIGHTS
from cofit.learn.plan import Plan, plan_training
from cofit.privacy.certificate import Certificate
from cofit.secret import Opening
from cofit.sharing import scheme_named

_PAPER: dict[str, Any] = {"recipe": "paper"}
CASES: dict[str, dict[str, Any]] = {
    "steps alone": {"rows": 50, "cols": 40, "fit_intercept": False},
    "centre": {"rows": 1000, "cols": 12, "clip_rows": False},
    "level": {"rows": 200, "cols": 12, "feature_bound": 2.0, "feature_lower": 0.5, "epsilon": 2.0},
    "level and centre": {"rows": 1000, "cols": 12, "feature_bound": 1.0, "clip_rows": False},
    "floor": {"rows": 1000, "cols": 3, "normalised_by": "parties", "norm_floor": 0.3, "clip_rows": False},
    "vertical": {"rows": 1000, "cols": 12, "partition": "vertical", "clip_rows": False},
    "clipped": {"rows": 3000, "cols": 12},
    "clipped, parties": {"rows": 3000, "cols": 12, "feature_bound": 3.0, "partition": "vertical"},
    "clipped, bound of 2": {"rows": 3000, "cols": 12, "feature_bound": 2.0, "normalised_by": "owners"},
    "clipped, no intercept": {"rows": 3000, "cols": 1, "fit_intercept": False},
    "wide ring": {"rows": 3_000_000, "cols": 300, "normalised_by": "parties", "epsilon": 30.0},
    "pure": {"rows": 1000, "cols": 60, "delta": 0.0, "row_nonzeros": 5, "epsilon": 3.0},
    "pure, dense": {"rows": 1000, "cols": 60, "delta": 0.0, "feature_bound": 0.3},
    "pure steps": {"rows": 1000, "cols": 60, "delta": 0.0, "feature_bound": 0.3, "pure_steps": True},
    "pure steps, vertical": {"rows": 5000, "cols": 4, "delta": 0.0, "partition": "vertical", "pure_steps": True},
    "calibrated": {"rows": 1000, "cols": 12, "calibrate_intercept": True, "loss": "huber_hinge", "scheme": "rep4"},
    "shares": {
        "rows": 400,
        "cols": 5,
        "feature_bound": 1.0,
        "calibrate_intercept": True,
        "budget_shares": {"level": 0.07, "centre": 0.11, "intercept": 0.03},
    },
    "four classes": {"rows": 1000, "cols": 12, "classes": 4, "feature_bound": 1.0, "calibrate_intercept": True},
    "numbers, weights": {"rows": 3000, "cols": 12, "loss": "huber", "weight_bound": 3.0, "partition": "vertical"},
    "counts": {"rows": 3000, "cols": 12, "loss": "poisson", "largest_count": 40, "feature_bound": 1.0},
    "weights of classes": {"rows": 1000, "cols": 12, "class_weights": (1.0, 3.0), "clip_rows": False},
    "paper, numbers": {"rows": 1713, "cols": 12, "loss": "clipped_squares", **_PAPER},
    "paper": {"rows": 1713, "cols": 12, **_PAPER},
    "paper, parties": {
        **_PAPER,
        "rows": 1713,
        "cols": 12,
        "partition": "vertical",
        "feature_bound": 4.0,
        "feature_lower": -2.0,
        "scheme": "semi2k",
    },
    "paper, gaussian": {
        **_PAPER,
        "rows": 1713,
        "cols": 12,
        "delta": 1e-6,
        "sensitivity": "paper",
        "epochs": 30,
        "tolerance": 0.01,
        "l2": 0.3,
    },
    "paper, unproven": {
        **_PAPER,
        "rows": 1713,
        "cols": 12,
        "mechanism": "laplace",
        "learning_rate": 0.1,
        "momentum": 0.5,
        "initial": "glorot",
        "epochs": 20,
        "allow_unproven": True,
    },
}
"""Facts of every kind, as ``training_facts`` takes them."""


@cache
def planned(case: str) -> Plan:
    """The plan of a case."""
    facts = dict(CASES[case])
    return plan_training(training_facts(facts.pop("rows"), facts.pop("cols"), **facts))


@cache
def certified(case: str) -> Certificate:
    """What a run of two owners by that plan states, with its one opening."""
    return certificate_of(planned(case))


def certificate_of(plan: Plan) -> Certificate:
    """The same of any plan."""
    facts, info = plan.facts, scheme_named(plan.facts.scheme).info
    parties = tuple(f"party-{x}" for x in "abcd"[: info.default_parties])
    width, half = facts.cols + plan.own_columns, facts.rows // 2
    shapes: dict[str, dict[str, tuple[int, ...]]] = {
        "clinic-a": {FEATURES: (half, width), LABELS: plan.target.shape(half)},
        "clinic-b": {FEATURES: (facts.rows - half, width), LABELS: plan.target.shape(facts.rows - half)},
    }
    if facts.partition == "vertical":
        shapes = {
            "clinic-a": {FEATURES: (facts.rows, 1)},
            "clinic-b": {FEATURES: (facts.rows, width - 1), LABELS: plan.target.shape(facts.rows)},
        }
    if facts.weight_bound is not None:
        for inputs in shapes.values():
            inputs.update({WEIGHTS: inputs[LABELS][:1]} if LABELS in inputs else {})
    return certify(
        plan,
        parties=parties,
        dealer="dealer" if info.dealer else None,
        owners=shapes,
        openings=(Opening(1, plan.release_reason, "arithmetic", (plan.released,), parties),),
        created="2026-03-01T10:20:30+00:00",
        study="5a" * 32,
        warnings=("a warning of the run",),
    )
