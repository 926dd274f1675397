"""The noisy releases of a plan, as the ledgers of owners and parties account for them."""

from __future__ import annotations

from cofit.learn.base_plan import Plan
from cofit.privacy.accounted import AccountedRelease, accounted


def accounted_releases(plan: Plan) -> tuple[AccountedRelease, ...]:
    """Return every noisy release, each with its part of the one account of all of them."""
    return accounted(plan.releases, plan.facts.epsilon)
