"""What ``cofit bench scale --workers`` says of its runs, in words."""

from __future__ import annotations

from dataclasses import dataclass

from cofit.benchmarks.workers import Scaling, WorkersRun


@dataclass(frozen=True)
class RunLine:
    """One run, of one step: what the busiest worker (of one process: the party) and the busiest head cost."""

    rows: int
    cols: int
    workers: int
    seconds: float
    rounds: float
    worker_bytes: float
    worker_processor: float
    head_bytes: float
    head_processor: float

    @classmethod
    def of(cls, run: WorkersRun) -> RunLine:
        """Return the line of a run."""
        return cls(
            run.rows,
            run.cols,
            run.workers,
            run.step_seconds,
            run.step_rounds,
            run.step_worker_bytes,
            run.step_worker_processor,
            run.step_head_bytes,
            run.step_head_processor,
        )


def findings(scaling: Scaling) -> list[str]:
    """Return what the runs show, of a step."""
    return [
        f"the busiest worker's bytes are 1 / workers of one worker's within {scaling.bytes_off:.2%}",
        f"its processor seconds are so within {scaling.processor_off:.0%}",
        f"one worker with its head takes {scaling.one_worker_processor:.3f} times the processor seconds of one process,"
        f" and {scaling.one_worker_seconds:.3f} times the seconds by the clock",
        f"a head sends {scaling.head_bytes_ratio:.3f} times the bytes with 4 times the rows, and takes "
        f"{scaling.head_processor_ratio:.2f} times the processor seconds",
        f"shards add {scaling.rounds_added:g} rounds to a step",
    ]
