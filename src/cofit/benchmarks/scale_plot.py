"""One large run beside its forecast, drawn: where the seconds went, and what a party held."""

from __future__ import annotations

from pathlib import Path

from cofit.benchmarks.scale import ScaleResult

_STEPS = ("share", "prepare", "check", "train", "noise")


def plot_scale(result: ScaleResult, path: str | Path) -> None:
    """Draw the seconds of the run by its steps, and the memory of its largest party, each beside the forecast."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - for this option only

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    times, memory = figure.subplots(1, 2)
    done = 0.0
    for step in _STEPS:
        seconds = getattr(result, f"seconds_{step}")
        times.barh("measured", seconds, left=done, label=step)
        done += seconds
    times.barh("measured", max(0.0, result.seconds - done), left=done, label="rest", color="lightgrey")
    times.barh("forecast", result.forecast_seconds, color="grey")
    times.set(xlabel="seconds")
    times.legend(fontsize="small", ncols=6, loc="lower center", bbox_to_anchor=(0.45, 1.0), columnspacing=0.8)
    held = {"data": result.matrix_bytes, "largest party": result.peak_bytes, "forecast": result.forecast_peak_bytes}
    memory.bar(list(held), [count / 1e9 for count in held.values()], color=["lightgrey", "tab:blue", "grey"])
    if result.memory_bytes:
        memory.axhline(result.memory_bytes / 1e9, linestyle=":", color="black", label="limit")
        memory.legend(fontsize="small")
    memory.set(ylabel="gigabytes")
    figure.suptitle(f"{result.rows:,} x {result.cols:,}, {result.scheme}, {result.parties} parties", fontsize="medium")
    figure.savefig(path)
