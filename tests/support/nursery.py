"""Processes that are forked from one that has imported everything."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

_TESTS = Path(__file__).parents[1]


def until(
    condition: Callable[[], object], what: str | Callable[[], str], seconds: float = 40.0, step: float = 0.02
) -> None:
    """Wait for a condition; fail with what was waited for, as it is by then."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what if isinstance(what, str) else what()}")
        time.sleep(step)


def environment() -> dict[str, str]:
    """The environment in which ``python -m support.study_process`` works."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(_TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "OMP_NUM_THREADS": "1",
    }


class Nursery:
    """The process that forks all others (see ``study_process``)."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.study_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )

    def __enter__(self) -> Nursery:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()

    def start(self, job: Mapping[str, Any]) -> Child:
        return Child(self, int(self._ask({"do": "start", "job": dict(job)})["pid"]))

    def poll(self, pid: int) -> int | None:
        code: int | None = self._ask({"do": "poll", "pid": pid})["code"]
        return code

    def _ask(self, command: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


@dataclass
class Child:
    """One process."""

    nursery: Nursery
    pid: int
    code: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        if self.code is None:
            self.code = self.nursery.poll(self.pid)
        return self.code

    def wait(self, seconds: float = 40.0) -> int:
        """Wait for the end; return the exit code, -9 after a kill."""
        until(lambda: self.poll() is not None, f"the end of process {self.pid}", seconds)
        assert self.code is not None
        return self.code

    def kill(self) -> None:
        """kill -9, and wait."""
        self.end(signal.SIGKILL)

    def end(self, by: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal and wait for the end."""
        if self.poll() is None:
            os.kill(self.pid, by)
            self.wait()
