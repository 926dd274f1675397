"""From public facts to the plan of a training run, by the recipe that the facts name.

``plan_training`` is a pure function: equal facts, equal plan, at every participant. It fixes formats, ranges, steps
and the noise, and proves what the certificate will say; or it refuses, with the reason and the remedy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from cofit.errors import InvalidInputError, RangeError
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
    """Return the plan for these public facts, or raise InvalidInputError with the reason and the remedy.

    Where a delta leaves no room for so large an epsilon, the reason says how large a one it leaves room for.
    """
    try:
        return METHODS[facts.method].plan(facts)
    except RangeError:
        raise
    except InvalidInputError as refusal:
        limit = _largest_epsilon(facts) if facts.delta else None
        if limit is None:
            raise
        here = f"With delta = {float(facts.delta):g}, and all else as it is"
        raise type(refusal)(f"{refusal} {here}, the largest whole epsilon is {limit}.") from None


def _largest_epsilon(facts: Facts) -> int | None:
    """Return the largest whole epsilon below that of the facts for which they have a plan; None where there is none.

    The distances of the samplers count e^epsilon times (``privacy.zcdp.total_delta``), so that more epsilon needs more
    of the delta, or more bits than samplers have.
    """
    least, refused = 0, math.ceil(facts.epsilon)
    while refused - least > 1:
        middle = (least + refused) // 2
        try:
            METHODS[facts.method].plan(replace(facts, epsilon=Fraction(middle)))
        except InvalidInputError:
            refused = middle
        else:
            least = middle
    return least or None
