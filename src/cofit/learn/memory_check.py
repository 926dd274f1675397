"""Whether a party may use as much memory as it needs: refused before anything is computed, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cofit.errors import parameter_error
from cofit.learn.base_plan import Plan
from cofit.learn.forecast import Forecast
from cofit.learn.memory import Memory
from cofit.learn.plan import plan_training
from cofit.sharing import SCHEMES, Spec, scheme_named, scheme_of
from cofit.units import size

_TRIES = 20


def check_plan_memory(plan: Plan, cost: Callable[[Plan], Forecast], name: str, owner: str) -> Memory:
    """Return what a party needs of memory; raise InvalidInputError where the plan's own limit is less.

    cost: the forecast of a plan. name, owner: of the parameter that an error names.
    """
    planned = cost(plan)

    def again(limit: int) -> Memory:
        return cost(plan_training(replace(plan.facts, memory=limit))).memory

    check_memory(plan.facts.memory, planned.memory, planned.spec, name, owner, again)
    return planned.memory


def check_memory(
    limit: int | None, memory: Memory, spec: Spec, name: str, owner: str, again: Callable[[int], Memory] | None = None
) -> None:
    """Raise InvalidInputError, with the remedy, where a party may use less than it needs.

    name, owner: of the parameter. again: what it needs where the plan has another limit; None: the plan stays as it is.
    """
    if limit is None or limit >= memory.least(spec):
        return
    least = memory.least(spec)
    for _ in range(_TRIES if again is not None else 0):
        more = again(least).least(spec) if again is not None else least
        if more <= least:
            break
        least = more
    why = scheme_of(spec).in_memory
    if why is None:
        reason = "a party needs that for what it computes row by row, even with the shares of the data on its disk"
        remedy = "" if again is not None else "; a study with a smaller compute.memory has smaller batches of rows"
    else:
        able = [name for name in sorted(SCHEMES) if scheme_named(name).in_memory is None and name != "clear"]
        reason = f"with scheme '{spec.name}' the shares of the data must be in memory, because {why}"
        remedy = f"; schemes {', '.join(able)} can have them on disk"
    raise parameter_error(name, owner, f"at least {_rounded(least)}: {reason}{remedy}", size(limit))


def _rounded(count: int) -> str:
    """Return a size in whole megabytes, rounded up, so that it is enough."""
    return size(-(-count // 10**6) * 10**6, 12)
