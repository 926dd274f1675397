"""The same training under every scheme: what each protects against, and what it costs. For choosing one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cofit.learn.facts import Facts
from cofit.learn.forecast import forecast
from cofit.learn.plan import plan_training
from cofit.sharing import SCHEMES


def usual_parties() -> dict[str, int | None]:
    """Return every scheme that keeps secrets, each among as many parties as is usual."""
    return {name: None for name, scheme in SCHEMES.items() if scheme.info.secret}


@dataclass(frozen=True)
class Choice:
    """One scheme. Rounds and bytes of an epoch are exact, the seconds of the whole run an estimate (see forecast)."""

    scheme: str
    parties: int
    dealer: bool
    adversary: str
    threshold: str
    assumptions: str
    soundness_bits: int | None
    statistical_bits: int | None
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


def compare_schemes(
    facts: Facts, owners: int = 2, parties: Mapping[str, int | None] | None = None
) -> tuple[Choice, ...]:
    """Return schemes for one training run, the cheapest epoch first.

    parties: which schemes, and among how many parties each (None: as many as is usual); None: ``usual_parties``. The
    scheme of the facts has their threshold and route.
    """
    found = []
    for name, count in (usual_parties() if parties is None else parties).items():
        asked = facts if name == facts.scheme else replace(facts, scheme=name, threshold=None, route=None)
        plan = plan_training(asked)
        cost = forecast(plan, owners=owners, parties=count)
        spec = cost.spec
        found.append(
            Choice(
                scheme=name,
                parties=spec.parties,
                dealer=spec.dealer,
                adversary=spec.adversary,
                threshold=spec.corrupted,
                assumptions=spec.assumptions,
                soundness_bits=spec.soundness_bits,
                statistical_bits=spec.statistical_bits,
                rounds_per_epoch=cost.epoch.rounds,
                bytes_per_epoch=cost.epoch.bytes,
                seconds=cost.total.seconds,
            )
        )
    return tuple(sorted(found, key=lambda one: one.bytes_per_epoch))
