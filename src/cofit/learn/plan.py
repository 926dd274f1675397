"""From public facts to the plan of a training run, by the recipe that the facts name.

``plan_training`` is a pure function: equal facts, equal plan, at every participant. It fixes formats, ranges, steps
and the noise, and proves what the certificate will say; or it refuses, with the reason and the remedy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from cofit.learn.base_plan import Plan
from cofit.learn.facts import DESCENT, MINIMISER, Facts
from cofit.learn.recipes.descent.planning import plan_descent
from cofit.learn.recipes.minimiser.planning import plan_minimiser

__all__ = ["METHODS", "Plan", "Recipe", "plan_training"]


@dataclass(frozen=True)
class Recipe:
    """A way to train, by the name of its ``method`` in facts and certificates.

    plan: from facts to its plan, which is also its party program, its statement and its cleartext twin.
    """

    method: str
    plan: Callable[[Facts], Plan]


METHODS = {
    recipe.method: recipe
    for recipe in (
        Recipe(DESCENT, plan_descent),
        Recipe(MINIMISER, plan_minimiser),
    )
}


@lru_cache(maxsize=256)
def plan_training(facts: Facts) -> Plan:
    """Return the plan for these public facts, or raise InvalidInputError with the reason and the remedy."""
    return METHODS[facts.method].plan(facts)
