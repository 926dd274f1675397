"""From public facts to the plan of a training run, by the recipe that the facts name.

``plan_training`` is a pure function: equal facts, equal plan, at every participant. It fixes formats, ranges, steps
and the noise, and proves what the certificate will say; or it refuses, with the reason and the remedy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cofit.learn.base_plan import Plan
from cofit.learn.facts import DESCENT, MINIMISER, Facts
from cofit.learn.recipes.descent.planning import plan_descent
from cofit.learn.recipes.descent.settings import DescentSettings
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from cofit.learn.recipes.minimiser.settings import MinimiserSettings

__all__ = ["METHODS", "Plan", "Recipe", "plan_training"]


@dataclass(frozen=True)
class Recipe:
    """A way to train, by the name of its ``method`` in facts and certificates.

    settings: what users may tell it, a dataclass. plan: from facts to its plan, which is also its party program, its
    statement and its cleartext twin.
    """

    method: str
    settings: type[Any]
    plan: Callable[[Facts], Plan]


METHODS = {
    recipe.method: recipe
    for recipe in (
        Recipe(DESCENT, DescentSettings, plan_descent),
        Recipe(MINIMISER, MinimiserSettings, plan_minimiser),
    )
}


@lru_cache(maxsize=256)
def plan_training(facts: Facts) -> Plan:
    """Return the plan for these public facts, or raise InvalidInputError with the reason and the remedy."""
    return METHODS[facts.method].plan(facts)
