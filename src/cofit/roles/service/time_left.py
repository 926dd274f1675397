"""How long a session will still take, from what its job forecasts for the lines that were measured when it began.

The forecast is counted when somebody first asks, in a thread of its own: a session never waits for it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping

from cofit.errors import CofitError
from cofit.roles.jobs.job import Job
from cofit.transport import LineSpeed

_log = logging.getLogger(__name__)


class TimeLeft:
    """The time left of one session. ``reached`` belongs to the session's thread, ``seconds`` to all."""

    def __init__(self, job: Job, speed: LineSpeed, clock: Callable[[], float] = time.monotonic) -> None:
        self.speed = speed
        self._job = job
        self._clock = clock
        self._done: dict[str, tuple[int, int]] = {}
        self._told = clock()
        self._forecast: Mapping[str, tuple[float, float]] | None = None
        self._counting: threading.Thread | None = None
        self._lock = threading.Lock()

    def reached(self, step: str, done: int, total: int) -> None:
        """Note how far a step is."""
        self._done[step] = done, total
        self._told = self._clock()

    def seconds(self) -> float | None:
        """Return about how many seconds are left; None where that is not known, or not yet."""
        with self._lock:
            if self._counting is None:
                self._counting = threading.Thread(target=self._count, name="forecast", daemon=True)
                self._counting.start()
        if not self._forecast:
            return None
        left = longest = 0.0
        for step, (before, during) in self._forecast.items():
            done, total = self._done.get(step, (0, 0))
            left += during * (1 - done / total) + (before if not done else 0.0) if total else before + during
            if total and done < total:  # one of its parts is under way
                longest = before if before and not done else during / total
        return left - min(longest, self._clock() - self._told)

    def _count(self) -> None:
        try:
            self._forecast = self._job.seconds(self.speed.latency, self.speed.rate)
        except CofitError as error:
            _log.debug("no forecast: %s", error)
