"""Counts: made-up visits (2,000 x 8) and claims (10,000 x 10), as ``experiments.counts`` has them.

The figure is the part of the Poisson deviance that is explained, on the rows held out. There is no other private
Poisson regression to compare with: a regression of the logarithm, and owners alone, stand beside it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import PoissonRegressor
from sklearn.model_selection import KFold

from cofit.experiments.counts import KINDS, made_up
from cofit.experiments.learners.problem import Contender, Places, Problem, Reals, Task
from cofit.learn.base_plan import PublicRows
from cofit.learn.bounds import scaled_by_bounds
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.targets import Count

_PENALTY = 1e-4
_LEAST = 1e-3
"""No rate is taken for less: the deviance of a rate of 0 is infinite."""


def _released(task: Task, rng: np.random.Generator, rows: Places, most: int) -> list[float]:
    """Return the figure of releases of recipe best on these rows, by its cleartext twin."""
    ends = (0.0, float(most))
    table = task.features[rows], scaled_by_bounds(task.targets[rows], *ends)
    settings: dict[str, Any] = {"epsilon": task.epsilon, "delta": task.delta, "feature_bound": 1.0, "scheme": "clear"}
    facts = training_facts(len(rows), task.features.shape[1], loss="poisson", largest_count=most, **settings)
    plan = plan_training(facts)
    scores = plan.simulated_scores(PublicRows(table, table, task.test), task.draws, rng, {})
    return list(map(float, plan.target.explained(task.truth, plan.target.predicted(scores, ends))))


class PoissonLoss(Contender):
    """cofit: all owners together."""

    label: ClassVar[str] = "cofit, Poisson, recipe best"

    def __init__(self, most: int) -> None:
        self.most = most

    def figures(self, task: Task) -> list[float]:
        return _released(task, task.rng(), np.concatenate(task.owners), self.most)


class OwnersAlone(PoissonLoss):
    """Every owner with its own rows; the mean over owners."""

    label: ClassVar[str] = "every owner alone, Poisson, recipe best"

    def figures(self, task: Task) -> list[float]:
        rng = task.rng()
        return [value for rows in task.owners for value in _released(task, rng, rows, self.most)]


class OfTheLogarithm(PoissonLoss):
    """cofit's Huber regression of log(1 + count)."""

    label: ClassVar[str] = "cofit, Huber of log(1 + count), recipe best"

    def figures(self, task: Task) -> list[float]:
        rows, highest = np.concatenate(task.owners), float(np.log1p(self.most))
        table = task.features[rows], scaled_by_bounds(np.log1p(task.targets[rows]), 0.0, highest)
        settings: dict[str, Any] = {"epsilon": task.epsilon, "delta": task.delta, "feature_bound": 1.0}
        plan = plan_training(training_facts(len(rows), task.features.shape[1], loss="huber", **settings))
        scores = plan.simulated_scores(PublicRows(table, table, task.test), task.draws, task.rng(), {})
        rates = np.maximum(np.expm1(plan.target.predicted(scores, (0.0, highest))), _LEAST)
        return list(map(float, Count(self.most).explained(task.truth, rates)))


class WithoutPrivacy(PoissonLoss):
    """scikit-learn's PoissonRegressor, on all rows."""

    label: ClassVar[str] = "no privacy: scikit-learn's PoissonRegressor"
    guaranteed: ClassVar[bool] = False
    private: ClassVar[bool] = False

    def figures(self, task: Task) -> list[float]:
        rows = np.concatenate(task.owners)
        fitted = PoissonRegressor(alpha=_PENALTY, max_iter=1000).fit(task.features[rows], task.targets[rows])
        rates = np.minimum(fitted.predict(task.test), self.most)
        return list(map(float, Count(self.most).explained(task.truth, rates)))


class _Counts(Problem):
    """Columns from -1 to 1, and counts."""

    kind: ClassVar[str]
    rows: ClassVar[int]

    def load(self) -> tuple[Reals, npt.NDArray[Any]]:
        return made_up(KINDS[self.kind], self.rows, 0)

    def folds(self, count: int, seed: int) -> list[tuple[Places, Places]]:
        return [(a, b) for a, b in KFold(count, shuffle=True, random_state=seed).split(self.data[0])]


def _contenders(most: int) -> tuple[Contender, ...]:
    return PoissonLoss(most), OfTheLogarithm(most), OwnersAlone(most), WithoutPrivacy(most)


class Visits(_Counts):
    """Visits to a doctor, about 3, more spread than Poisson's."""

    name: ClassVar[str] = "visits"
    about: ClassVar[str] = "2,000 x 8, made up, counts up to 40"
    kind: ClassVar[str] = "visits"
    rows: ClassVar[int] = 2000
    contenders = _contenders(KINDS["visits"].most)


class Claims(_Counts):
    """Claims of an insurance, nearly all of them 0 or 1."""

    name: ClassVar[str] = "claims"
    about: ClassVar[str] = "10,000 x 10, made up, counts up to 6"
    kind: ClassVar[str] = "claims"
    rows: ClassVar[int] = 10_000
    contenders = _contenders(KINDS["claims"].most)
