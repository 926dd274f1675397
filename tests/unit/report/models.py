"""Released models to report on, made without a run: from a plan, with weights that are noise and perhaps a signal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cofit.learn.certify import certify
from cofit.learn.facts import training_facts
from cofit.learn.plan import Plan, plan_training
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.twin import cleartext_descent
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from cofit.models.linear_model import LinearModel
from cofit.privacy.certificate import Certificate
from cofit.report.accuracy_forecast import AccuracyCurve, AccuracyForecast
from cofit.report.noise_law import noise_law
from cofit.report.significance import grid_step
from cofit.secret import Opening
from cofit.sharing import scheme_named
from support.facts import paper_facts

DESCENTS: dict[str, dict[str, Any]] = {
    "owners": {"epsilon": 0.3},
    "owners, centred": {"epsilon": 2.0, "delta": 1e-5, "clip_rows": False},
    "level, centred": {
        "epsilon": 3.0,
        "feature_bound": 2.0,
        "feature_lower": -0.5,
        "norm_floor": 0.1,
        "clip_rows": False,
    },
    "clipped": {"epsilon": 3.0},
    "shards": {"epsilon": 3.0, "shards": 4},
    "clipped, bounds": {"epsilon": 3.0, "partition": "vertical", "feature_bound": 2.0},
    "vertical": {"epsilon": 0.2, "partition": "vertical", "feature_bound": 1.0, "feature_lower": 0.0},
    "no intercept": {"epsilon": 1.0, "fit_intercept": False, "loss": "huber_hinge"},
    "chosen shares": {
        "epsilon": 3.0,
        "feature_bound": 1.0,
        "calibrate_intercept": True,
        "budget_shares": {"level": 0.07, "centre": 0.11, "intercept": 0.03},
    },
    "calibrated": {"epsilon": 2.0, "calibrate_intercept": True},
    "pure": {"epsilon": 3.0, "delta": 0.0, "row_nonzeros": 2},
}
"""Facts of noisy descent for 400 rows and 5 columns: every kind of release."""
CREATED = "2026-03-01T10:20:30+00:00"
MECHANISMS = {"knorm": 0.0, "laplace": 0.0, "gaussian": 1e-6}
CURVE = AccuracyCurve(
    "paper, l2 = 1", "paper", 1.0, "knorm", 0.0, (0.1, 1.0, 20.0), (0.5, 0.8, 0.9), (0.4, 0.7, 0.89), (0.6, 0.85, 0.91)
)
FORECAST = AccuracyForecast("made-up data", False, 400, 1.0, 0.0, 400, 100, 24, 0.9, 0.5, (CURVE,))
"""Made up, for tests that are not about the forecast."""


def planned(rows: int = 400, cols: int = 5, mechanism: str = "knorm", **facts: Any) -> MinimiserPlan:
    """A plan of a small study."""
    return plan_minimiser(paper_facts(rows, cols, mechanism=mechanism, delta=MECHANISMS[mechanism], **facts))


def released(
    plan: MinimiserPlan,
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
    certificate = replace(certified_by(plan, parties, owners), **certified)
    step = grid_step(certificate)
    weights = noise_law(certificate).draw(1, np.random.default_rng(seed))[0]
    weights[0] += signal
    on_grid = (np.round(weights / step) * step).tolist()
    return LinearModel.from_weights(plan, on_grid, certificate, classes, names)


def descended(rows: int = 400, cols: int = 5, names: tuple[str, ...] | None = None, **facts: Any) -> LinearModel:
    """A model of noisy descent on made-up rows, whose first column decides; by the cleartext twin."""
    plan = plan_training(training_facts(rows, cols, **facts))
    assert isinstance(plan, DescentPlan)
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (rows, cols))
    weights = cleartext_descent(plan, x, (x[:, 0] > 0.5).astype(np.int64), 1, rng)[0]
    return LinearModel.from_weights(plan, weights.tolist(), certified_by(plan), ("no", "yes"), names)


def certified_by(
    plan: Plan, parties: tuple[str, ...] | None = None, owners: tuple[str, str] = ("clinic-a", "clinic-b")
) -> Certificate:
    """The certificate of a plan that two owners took part in."""
    facts, info = plan.facts, scheme_named(plan.facts.scheme).info
    members = parties or tuple(f"party-{x}" for x in "abcd"[: info.default_parties])
    width = facts.cols + plan.own_columns
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
    reason = plan.release_reason
    return certify(
        plan,
        parties=members,
        dealer="dealer" if info.dealer else None,
        owners=shapes,
        openings=(Opening(1, reason, "arithmetic", (plan.released,), members),),
        created=CREATED,
    )
