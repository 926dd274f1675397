"""The exact minimiser of the objective, in the clear, with a bound of the distance to it.

J(w) = (1/n) sum_i log(1 + exp(-s_i <w, x_i>)) + (Lambda/2) ||w||^2 + <b, w>, s_i = -1 or 1, is Lambda-strongly convex,
so ||w - w*|| <= ||grad J(w)|| / Lambda for every w: ``distance`` is that bound at the weights that are returned.

What is minimised is J as a function of v = w + b / Lambda, where the linear term is gone ((Lambda/2) ||v||^2 is left):
however large b is, v is at most 1 / Lambda long, and J keeps its digits. L-BFGS comes as near as differences of J in
floating point show the way; Newton's method, which needs the gradient alone, goes the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit

from cofit.baselines.method import Part, Reals
from cofit.errors import CofitError

_ITERATIONS = 20_000
_MEMORY = 30
_NEWTON_STEPS = 30


@dataclass(frozen=True)
class Minimum:
    """Weights, and how far at most from the exact minimiser they are."""

    weights: Reals
    distance: float


def minimise(part: Part, l2: float, *, tolerance: float, linear: Reals | None = None) -> Minimum:
    """Return weights within ``tolerance`` of the minimiser of J, with the linear term <linear, w> (none: 0)."""
    x, signs = part.features, 2.0 * part.labels - 1.0
    n, d = x.shape
    start = np.zeros(d) if linear is None else -linear / l2
    offset = x @ start

    def objective(v: Reals) -> tuple[float, Reals]:
        margins = signs * (x @ v + offset)
        gradient = x.T @ (-signs * expit(-margins)) / n + l2 * v
        return float(np.logaddexp(0, -margins).mean() + l2 / 2 * (v @ v)), gradient

    def newton_step(v: Reals, gradient: Reals) -> Reals:
        margins = x @ v + offset
        curvature = expit(margins) * expit(-margins) / n
        hessian = LinearOperator((d, d), matvec=lambda u: x.T @ (curvature * (x @ u)) + l2 * u, dtype=np.float64)
        return np.asarray(cg(hessian, -gradient, rtol=1e-4, maxiter=_ITERATIONS)[0])

    options = {"maxiter": _ITERATIONS, "maxfun": 2 * _ITERATIONS, "maxcor": _MEMORY, "ftol": 1e-15, "gtol": 1e-6}
    v = np.asarray(minimize(objective, np.zeros(d), jac=True, method="L-BFGS-B", options=options).x)
    gradient = objective(v)[1]
    for _ in range(_NEWTON_STEPS):
        if np.linalg.norm(gradient) <= l2 * tolerance:
            break
        v = v + newton_step(v, gradient)
        gradient = objective(v)[1]
    distance = float(np.linalg.norm(gradient)) / l2
    if distance <= tolerance:
        return Minimum(start + v, distance)
    raise CofitError(
        f"The minimiser was not reached: {distance:.3g} away at most, {tolerance:.3g} asked for. Use a larger l2 or a "
        f"larger tolerance."
    )
