"""The exact minimiser of the objective, in the clear, with a bound of the distance to it.

J(w) = (1/n) sum_i log(1 + exp(-s_i <w, x_i>)) + (Lambda/2) ||w||^2 + <b, w>, s_i = -1 or 1, is Lambda-strongly convex,
so ||w - w*|| <= ||grad J(w)|| / Lambda for every w: ``distance`` is that bound at the weights that are returned.

What is minimised is J as a function of v = w + b / Lambda, where the linear term is gone ((Lambda/2) ||v||^2 is left):
however large b is, v is at most 1 / Lambda long, and J keeps its digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from cofit.baselines.method import Part, Reals
from cofit.errors import CofitError

_ITERATIONS = 20_000
_MEMORY = 30


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

    v = np.zeros(d)
    distance = np.inf
    for _ in range(5):  # L-BFGS stops early where the objective no longer changes in floating point; start anew
        wanted = 0.5 * l2 * tolerance / np.sqrt(max(1, d))  # of every coordinate: scipy's criterion
        options = {"maxiter": _ITERATIONS, "maxfun": 2 * _ITERATIONS, "maxcor": _MEMORY, "gtol": wanted, "ftol": 0.0}
        v = np.asarray(minimize(objective, v, jac=True, method="L-BFGS-B", options=options).x)
        distance = float(np.linalg.norm(objective(v)[1])) / l2
        if distance <= tolerance:
            return Minimum(start + v, distance)
    raise CofitError(
        f"The minimiser was not reached: {distance:.3g} away at most, {tolerance:.3g} asked for. Use a larger l2 or a "
        f"larger tolerance."
    )
