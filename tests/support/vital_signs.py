"""Memory, descriptors, threads and state directories of processes over time, and whether they grow."""

from __future__ import annotations

import contextlib
import os
import statistics
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

KINDS = ("memory", "descriptors", "threads", "state")
"""Of one sample: resident bytes, open descriptors, threads, bytes in the state directory."""
_SLACK = {"memory": 12 << 20, "descriptors": 8, "threads": 4, "state": 1 << 20}
"""By how much the last third of a process's samples may be above the first."""
_FEWEST = 120
"""Samples that a process must have before anything is said of it."""
_MOST_SHOWN = 200
"""Points of a line in the plot."""


@dataclass(frozen=True)
class Sample:
    """One process at one moment."""

    second: float
    process: str
    memory: int
    descriptors: int
    threads: int
    state: int


def look(pid: int, folder: Path) -> tuple[int, int, int, int] | None:
    """Return the four figures of a process; None if it has ended."""
    try:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        descriptors = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        memory, threads = int(status["VmRSS"].split()[0]) << 10, int(status["Threads"])
    except (OSError, KeyError):
        return None
    if not (memory and descriptors and threads):  # it is ending
        return None
    return memory, descriptors, threads, _size(folder)


def _size(folder: Path) -> int:
    """Return the bytes of all files; of those that are replaced or deleted meanwhile, none."""
    total = 0
    for place, _, names in os.walk(folder):  # goes past folders that are deleted meanwhile
        for name in names:
            with contextlib.suppress(OSError):
                total += os.path.getsize(os.path.join(place, name))  # noqa: PTH118, PTH202 - as os.walk has it
    return total


class Watch:
    """Takes samples of ``processes()`` (name: pid and state directory), every ``step`` seconds, in a thread."""

    def __init__(self, processes: Callable[[], Mapping[str, tuple[int, Path]]], step: float = 1.0) -> None:
        self.samples: list[Sample] = []
        self._processes = processes
        self._step = step
        self._begun = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Take no more samples."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._step):
            second = round(time.monotonic() - self._begun, 2)
            for name, (pid, folder) in self._processes().items():
                figures = look(pid, folder)
                if figures is not None:
                    self.samples.append(Sample(second, name, *figures))


def thirds(samples: list[Sample], process: str) -> dict[str, tuple[float, float]] | None:
    """Return, of each kind, the medians over the first and the last third of a process's samples; None: too few."""
    own = [sample for sample in samples if sample.process == process]
    if len(own) < _FEWEST:
        return None
    size = len(own) // 3

    def median(part: list[Sample], kind: str) -> float:
        return float(statistics.median(getattr(sample, kind) for sample in part))

    return {kind: (median(own[:size], kind), median(own[-size:], kind)) for kind in KINDS}


def growth(samples: list[Sample]) -> list[str]:
    """Say what has grown, of all processes with enough samples."""
    found = []
    for process in dict.fromkeys(sample.process for sample in samples):
        for kind, (first, last) in (thirds(samples, process) or {}).items():
            if last > first + _SLACK[kind]:
                found.append(f"{kind} of {process} grew from {first:,.0f} to {last:,.0f}")
    return found


def as_json(samples: list[Sample]) -> list[dict[str, Any]]:
    """Return plain numbers."""
    return [asdict(sample) for sample in samples]


def plot(samples: list[Sample], path: Path) -> None:
    """Draw the four figures of each process over time: those that live long as lines, of the others the largest."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(len(KINDS), 1, figsize=(9, 11), sharex=True)
    names = list(dict.fromkeys(sample.process for sample in samples))
    for axis, kind in zip(axes, KINDS, strict=True):
        scale = 2**20 if kind in ("memory", "state") else 1
        for name in names:
            own = [sample for sample in samples if sample.process == name]
            style, label = "-", name if kind == KINDS[0] else None
            if thirds(samples, name) is None:
                own, style, label = [max(own, key=lambda s: getattr(s, kind))], ".", None
            shown = own[:: 1 + len(own) // _MOST_SHOWN]
            minutes = [sample.second / 60 for sample in shown]
            axis.plot(minutes, [getattr(s, kind) / scale for s in shown], style, markersize=3, linewidth=1, label=label)
        axis.set_ylabel(f"{kind}, MiB" if scale > 1 else kind)
        axis.set_ylim(bottom=0)
    if any(thirds(samples, name) for name in names):
        axes[0].legend(fontsize=7)
    axes[-1].set_xlabel("minutes")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
