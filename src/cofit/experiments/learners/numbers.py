"""Real targets: diabetes (442 x 10) and made-up districts (10,000 x 8), as ``experiments.real_targets`` has them.

The figure is R squared on the rows held out. diffprivlib is no dependency of cofit. Its LinearRegression is a
functional mechanism (Zhang et al. 2012), by a trusted curator: Laplace noise in every coefficient of the sum of
squares, epsilon divided evenly among them, delta 0. It is done here by our own hand, with noise for one record
*replaced*, the intercept as a constant column, and small eigenvalues of the noisy matrix raised (section 6 of that
paper), without which the minimum often does not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from cofit.experiments.learners.problem import Contender, Places, Problem, Reals, Task
from cofit.experiments.real_targets import RealTargets, california, diabetes, r_squared
from cofit.learn.base_plan import PublicRows
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training

_RAISED = 4.0
"""Eigenvalues are at least so many standard deviations of the noise, as Zhang et al. suggest."""


def _released(task: Task, rng: np.random.Generator, rows: Places, loss: str) -> list[float]:
    """Return R squared of releases of recipe best on these rows, by its cleartext twin."""
    table = task.features[rows], task.targets[rows]
    settings: dict[str, Any] = {"epsilon": task.epsilon, "delta": task.delta, "feature_bound": 1.0, "scheme": "clear"}
    plan = plan_training(training_facts(len(rows), task.features.shape[1], loss=loss, **settings))
    scores = plan.simulated_scores(PublicRows(table, table, task.test), task.draws, rng, {})
    return [float(value) for value in r_squared(task.truth, scores)]


class LeastSquares(Contender):
    """cofit: all owners together, residuals clipped at an eighth of the range."""

    label: ClassVar[str] = "cofit, least squares, recipe best"
    loss: ClassVar[str] = "clipped_squares"

    def figures(self, task: Task) -> list[float]:
        return _released(task, task.rng(), np.concatenate(task.owners), self.loss)


class HuberLoss(LeastSquares):
    """The same with the Huber loss."""

    label: ClassVar[str] = "cofit, Huber, recipe best"
    loss: ClassVar[str] = "huber"


class OwnersAlone(Contender):
    """Every owner with its own rows; the mean over owners."""

    label: ClassVar[str] = "every owner alone, least squares, recipe best"

    def figures(self, task: Task) -> list[float]:
        rng = task.rng()
        return [value for rows in task.owners for value in _released(task, rng, rows, LeastSquares.loss)]


class FunctionalMechanism(Contender):
    """By a trusted curator: noise in the coefficients of the sum of squares, delta 0."""

    label: ClassVar[str] = "trusted curator, functional mechanism (as diffprivlib's LinearRegression)"

    def figures(self, task: Task) -> list[float]:
        rows = np.concatenate(task.owners)
        x, test = (np.hstack([one, np.ones((len(one), 1))]) for one in (task.features[rows], task.test))
        y, rng, cols = task.targets[rows], task.rng(), x.shape[1]
        above = np.triu_indices(cols)
        # one record replaced moves x_i x_j by 2, a square by 1, and n not at all; x_i y by 2
        width = np.where(above[0] == above[1], 1.0, 2.0)
        width[-1] = 0.0
        scale = (len(width) - 1 + cols) / task.epsilon
        found = []
        for _ in range(task.draws):
            squares = np.zeros((cols, cols))
            squares[above] = (x.T @ x)[above] + rng.laplace(0.0, scale * width)
            squares = squares + np.triu(squares, 1).T
            values, vectors = np.linalg.eigh(squares)
            values = np.maximum(values, _RAISED * np.sqrt(2) * 2 * scale)
            products = x.T @ y + rng.laplace(0.0, 2 * scale, cols)
            found.append(vectors @ ((vectors.T @ products) / values))
        return [float(value) for value in r_squared(task.truth, test @ np.array(found).T)]


class WithoutPrivacy(Contender):
    """scikit-learn's Ridge, on all rows."""

    label: ClassVar[str] = "no privacy: scikit-learn's Ridge"
    guaranteed: ClassVar[bool] = False
    private: ClassVar[bool] = False

    def figures(self, task: Task) -> list[float]:
        rows = np.concatenate(task.owners)
        fitted = Ridge().fit(task.features[rows], task.targets[rows])
        return [float(value) for value in r_squared(task.truth, np.asarray(fitted.predict(task.test))[:, np.newaxis])]


@dataclass(frozen=True)
class _Numbers(Problem):
    """Columns and a target, each scaled from its public range to [-1, 1]."""

    contenders = (LeastSquares(), HuberLoss(), OwnersAlone(), FunctionalMechanism(), WithoutPrivacy())
    source: Callable[[], RealTargets] = diabetes

    def load(self) -> tuple[Reals, npt.NDArray[Any]]:
        data = self.source()
        return data.features, data.targets

    def folds(self, count: int, seed: int) -> list[tuple[Places, Places]]:
        return [(a, b) for a, b in KFold(count, shuffle=True, random_state=seed).split(self.data[0])]


class Diabetes(_Numbers):
    """The progression of a disease, from 0 to 400."""

    name: ClassVar[str] = "diabetes"
    about: ClassVar[str] = "442 x 10, a number"


class Districts(_Numbers):
    """The value of houses in made-up districts like those of California."""

    name: ClassVar[str] = "districts"
    about: ClassVar[str] = "10,000 x 8, made up like California's housing, a number"

    def __init__(self) -> None:
        super().__init__(california)
