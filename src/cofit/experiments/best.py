"""cofit's recipe "best" as a contender: noisy descent, with the ranges that the data set declares."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.experiments.cells import Best
from cofit.experiments.datasets import DataSet
from cofit.learn.facts import training_facts
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.planning import plan_descent
from cofit.learn.recipes.descent.twin import cleartext_descent

Reals = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
_BLOCK = 1 << 22


def plan_best(data: DataSet, rows: int, contender: Best, scheme: str) -> DescentPlan:
    """Return the plan for so many rows of a data set.

    Owners of columns need a range in any case: where none is declared, the largest magnitude in the data is taken.
    """
    ranges = data.ranges
    if ranges is None and contender.partition == "vertical":
        bound = max(-float(data.features.min()), float(data.features.max()), 1e-9)
        ranges = (-bound, bound)
    facts = training_facts(
        rows,
        data.features.shape[1],
        partition=contender.partition,
        recipe="best",
        epsilon=contender.epsilon,
        delta=contender.delta,
        scheme=scheme,
        feature_bound=None if ranges is None else max(-ranges[0], ranges[1]),
        feature_lower=None if ranges is None else ranges[0],
    )
    return plan_descent(facts)


def best_draws(plan: DescentPlan, data: DataSet, rows: Places, draws: int, rng: np.random.Generator) -> Reals:
    """Return releases of the cleartext twin, trained on these rows."""
    return cleartext_descent(plan, data.features[rows], data.labels[rows], draws, rng)


def best_accuracies(
    plan: DescentPlan, released: Reals, data: DataSet, rows: Places, *, raw: bool = False
) -> list[float]:
    """Return, for each release, the share of these rows that it classifies correctly, by its own map of rows."""
    truth = data.labels[rows] == 1
    return [float(((_scores(plan, one, data, rows, raw) > 0) == truth).mean()) for one in released]


def best_claims(plan: DescentPlan) -> dict[str, Any]:
    """Return what the run guarantees."""
    parts = [f"{plan.epochs} noisy gradients"]
    parts += [f"the {event.name}" for event in plan.events if event not in (*plan.steps, *plan.calibration)]
    return {
        "epsilon": float(plan.facts.epsilon),
        "delta": float(plan.total_delta),
        "why": f"one account of {', '.join(parts)}; proven delta {float(plan.account.delta):.4g}",
        "level": plan.level is not None,
        "centre": plan.centre is not None,
        "clipped": plan.clipped,
    }


def _scores(plan: DescentPlan, released: Reals, data: DataSet, rows: Places, raw: bool) -> Reals:
    """<w, z> + beta b for every row, block by block."""
    weights = released[: plan.facts.cols] if raw else plan.used_weights(released)[:, 0]
    mapped = plan.row_map(released)
    step = max(1, _BLOCK // plan.facts.cols)
    blocks = [mapped(data.features[rows[i : i + step]]) @ weights for i in range(0, len(rows), step)]
    return np.asarray(np.concatenate(blocks) + plan.intercepts(released)[0])
