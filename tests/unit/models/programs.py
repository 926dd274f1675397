"""A party program that a fresh process can import."""

from __future__ import annotations

import sys

from cofit import Party
from cofit.learn.plan import plan_training


def loaded_modules(party: Party) -> list[str]:
    """Return the modules of a party's process, with all that private training needs."""
    party.open(party.random_bits((3,)), reason="a meeting point")
    assert plan_training.__module__ in sys.modules
    return sorted(sys.modules)
