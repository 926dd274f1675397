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
    """Return what a party needs of memory, or the process of a shard where rows are in shards; raise InvalidInputError
    where the plan's own limit is less than that, or than what the head needs.

    cost: the forecast of a plan. name, owner: of the parameter that an error names.
    """
    planned = cost(plan)

    def again(limit: int) -> Memory:
        return cost(plan_training(replace(plan.facts, memory=limit))).memory

    check_head_memory(plan.facts.memory, planned.head_memory, name, owner)
    check_memory(plan.facts.memory, planned.memory, planned.spec, name, owner, again, plan.facts.shards)
    return planned.memory


def check_head_memory(limit: int | None, memory: Memory | None, name: str, owner: str) -> None:
    """Raise InvalidInputError where the head of a party may use less than it needs, which no number of shards changes.

    memory: that of the head; None: there are no shards.
    """
    if limit is None or memory is None or limit >= memory.in_memory:
        return
    must_be = (
        f"at least {_rounded(memory.in_memory)}: the head of a party needs that for what it keeps of every row, and "
        "more shards do not change it"
    )
    raise parameter_error(name, owner, must_be, size(limit))


def check_memory(
    limit: int | None,
    memory: Memory,
    spec: Spec,
    name: str,
    owner: str,
    again: Callable[[int], Memory] | None = None,
    shards: int | None = None,
) -> None:
    """Raise InvalidInputError, with the remedy, where a party may use less than it needs.

    name, owner: of the parameter. again: what it needs where the plan has another limit; None: the plan stays as it is.
    shards: among how many its rows are divided, where ``memory`` is that of one of them; None: they are not.
    """
    if limit is None or limit >= memory.least(spec):
        return
    least = memory.least(spec)
    for _ in range(_TRIES if again is not None else 0):
        more = again(least).least(spec) if again is not None else least
        if more <= least:
            break
        least = more
    who = "a party" if shards is None else f"each of the {shards} shards of a party"
    why = scheme_of(spec).in_memory
    if why is None:
        reason = f"{who} needs that for what it computes row by row, even with the shares of the data on its disk"
        remedy = "" if again is not None else "; a study with a smaller compute.memory has smaller batches of rows"
    else:
        able = [name for name in sorted(SCHEMES) if scheme_named(name).in_memory is None and name != "clear"]
        reason = f"with scheme '{spec.name}' the shares of the data must be in memory, because {why}"
        remedy = f"; schemes {', '.join(able)} can have them on disk"
    if shards is not None:
        remedy += "; more shards have fewer rows each, and need less"
    raise parameter_error(name, owner, f"at least {_rounded(least)}: {reason}{remedy}", size(limit))


def _rounded(count: int) -> str:
    """Return a size in whole megabytes, rounded up, so that it is enough."""
    return size(-(-count // 10**6) * 10**6, 12)
