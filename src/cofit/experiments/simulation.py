"""The accuracy of one setting, simulated with rows that are no secret: by the plan that a study with it would have.

Recipe by recipe: noisy descent by its cleartext twin on as many rows as the study has; the paper's method by the exact
minimiser, in the clear, and noise of the plan's mechanism and scale in floating point. What is left out are roundings,
and the distance to the minimiser (tau), a thousandth of what one record moves. Every setting and every epsilon draws
from the same seed, so curves over epsilon are smooth and differences between settings are not chance in the noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from cofit.baselines.method import Part, Reals
from cofit.baselines.minimiser import minimise
from cofit.baselines.noise import GaussianNoise, KNormNoise, LaplaceNoise, Noise
from cofit.errors import CofitError, InvalidInputError
from cofit.experiments.many_scores import scores_of_releases
from cofit.experiments.public_rows import Split
from cofit.learn.contribution import normalised_rows
from cofit.learn.facts import Facts, training_facts
from cofit.learn.losses import loss_named
from cofit.learn.plan import DescentPlan, MinimiserPlan, Plan, plan_training
from cofit.learn.recipes.descent.twin import cleartext_descent

_SEED = 1
_ROW = 150  # what a row costs beside its cells, in cells
_FAR = 1e-3  # how far from the minimiser, beside the largest possible weights


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
        self._minima: dict[tuple[object, ...], tuple[Reals, Reals]] = {}

    def accuracies(self, epsilon: float, facts: Mapping[str, Any]) -> Reals | str:
        """Return the accuracy of every draw; or, in words, why there is no plan. ``facts``: of ``training_facts``."""
        try:
            plan = plan_training(training_facts(self.rows, self.cols, epsilon=epsilon, **facts))
            scores = self._descent(plan) if isinstance(plan, DescentPlan) else self._minimiser(plan)
        except CofitError as error:
            return str(error)
        return self._hits(scores)

    def without_privacy(self, facts: Facts) -> float:
        """Return the accuracy without noise: the same loss, penalty 1 / n (scikit-learn's C = 1), rows of length 1."""
        train, test = (_unit_rows(self.data.features[part], facts) for part in (self.data.train, self.data.test))
        weights = _minimum(facts.loss, train, self.data.labels[self.data.train], 1 / len(train))
        return float(self._hits((test @ weights)[:, np.newaxis])[0])

    def _descent(self, plan: DescentPlan) -> Reals:
        data = self.data
        if reason := too_large(self.rows, self.cols, self.largest):
            raise InvalidInputError(reason)
        released = cleartext_descent(
            plan, data.features[data.filled], data.labels[data.filled], self.draws, np.random.default_rng(_SEED)
        )
        return scores_of_releases(plan, released, data.features[data.test])

    def _minimiser(self, plan: Plan) -> Reals:
        assert isinstance(plan, MinimiserPlan)  # noqa: S101 (there are two kinds of plans)
        facts = plan.facts
        key = (facts.loss, facts.l2, facts.normalised_by, facts.intercept_scaling, facts.feature_bound, plan.floor)
        if key not in self._minima:
            train, test = (
                normalised_rows(plan, self.data.features[part]) for part in (self.data.train, self.data.test)
            )
            weights = _minimum(facts.loss, train, self.data.labels[self.data.train], float(facts.l2))
            self._minima[key] = (test @ weights, test)
        scores, test = self._minima[key]
        noise = _law(plan).sample(self.draws, plan.cols, np.random.default_rng(_SEED))
        return np.asarray(scores[:, np.newaxis] + test @ noise.T)

    def _hits(self, scores: Reals) -> Reals:
        return np.asarray(((scores > 0) == self.data.truth[:, np.newaxis]).mean(axis=0))


def _law(plan: MinimiserPlan) -> Noise:
    laws: dict[str, type[Noise]] = {"knorm": KNormNoise, "laplace": LaplaceNoise, "gaussian": GaussianNoise}
    return laws[plan.mechanism.name](float(plan.mechanism.scale))  # type: ignore[call-arg]


def _unit_rows(features: npt.NDArray[Any], facts: Facts) -> Reals:
    x = np.asarray(features, dtype=np.float64) / float(facts.feature_bound)
    if facts.fit_intercept:
        x = np.hstack([x, np.full((len(x), 1), 1.0)])
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(np.divide(x, lengths, out=np.zeros_like(x), where=lengths > 0))


def _minimum(loss: str, x: Reals, labels: npt.NDArray[np.int64], l2: float) -> Reals:
    """Return weights that are close to the minimiser of the mean loss with this penalty."""
    if loss == "logistic":
        return minimise(Part(x, labels), l2, tolerance=_FAR / l2).weights
    derivative = loss_named(loss).derivative
    y = labels.astype(np.float64)

    def objective(w: Reals) -> tuple[float, Reals]:
        margins = (2 * y - 1) * (x @ w)
        short = np.clip(1.5 - margins, 0, None)
        mean = np.where(short <= 1, short**2 / 2, short - 0.5).mean()
        return float(mean + l2 / 2 * (w @ w)), x.T @ derivative(y, x @ w) / len(y) + l2 * w

    found = minimize(objective, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", options={"gtol": _FAR * l2})
    return np.asarray(found.x)
