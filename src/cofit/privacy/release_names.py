"""The names of noisy releases: what plans call them, certificates list, and the checks of certificates look for."""

from __future__ import annotations

WEIGHTS = "weights"
"""The one release of noise on the minimiser."""
LEVEL, CENTRE, STEP, INTERCEPT = "level", "centre", "step", "intercept"
MEAN, RADIUS, SHIFT, SPREAD = CLIPPED = ("mean", "radius", "shift", "spread")
"""Of noisy descent; steps and those of the intercept are numbered."""


def numbered(name: str, place: int) -> str:
    """Return the name of the release at that place, from 0, of several alike."""
    return f"{name} {place + 1}"


PREPARING = (LEVEL, CENTRE, MEAN, SPREAD, RADIUS)
"""Releases of which as many numbers as they have are opened to prepare rows."""
OPENED = (*PREPARING, numbered(INTERCEPT, 0))
"""Releases of which as many numbers as they have are opened with the weights."""
