"""How far a run is, and how long its steps took: public facts only, told by the party of rank 0."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

START, SHARE, PROGRAM = "start", "share", "program"
_INTERVAL = 0.05
"""Seconds between two messages of one step."""


@dataclass(frozen=True)
class Progress:
    """How far a step of a run is: ``done`` of ``total``."""

    step: str
    done: int
    total: int


Listener: TypeAlias = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """The listener of a party that nobody listens to."""
    del progress


@dataclass
class _Step:
    """When a step was last told, and what is left to tell."""

    told_at: float
    untold: Progress | None = None


class Reporter:
    """Times the steps of a party and tells ``listener`` about them, not too often.

    ``began`` is when the run was launched, on the system-wide clock ``time.monotonic``. All clocks are read here, where
    a step is reported: how often the listener hears of it changes no time.

    Of each step the first and the last report get through, and at most 20 a second between them. A report held back is
    told when a step begins that was not seen before, and at the beginning and the end of the program.
    """

    def __init__(self, began: float, listener: Listener) -> None:
        self.seconds: dict[str, float] = {}
        self._listener = listener
        self._lock = threading.Lock()
        self._steps: dict[str, _Step] = {}
        self._current: str | None = START
        self._since = began

    def report(self, step: str, done: int, total: int) -> None:
        """Note that ``step`` is at ``done`` of ``total`` now."""
        with self._lock:
            now = time.monotonic()
            if step != self._current:
                self._enter(step, now)
            self._tell(Progress(step, done, total), now)

    @contextmanager
    def program(self) -> Iterator[None]:
        """Time the party program; the step that is under way at its end ends there."""
        began = self._pause()
        yield
        self.seconds[PROGRAM] = self._pause() - began

    def _pause(self) -> float:
        """End the current step, tell what was held back, and return the time."""
        with self._lock:
            now = time.monotonic()
            self._enter(None, now)
            self._tell_rest()
            return now

    def _enter(self, step: str | None, now: float) -> None:
        """Book the time since the last change on the step that ends; one that is resumed adds up."""
        if self._current is not None:
            self.seconds[self._current] = self.seconds.get(self._current, 0.0) + now - self._since
        self._current, self._since = step, now

    def _tell(self, progress: Progress, now: float) -> None:
        state = self._steps.get(progress.step)
        if state is None:
            self._tell_rest()
            self._steps[progress.step] = _Step(now)
        elif now - state.told_at < _INTERVAL:
            state.untold = progress
            return
        else:
            state.told_at, state.untold = now, None
        self._listener(progress)

    def _tell_rest(self) -> None:
        for state in self._steps.values():
            if state.untold is not None:
                untold, state.untold = state.untold, None
                self._listener(untold)
