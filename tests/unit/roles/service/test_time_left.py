"""The time left of a session, from the forecast of its job and how far it is."""

from __future__ import annotations

from typing import Any

import pytest

from cofit.errors import InvalidInputError
from cofit.roles.service.time_left import TimeLeft
from cofit.transport import LineSpeed

STEPS = {"noise": (0.0, 4.0), "train": (10.0, 20.0), "release": (0.0, 1.0)}


class Job:
    """Knows its seconds, or does not."""

    def __init__(self, steps: Any) -> None:
        self.steps = steps
        self.asked: list[tuple[float, float]] = []

    def seconds(self, latency: float, rate: float) -> Any:
        self.asked.append((latency, rate))
        if self.steps is None:
            raise InvalidInputError("There is no forecast.")
        return self.steps


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def left_of(steps: Any) -> tuple[TimeLeft, Clock, Any]:
    clock, job = Clock(), Job(steps)
    left = TimeLeft(job, LineSpeed(0.025, 2.5e6), clock)  # type: ignore[arg-type]
    left.seconds()
    assert left._counting is not None
    left._counting.join()
    return left, clock, job


def test_it_counts_down_step_by_step_and_part_by_part() -> None:
    left, clock, job = left_of(STEPS)
    assert job.asked == [(0.025, 2.5e6)]
    assert left.seconds() == 35
    left.reached("noise", 0, 1)
    clock.now = 3.0
    assert left.seconds() == 32
    clock.now = 30.0
    assert left.seconds() == 31, "a step takes as long as it takes; those after it are not begun"
    left.reached("noise", 1, 1)
    left.reached("train", 0, 10)
    clock.now = 34.0
    assert left.seconds() == 27
    left.reached("train", 5, 10)
    assert left.seconds() == 11
    clock.now = 60.0
    assert left.seconds() == 9
    left.reached("train", 10, 10)
    left.reached("release", 1, 1)
    assert left.seconds() == 0
    assert len(job.asked) == 1


@pytest.mark.parametrize("steps", [None, {}])
def test_where_there_is_no_forecast_nothing_is_said(steps: Any) -> None:
    assert left_of(steps)[0].seconds() is None
