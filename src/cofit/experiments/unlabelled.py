"""Recipe "best" with unlabelled rows: scores smoothed by the rows held out, and a public reference.

The rows held out in a fold are a batch for smoothing. For a reference they are halved, a person's rows together: each
half is the reference for the other half, whose scores count. So it is disjoint from training and test, training sees
the rows that it sees without a reference, and every row held out has one score, as without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.experiments.cells import Best
from cofit.experiments.datasets import DataSet
from cofit.experiments.folds import Fold, among_owners
from cofit.experiments.twin import TWIN
from cofit.learn.facts import training_facts
from cofit.learn.recipes.descent.many_scores import scores_of_releases, smoothed_scores_of_releases
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.planning import plan_descent
from cofit.learn.recipes.descent.reference import ReferenceMap, reference_map
from cofit.learn.recipes.descent.twin import cleartext_descent

COLUMNS, DIRECTIONS = "columns", "directions"
Reals = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


def smoothed_accuracies(plan: DescentPlan, released: Reals, data: DataSet, rows: Places) -> list[float]:
    """Return, for each release, the share of these rows that it classifies correctly, smoothed by them."""
    scores = smoothed_scores_of_releases(plan, released, np.asarray(data.features[rows], dtype=np.float64))
    return [float(share) for share in _shares(scores, data, rows)]


def referenced_accuracies(
    data: DataSet, fold: Fold, contender: Best, draws: int, noise: Callable[[], np.random.Generator]
) -> tuple[list[float], DescentPlan]:
    """Return the accuracy of each draw with a reference, and one of the two plans. noise: makes its generator."""
    halves = among_owners(data, fold.test, 2, 1)
    right = np.zeros(draws)
    for reference, test in (halves, halves[::-1]):
        mapped = reference_map(
            data.features[reference],
            len(fold.train),
            epsilon=contender.epsilon,
            delta=contender.delta,
            directions_only=contender.reference == DIRECTIONS,
        )
        bound = float(np.abs(data.features).max()) if contender.partition == "vertical" else None
        plan = plan_referenced(mapped, contender, bound)
        features = _mapped(mapped, plan, data.features[fold.train])
        released = cleartext_descent(plan, features, data.labels[fold.train], draws, noise())
        scores = scores_of_releases(plan, released, _mapped(mapped, plan, data.features[test]))
        right += _shares(scores, data, test) * len(test)
    return [float(share) for share in right / len(fold.test)], plan


def plan_referenced(mapped: ReferenceMap, contender: Best, bound: float | None = None) -> DescentPlan:
    """Return the plan of a contender with this map, for as many records as the map is for. bound: of all values, where
    owners hold columns."""
    by_columns = contender.partition == "vertical"
    facts = training_facts(
        mapped.records,
        mapped.columns,
        epsilon=contender.epsilon,
        delta=contender.delta,
        scheme=TWIN,
        reference=mapped.hash,
        partition=contender.partition,
        reference_inputs=mapped.inputs if by_columns else None,
        feature_bound=bound if by_columns else None,
    )
    return plan_descent(facts)


def _mapped(mapped: ReferenceMap, plan: DescentPlan, rows: npt.NDArray[Any]) -> Reals:
    """Return rows as their owners map them, or as the parties do."""
    if plan.floor is None:
        return mapped.in_blocks(rows)
    return mapped.by_parties(rows, float(plan.facts.feature_bound), float(plan.floor))


def _shares(scores: Reals, data: DataSet, rows: Places) -> Reals:
    truth = (data.labels[rows] == 1)[:, np.newaxis]
    return np.asarray(((scores > 0) == truth).mean(axis=0))
