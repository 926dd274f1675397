"""The same training under every scheme: what each protects against, and what it costs. For choosing one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cofit.learn.facts import Facts
from cofit.learn.forecast import forecast
from cofit.learn.plan import plan_training
from cofit.sharing import SCHEMES


@dataclass(frozen=True)
class Choice:
    """One scheme. Rounds and bytes of an epoch are exact, the seconds of the whole run an estimate (see forecast)."""

    scheme: str
    parties: int
    dealer: bool
    adversary: str
    threshold: str
    assumptions: str
    rounds_per_epoch: int
    bytes_per_epoch: int
    seconds: float

    @property
    def members(self) -> str:
        """Who computes, in a few words."""
        return f"{self.parties} parties" + (" and a dealer" if self.dealer else "")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return dict(vars(self))


def compare_schemes(facts: Facts, owners: int = 2) -> tuple[Choice, ...]:
    """Return every scheme that keeps secrets, each with its usual number of parties, the cheapest epoch first."""
    found = []
    for name, scheme in SCHEMES.items():
        if not scheme.info.secret:
            continue
        plan = plan_training(replace(facts, scheme=name))
        cost, spec = forecast(plan, owners=owners), plan.facts.spec()
        found.append(
            Choice(
                scheme=name,
                parties=spec.parties,
                dealer=spec.dealer,
                adversary=spec.adversary,
                threshold=spec.corrupted,
                assumptions=spec.assumptions,
                rounds_per_epoch=cost.epoch.rounds,
                bytes_per_epoch=cost.epoch.bytes,
                seconds=cost.total.seconds,
            )
        )
    return tuple(sorted(found, key=lambda one: one.bytes_per_epoch))
