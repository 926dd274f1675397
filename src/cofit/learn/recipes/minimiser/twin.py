"""The cleartext twin of the paper's method, in floating point: the exact minimiser, and noise of the plan's law.

What is left out are roundings, and the distance to the minimiser (tau), a thousandth of what one record moves. (The
twin that runs the same program on the same formats is ``experiments/twin.py``.) Never for private data: every draw is a
release of its own, and digits of floating-point noise can give data away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from cofit.learn.losses import Loss
from cofit.learn.recipes.minimiser.rows import normalised_rows

if TYPE_CHECKING:
    from cofit.learn.base_plan import PublicRows
    from cofit.learn.recipes.minimiser.plan import MinimiserPlan

Reals = npt.NDArray[np.float64]
_FAR = 1e-3  # how far from the minimiser, beside the largest possible weights
_ITERATIONS = 20_000


def simulated_scores(
    plan: MinimiserPlan, data: PublicRows, draws: int, rng: np.random.Generator, kept: dict[Any, Any]
) -> Reals:
    """Return the score of every test row (first axis) under every draw. ``kept``: minima of other plans and this."""
    facts = plan.facts
    key = (facts.loss, facts.l2, facts.normalised_by, facts.intercept_scaling, facts.feature_bound, plan.floor)
    if key not in kept:
        train, test = normalised_rows(plan, data.different[0]), normalised_rows(plan, data.test)
        weights = minimum(plan.loss, train, data.different[1], float(facts.l2))
        kept[key] = (test @ weights, test)
    scores, test = kept[key]
    noise = plan.mechanism.in_the_clear(draws, rng)
    return np.asarray(scores[:, np.newaxis] + test @ noise.T)


def minimum(loss: Loss, x: Reals, labels: npt.NDArray[Any], l2: float) -> Reals:
    """Return weights that are close to the minimiser of the mean loss with this penalty."""
    y = labels.astype(np.float64)

    def objective(w: Reals) -> tuple[float, Reals]:
        z = x @ w
        return float(loss.value(y, z).mean() + l2 / 2 * (w @ w)), x.T @ loss.derivative(y, z) / len(y) + l2 * w

    options = {"gtol": _FAR * min(l2, 1.0) / np.sqrt(x.shape[1]), "ftol": 1e-15, "maxiter": _ITERATIONS}
    found = minimize(objective, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x)
