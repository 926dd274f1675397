"""After which steps a checkpoint is kept: as often as the study says, or when a minute of work would be lost.

The work is that of the forecast, so that everybody who takes part finds the same steps.
"""

from __future__ import annotations

from cofit.learn.base_plan import Plan
from cofit.learn.forecast import Contributors, forecast

MOST_LOST = 60.0
"""Seconds of work."""
SLOW_LINE = 0.05
"""The latency that is assumed where a study states none: on faster lines checkpoints come earlier than they must."""


def every(steps: range, interval: int) -> frozenset[int]:
    """Return every ``interval``-th of some steps."""
    return frozenset(step for step in steps if step % interval == 0)


def minute_by_minute(
    plan: Plan, steps: range, contributors: Contributors, parties: int, latency: float | None
) -> frozenset[int]:
    """Return the steps before which a minute of work, or more, was done since the checkpoint before; none of a run that
    is shorter."""
    expected = forecast(plan, owners=contributors, parties=parties, latency=SLOW_LINE if latency is None else latency)
    step = expected.epoch.seconds
    lost = expected.check.seconds + expected.noise.seconds + max(0.0, expected.train.seconds - plan.epochs * step)
    due = set()
    for done in range(steps.stop):
        if lost >= MOST_LOST and done in steps:
            due.add(done)
            lost = 0.0
        lost += step
    return frozenset(due)
