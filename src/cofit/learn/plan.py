"""From public facts to the plan of a training run, by the recipe that the facts name.

``plan_training`` is a pure function: equal facts, equal plan, at every participant. It fixes formats, ranges, steps
and the noise, and proves what the certificate will say; or it refuses, with the reason and the remedy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from cofit.learn.base_plan import Plan
from cofit.learn.facts import DESCENT, MINIMISER, Facts
from cofit.learn.recipes.descent.planning import plan_descent
from cofit.learn.recipes.minimiser.planning import plan_minimiser

__all__ = ["Plan", "plan_training"]

_PLANNERS: dict[str, Callable[[Facts], Plan]] = {DESCENT: plan_descent, MINIMISER: plan_minimiser}


@lru_cache(maxsize=256)
def plan_training(facts: Facts) -> Plan:
    """Return the plan for these public facts, or raise InvalidInputError with the reason and the remedy."""
    return _PLANNERS[facts.method](facts)
