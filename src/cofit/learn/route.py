"""By which route products travel, where the scheme has a choice: few rounds, or few bytes.

Every participant must come to the same route, so the rule has counts and fixed numbers alone, and nothing that was
measured. (A release that changes what a scheme sends may come to another one; the plan's hash then differs, and parties
of both refuse each other.)

    rounds x latency + bytes of all members / BANDWIDTH

of the whole run, exact. Where two routes take the same time, the scheme's usual one is taken.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from cofit.learn.base_plan import Plan
from cofit.learn.facts import Facts
from cofit.learn.forecast import Contributors, forecast
from cofit.learn.plan import plan_training
from cofit.sharing import scheme_named

BANDWIDTH = 10**9
"""Bytes a second, of all members together."""


def routed_plan(
    facts: Facts, latency: float | None, *, owners: int | Contributors = 2, parties: int | None = None
) -> Plan:
    """Return the plan for these facts, with the route that is faster at this latency (seconds a message).

    latency: None keeps the route of the facts. owners, parties: those of the run, as ``forecast`` takes them.
    """
    routes = scheme_named(facts.scheme).info.routes
    if latency is None or len(routes) == 1:
        return plan_training(facts)
    seconds = Fraction(latency)
    plans = [plan_training(replace(facts, route=None if route == routes[0] else route)) for route in routes]
    return min(plans, key=lambda plan: _network_seconds(plan, seconds, owners, parties))


def _network_seconds(plan: Plan, latency: Fraction, owners: int | Contributors, parties: int | None) -> Fraction:
    total = forecast(plan, owners=owners, parties=parties).total
    return total.rounds * latency + Fraction(total.bytes, BANDWIDTH)
