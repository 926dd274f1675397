"""The minimisers of one objective for many linear terms at once, in the clear, each within a public tolerance.

n J(w) = sum_i l(s_i <w, x_i>) + <b, w> + (strength/2) ||w||^2, s_i = -1 or 1, with l' = -r and the residual
r(m) = sigmoid(steepness (centre - m)): logistic regression is steepness 1 and centre 0. ||w - w*|| is at most
||grad n J(w)|| / strength.

Nesterov's accelerated gradient method for strongly convex functions, started anew where it goes uphill (adaptive
restart, O'Donoghue and Candes). As in ``minimiser``, it runs in w + b / strength, where b is gone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.special import expit

from cofit.baselines.method import Part, Reals
from cofit.errors import CofitError

_ITERATIONS = 50_000


@dataclass(frozen=True)
class Residual:
    """r(m) = sigmoid(steepness (centre - m)) at the margin m: between 0 and 1, with the slope -steepness r (1 - r)."""

    steepness: float
    centre: float

    def __call__(self, margins: Reals) -> Reals:
        return np.asarray(expit(self.steepness * (self.centre - margins)))


def minimise_many(part: Part, residual: Residual, strength: float, linear: Reals, *, tolerance: float) -> Reals:
    """Return the minimisers for the columns of ``linear``, as columns, each within ``tolerance`` of the exact one."""
    signs = 2.0 * part.labels[:, np.newaxis] - 1.0
    x = signs * part.features
    offset = x @ (linear / -strength)
    steepest = residual.steepness / 4 * _largest_eigenvalue(x) + strength
    q = math.sqrt(strength / steepest)
    momentum = np.full(linear.shape[1], (1 - q) / (1 + q))
    at = before = np.zeros_like(linear)
    for _ in range(_ITERATIONS):
        gradient = strength * at - x.T @ residual(x @ at + offset)
        if (np.linalg.norm(gradient, axis=0) <= strength * tolerance).all():
            return np.asarray(at - linear / strength)
        after = at - gradient / steepest
        uphill = (gradient * (after - before)).sum(axis=0) > 0
        moving = np.where(uphill, 0.0, momentum)
        at, before = after + moving * (after - before), after
    distance = float(np.linalg.norm(gradient, axis=0).max()) / strength
    raise CofitError(
        f"A minimiser was not reached: {distance:.3g} away at most, {tolerance:.3g} asked for. Use a smaller pace, "
        "which is a stronger penalty."
    )


def _largest_eigenvalue(x: Reals) -> float:
    """Return the largest eigenvalue of x^T x, with a little more for rounding."""
    gram = x.T @ x if x.shape[1] < x.shape[0] else x @ x.T
    last = len(gram) - 1
    return float(eigh(gram, eigvals_only=True, subset_by_index=[last, last])[0]) * (1 + 1e-9)
