"""Released models to report on, made without a run: from a plan, with weights that are noise and perhaps a signal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cofit.learn.certify import certify
from cofit.learn.facts import training_facts
from cofit.learn.plan import Plan, plan_training
from cofit.models.linear_model import LinearModel
from cofit.report.accuracy_forecast import AccuracyCurve, AccuracyForecast
from cofit.report.noise_law import noise_law
from cofit.report.significance import grid_step
from cofit.secret import Opening
from cofit.sharing import scheme_named

CREATED = "2026-03-01T10:20:30+00:00"
MECHANISMS = {"knorm": 0.0, "laplace": 0.0, "gaussian": 1e-6}
FORECAST = AccuracyForecast(
    "made-up data",
    False,
    400,
    100,
    0.9,
    0.5,
    0.8,
    (AccuracyCurve("knorm", 0.0, (0.1, 1.0, 30.0), (0.5, 0.8, 0.9), (0.4, 0.7, 0.89), (0.6, 0.85, 0.91)),),
)
"""Made up, for tests that are not about the forecast."""


def planned(rows: int = 400, cols: int = 5, mechanism: str = "knorm", **facts: Any) -> Plan:
    """A plan of a small study."""
    return plan_training(training_facts(rows, cols, mechanism=mechanism, delta=MECHANISMS[mechanism], **facts))


def released(
    plan: Plan,
    *,
    names: tuple[str, ...] | None = None,
    parties: tuple[str, ...] | None = None,
    owners: tuple[str, str] = ("clinic-a", "clinic-b"),
    classes: tuple[str, str] = ("no", "yes"),
    signal: float = 0.0,
    seed: int = 0,
    **certified: Any,
) -> LinearModel:
    """A model whose first weight is ``signal`` and whose other weights are noise, on the grid."""
    facts, info = plan.facts, scheme_named(plan.facts.scheme).info
    members = parties or tuple(f"party-{x}" for x in "abcd"[: info.default_parties])
    width = facts.cols + int(facts.fit_intercept and facts.normalised_by == "owners")
    half = facts.rows // 2
    shapes = {
        name: {"features": (rows, width), "labels": (rows,)}
        for name, rows in zip(owners, (half, facts.rows - half), strict=True)
    }
    if facts.partition == "vertical":
        shapes = {
            owners[0]: {"features": (facts.rows, 1), "labels": (facts.rows,)},
            owners[1]: {"features": (facts.rows, width - 1)},
        }
    reason = "the noisy weights: the one release of this study"
    opening = Opening(1, reason, "arithmetic", (plan.geometry.cols,), members)
    certificate = certify(
        plan,
        parties=members,
        dealer="dealer" if info.dealer else None,
        owners=shapes,
        openings=(opening,),
        created=CREATED,
    )
    certificate = replace(certificate, **certified)
    step = grid_step(certificate)
    weights = noise_law(certificate).draw(1, np.random.default_rng(seed))[0]
    weights[0] += signal
    on_grid = (np.round(weights / step) * step).tolist()
    return LinearModel.from_weights(plan, on_grid, certificate, classes, names)
