"""How strong a model of noisy descent can be: what the records can move of the weights, and what the noise does."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cofit.arithmetic import reals
from cofit.privacy.mechanisms import mechanism_named

if TYPE_CHECKING:
    from cofit.learn.recipes.descent.plan import DescentPlan


def noise_of_weights(plan: DescentPlan) -> float:
    """Return the standard deviation of the noise in a released weight, if the gradients did not answer to it."""
    spread = mechanism_named(plan.mechanism_name).deviation(plan.layout.weights)
    deviations = [c * float(e.scale) for c, e in zip(_counts(plan), plan.steps, strict=True)]
    return 2.0**-plan.formats.weights * spread * math.sqrt(reals.total(one * one for one in deviations))


def strength(plan: DescentPlan) -> float:
    """Return how far all records together could move the score of a row of length 1, over the noise in it.

    In the L1 geometry, of a row of as many equal values as rows are said to have.
    """
    formats, layout = plan.formats, plan.layout
    margin = float(formats.factor) * 2.0**-formats.exponent * layout.rows * reals.total(_counts(plan))
    if layout.outputs > 1:  # of classes with equally many rows each: its own count 1, the others b / a
        own = 1 / layout.outputs
        margin *= own + (1 - own) * float(formats.others / formats.factor)
    sparse = math.sqrt(plan.facts.row_nonzeros or 1) if layout.norm == "l1" else 1.0
    return margin / plan.noise_of_weights / sparse


def _counts(plan: DescentPlan) -> list[float]:
    """Return in how much of the averaged iterates each step is."""
    return [min(plan.averaged, plan.epochs - t) / plan.averaged for t in range(plan.epochs)]
