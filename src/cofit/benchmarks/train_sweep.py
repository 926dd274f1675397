"""How training grows with rows and with columns: measured points, fitted lines, and how far the points are off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cofit.benchmarks.train import TrainResult, measure_train
from cofit.errors import parameter_error

FIXED = 1000
SIZES = (500, 1000, 2000, 3000, 4000)
EPOCHS = 100
"""Fixed, so that all points do the same work, and enough that the time of an epoch is not that of the preparations."""
_FORMATS = (".png", ".svg")


@dataclass(frozen=True)
class Point:
    """One run of a sweep. ``seconds_per_epoch`` is ``seconds_train_verified`` over the epochs."""

    rows: int
    cols: int
    seconds_per_epoch: float
    kernel_seconds_per_epoch: float
    rounds: int
    bytes_total: int


@dataclass(frozen=True)
class Line:
    """intercept + slope * size, by least squares of relative errors; ``deviation``: the largest relative error."""

    intercept: float
    slope: float
    deviation: float


@dataclass(frozen=True)
class Sweep:
    """Points along one axis, ``rows`` or ``cols``, while the other one is fixed."""

    axis: str
    fixed: int
    epochs: int
    points: tuple[Point, ...]
    seconds_line: Line
    bytes_line: Line


def measure_sweep(
    sizes: Sequence[int] = SIZES,
    fixed: int = FIXED,
    partition: str = "horizontal",
    scheme: str = "rep3",
    epochs: int = EPOCHS,
    l2: float = 1.0,
    threads: int = 2,
    repetitions: int = 3,
) -> list[Sweep]:
    """Train at all ``sizes`` rows for ``fixed`` columns, and at all ``sizes`` columns for ``fixed`` rows."""
    sweeps = []
    for axis in ("rows", "cols"):
        points = []
        for size in sizes:
            rows, cols = (size, fixed) if axis == "rows" else (fixed, size)
            result = measure_train(
                rows,
                cols,
                partition=partition,
                scheme=scheme,
                epochs=epochs,
                l2=l2,
                threads=threads,
                repetitions=repetitions,
            )
            points.append(_point(result))
        seconds = fit_line(sizes, [point.seconds_per_epoch for point in points])
        sent = fit_line(sizes, [point.bytes_total for point in points])
        sweeps.append(Sweep(axis, fixed, epochs, tuple(points), seconds, sent))
    return sweeps


def fit_line(sizes: Sequence[float], values: Sequence[float]) -> Line:
    """Fit a line by least squares of (line - value) / value."""
    x, y = np.asarray(sizes, dtype=np.float64), np.asarray(values, dtype=np.float64)
    slope, intercept = np.polyfit(x, y, 1, w=1 / y)
    deviation = np.abs((intercept + slope * x) / y - 1).max()
    return Line(float(intercept), float(slope), float(deviation))


def check_plot(path: str | Path, owner: str = "bench train") -> None:
    """Raise InvalidInputError unless a plot can be written to ``path``: before anything is measured."""
    if Path(path).suffix not in _FORMATS:
        raise parameter_error("plot", owner, "a file name that ends with .png or .svg", str(path))
    if not Path(path).absolute().parent.is_dir():
        raise parameter_error("plot", owner, "a file in a directory that exists", str(path))


def plot_sweeps(sweeps: Sequence[Sweep], path: str | Path) -> None:
    """Draw seconds an epoch and bytes over the sizes, with the fitted lines."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - for this option only

    figure = Figure(figsize=(9, 7), layout="constrained")
    axes = figure.subplots(2, len(sweeps), squeeze=False)
    for column, sweep in enumerate(sweeps):
        sizes = np.array([getattr(point, sweep.axis) for point in sweep.points])
        other = "columns" if sweep.axis == "rows" else "rows"
        label = "rows" if sweep.axis == "rows" else "columns"
        seconds = np.array([1e3 * point.seconds_per_epoch for point in sweep.points])
        kernel = np.array([1e3 * point.kernel_seconds_per_epoch for point in sweep.points])
        sent = np.array([point.bytes_total / 1e6 for point in sweep.points])
        line, bytes_line = sweep.seconds_line, sweep.bytes_line
        upper, lower = axes[0, column], axes[1, column]
        upper.plot(sizes, seconds, "o", label="measured")
        fitted = f"line, off by at most {line.deviation:.0%}"
        upper.plot(sizes, 1e3 * (line.intercept + line.slope * sizes), "-", label=fitted)
        upper.plot(sizes, kernel, "x:", label="bare kernels")
        upper.set(title=f"{sweep.fixed:,} {other}", ylabel="milliseconds an epoch", ylim=(0, None), xlim=(0, None))
        upper.legend()
        lower.plot(sizes, sent, "o", label=f"{sweep.epochs} epochs, exact")
        fitted = f"line, off by at most {bytes_line.deviation:.1%}"
        lower.plot(sizes, (bytes_line.intercept + bytes_line.slope * sizes) / 1e6, "-", label=fitted)
        lower.set(xlabel=label, ylabel="megabytes of a whole run", ylim=(0, None), xlim=(0, None))
        lower.legend()
    figure.savefig(path)


def _point(result: TrainResult) -> Point:
    return Point(
        rows=result.rows,
        cols=result.cols,
        seconds_per_epoch=result.seconds_train_verified / result.epochs,
        kernel_seconds_per_epoch=result.kernel_seconds / result.epochs,
        rounds=result.rounds,
        bytes_total=result.bytes_total,
    )
