"""The accuracy of one setting, simulated with rows that are no secret: by the plan that a study with it would have.

The plan simulates itself: noisy descent by its cleartext twin on as many rows as the study has; the paper's method by
the exact minimiser, in the clear, and noise of the plan's mechanism and scale in floating point. Every setting and
every epsilon draws from the same seed, so curves over epsilon are smooth and differences between settings are not
chance in the noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.errors import CofitError, InvalidInputError
from cofit.experiments.public_rows import Split
from cofit.learn.base_plan import PublicRows
from cofit.learn.facts import Facts, training_facts
from cofit.learn.losses import loss_named
from cofit.learn.plan import Plan, plan_training
from cofit.learn.recipes.minimiser.twin import minimum

_SEED = 1
FEWEST_SMOOTHED = 100
"""With fewer rows held out, scores smoothed by them say little of larger batches."""
_ROW = 150  # what a row costs beside its cells, in cells
Reals = npt.NDArray[np.float64]


def size_of(rows: int, cols: int) -> int:
    """Return what a simulation costs: cells, and more for each row."""
    return rows * (cols + _ROW)


def too_large(rows: int, cols: int, most: int) -> str | None:
    """Return why a study of this size is not simulated, or None."""
    if size_of(rows, cols) <= most:
        return None
    return (
        f"Studies up to rows x (columns + {_ROW}) = {most:,} are simulated, and this one has {rows:,} rows and "
        f"{cols:,} columns."
    )


class Simulation:
    """Simulated training on one split of public rows, for a study of a given size.

    ``largest``: no larger ``size_of`` is simulated with noisy descent, which trains on as many rows as the study has.
    """

    def __init__(self, rows: int, cols: int, data: Split, draws: int, largest: int) -> None:
        self.rows, self.cols, self.data, self.draws, self.largest = rows, cols, data, draws, largest
        self._kept: dict[Any, Any] = {}

    def accuracies(self, epsilon: float, facts: Mapping[str, Any]) -> Reals | str:
        """Return the accuracy of every draw; or, in words, why there is no plan. ``facts``: of ``training_facts``."""
        try:
            plan = plan_training(training_facts(self.rows, self.cols, epsilon=epsilon, **facts))
            scores = self._scores(plan)
        except CofitError as error:
            return str(error)
        return self.data.quality(scores)

    def smoothed(self, epsilon: float, facts: Mapping[str, Any]) -> Reals | None:
        """Return the same with scores smoothed by the rows held out; None where they cannot be, or are too few."""
        if len(self.data.test) < FEWEST_SMOOTHED:
            return None
        try:
            plan = plan_training(training_facts(self.rows, self.cols, epsilon=epsilon, **facts))
            if plan.simulates_all_rows and too_large(self.rows, self.cols, self.largest):
                return None
            scores = plan.smoothed_scores(self._public(), self.draws, np.random.default_rng(_SEED))
        except CofitError:
            return None
        return None if scores is None else self.data.quality(scores)

    def without_privacy(self, facts: Facts) -> float:
        """Return the accuracy without noise: the same loss, penalty 1 / n (scikit-learn's C = 1), rows of length 1
        (each of several classes against the rest); of a real target rows as they are."""
        train, test = (_unit_rows(self.data.features[part], facts) for part in (self.data.train, self.data.test))
        loss, labels = loss_named(facts.loss, facts.largest_count), self.data.labels[self.data.train]
        if facts.classes > 2:
            each = [minimum(loss, train, (labels == k).astype(np.int64), 1 / len(train)) for k in range(facts.classes)]
            return float(self.data.quality((test @ np.column_stack(each))[:, np.newaxis])[0])
        weights = minimum(loss, train, labels, 1 / len(train))
        return float(self.data.quality((test @ weights)[:, np.newaxis])[0])

    def _scores(self, plan: Plan) -> Reals:
        if plan.simulates_all_rows and (reason := too_large(self.rows, self.cols, self.largest)):
            raise InvalidInputError(reason)
        return plan.simulated_scores(self._public(), self.draws, np.random.default_rng(_SEED), self._kept)

    def _public(self) -> PublicRows:
        data = self.data
        return PublicRows(
            (data.features[data.train], data.labels[data.train]),
            (data.features[data.filled], data.labels[data.filled]),
            data.features[data.test],
        )


def _unit_rows(features: npt.NDArray[Any], facts: Facts) -> Reals:
    x = np.asarray(features, dtype=np.float64) / float(facts.feature_bound)
    if facts.fit_intercept:
        x = np.hstack([x, np.full((len(x), 1), 1.0)])
    if loss_named(facts.loss).target.ranged:  # least squares of the columns as they are
        return x
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(np.divide(x, lengths, out=np.zeros_like(x), where=lengths > 0))
