"""Rows as the objective of the paper's method means them, in the clear: of length 1, with the intercept's constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from cofit.learn.recipes.minimiser.plan import MinimiserPlan

Reals = npt.NDArray[np.float64]


def unit_rows(x: Reals, constant: float | None) -> Reals:
    """Return (x, c) / ||(x, c)||, or x / ||x|| without a constant; an all-zero row stays zero."""
    if constant is not None:
        x = np.hstack([x, np.full((len(x), 1), constant)])
    largest = np.abs(x).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(x, largest, out=np.zeros_like(x), where=largest > 0)  # so squares neither overflow nor vanish
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(np.divide(scaled, norms, out=np.zeros_like(x), where=norms > 0))


def normalised_rows(plan: MinimiserPlan, values: npt.ArrayLike) -> Reals:
    """Return whole rows, with the intercept's constant, exactly as the objective of ``plan`` means them.

    What the parties never see; for comparisons, predictions and tests.
    """
    x = np.asarray(values, dtype=np.float64)
    if plan.facts.normalised_by == "owners":
        return plan.scaled_by_owner(x)
    x = x / float(plan.facts.feature_bound)
    if plan.constant is not None:
        x = np.hstack([x, np.full((len(x), 1), float(plan.constant))])
    floor = float(plan.geometry.floor or 0)
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), floor))
