"""Party programs that release a value once, and crash on the way."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy.typing as npt

from cofit import Party, SecretArray
from cofit.secret import ReleaseStore, release_once

KEY = "study 1, run 1"


def noise(party: Party) -> SecretArray:
    """64 bits that are never the same twice."""
    return party.random_bits((64,))


def release(
    party: Party,
    stores: Mapping[str, ReleaseStore],
    key: str = KEY,
    drawn: Callable[[], None] | None = None,
) -> npt.NDArray[Any]:
    """Release noise; ``drawn`` hears of every draw."""

    def draw() -> SecretArray:
        if drawn is not None:
            drawn()
        return noise(party)

    return release_once(party, draw, stores[party.name], reason="the release", key=key)


def after_barrier(party: Party, crash: Callable[[], None]) -> None:
    """Let this party crash right after the next barrier."""
    barrier = party.barrier

    def crashing(label: str) -> None:
        barrier(label)
        crash()

    party.barrier = crashing  # type: ignore[method-assign]


def release_and_die_at_b(party: Party, stores: Mapping[str, ReleaseStore]) -> npt.NDArray[Any]:
    """The process of party-b ends between the barrier and the opening."""
    if party.name == "party-b":
        after_barrier(party, lambda: os._exit(9))
    return release(party, stores)
