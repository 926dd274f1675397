"""How the cost of a worker falls with the number of workers, drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cofit.benchmarks.workers import Scaling


def plot_workers(scaling: Scaling, path: str | Path) -> None:
    """Draw bytes and processor seconds of a step, of the busiest worker and of the busiest head, over the workers."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - for this option only

    alone, *several = scaling.runs
    workers = np.array([run.workers for run in several])
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    kinds = (("bytes", 1e6, "megabytes a step"), ("processor", 1e-3, "milliseconds of processor a step"))
    for axes, (what, unit, label) in zip(figure.subplots(1, 2), kinds, strict=True):
        worker, head = ([getattr(run, f"step_{who}_{what}") / unit for run in several] for who in ("worker", "head"))
        axes.loglog(workers, worker, "o", label="busiest worker")
        axes.loglog(workers, worker[0] / workers, "-", color="grey", label="one worker's, divided")
        axes.loglog(workers, head, "s", label="busiest head")
        single = getattr(alone, f"step_worker_{what}") / unit
        axes.axhline(single, linestyle=":", color="black", label="one process")
        axes.set(xlabel="workers of each party", ylabel=label, xticks=workers, xticklabels=[str(w) for w in workers])
        axes.minorticks_off()
        axes.legend(fontsize="small")
    figure.suptitle(f"{alone.rows:,} x {alone.cols:,}, {alone.scheme}, {alone.parties} parties", fontsize="medium")
    figure.savefig(path)
