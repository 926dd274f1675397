"""``cofit bench scale``: training on more data than the memory of a party holds."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from cofit.benchmarks.scale import measure_scale
from cofit.benchmarks.scale_plot import plot_scale
from cofit.benchmarks.train_sweep import check_plot
from cofit.benchmarks.workers import Scaling, measure_workers
from cofit.benchmarks.workers_lines import RunLine, findings
from cofit.benchmarks.workers_model import Constants, Estimate, estimate, fitted
from cofit.benchmarks.workers_plot import plot_workers
from cofit.cli.scheme_options import scheme_option
from cofit.cli.setting_options import size_of
from cofit.cli.show import as_json_option, show_result
from cofit.errors import parameter_error
from cofit.learn.forecast import LOCAL_LATENCY
from cofit.models.progress_display import progress_display
from cofit.units import MEGABIT_BYTES


def numbers_of(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """Return the numbers of workers in a text such as 1,2,4,8."""
    if value is None:
        return None
    parts = value.split(",")
    if not all(part.strip().isdigit() for part in parts):
        raise click.BadParameter(f"'{value}' is no list of numbers such as 1,2,4,8.")
    return tuple(map(int, parts))


@click.command()
@click.option("--rows", default=200_000, show_default=True, type=click.IntRange(min=2), help="Records.")
@click.option("--cols", default=50, show_default=True, type=click.IntRange(min=1), help="Features.")
@click.option(
    "--memory",
    callback=size_of,
    metavar="SIZE",
    help="The most that a party may use, such as 1GB.  [default: no limit]",
)
@scheme_option
@click.option("--threads", default=1, show_default=True, type=click.IntRange(1, 1024), help="Kernel threads per party.")
@click.option(
    "--directory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="On whose disk shares lie that exceed the memory.  [default: that of temporary files]",
)
@click.option(
    "--workers",
    callback=numbers_of,
    metavar="1,2,4,8",
    help="Instead of one run: studies with the rows of every party on so many workers, beside one process a party.",
)
@click.option(
    "--for",
    "size_for",
    nargs=3,
    type=click.IntRange(min=1),
    default=(10**8, 1000, 100),
    show_default=True,
    metavar="ROWS COLS WORKERS",
    help="With --workers: the size to estimate from what was measured.",
)
@click.option("--cores", default=2, show_default=True, type=click.IntRange(1), help="Estimate: cores of each machine.")
@click.option(
    "--line",
    default=1000.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Estimate: megabits a second that each machine can send.",
)
@click.option(
    "--latency", default=LOCAL_LATENCY, show_default=True, type=click.FloatRange(0), help="Estimate: seconds a message."
)
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw what was measured here (.png or .svg).")
@as_json_option
def scale(
    rows: int,
    cols: int,
    memory: int | None,
    scheme: str,
    threads: int,
    directory: Path | None,
    workers: tuple[int, ...] | None,
    size_for: tuple[int, int, int],
    cores: int,
    line: float,
    latency: float,
    plot: str | None,
    as_json: bool,
) -> None:
    """One training run on many rows or columns, with a limit of each party's memory, against the plan's forecast.

    Owners make up their rows as they share them. Where the shares of the data exceed the memory, they lie in private
    files, which are deleted at the end. A progress bar is shown on a terminal.

    With --workers, whole studies on this machine: bytes and processor seconds of the busiest worker and of the heads,
    and an estimate for many machines. What is measured and what is modelled is said.

    \b
    A million rows, without a limit:
        cofit bench scale --rows 1000000 --cols 50
    Twice as many columns, with 1 GB for each party:
        cofit bench scale --rows 1000000 --cols 100 --memory 1GB --directory /var/tmp
    With the rows of every party on 1, 2, 4 and 8 workers:
        cofit bench scale --rows 200000 --cols 50 --workers 1,2,4,8
    """
    if plot is not None:
        check_plot(plot, "bench scale")
    if workers is None:
        with progress_display() as told:
            result = measure_scale(rows, cols, memory, scheme, threads, directory, told)
        if plot is not None:
            plot_scale(result, plot)
        show_result(result, as_json)
        return
    if memory is not None:
        raise parameter_error("--memory", "bench scale", "left out with --workers", memory)
    with progress_display() as told:
        scaling = measure_workers(rows, cols, workers, scheme, threads, directory, told)
    constants = fitted(scaling)
    wanted = estimate(constants, scheme, *size_for, cores, line * MEGABIT_BYTES, latency)
    if plot is not None:
        plot_workers(scaling, plot)
    if as_json:
        parts = {"measured": asdict(scaling), "constants": asdict(constants), "modelled": asdict(wanted)}
        click.echo(json.dumps(parts))
        return
    _show(scaling, constants, wanted)


def _show(scaling: Scaling, constants: Constants, wanted: Estimate) -> None:
    """Print the runs, what they show, and the estimate."""
    click.echo("Measured: studies on this machine, all processes together on its cores")
    shown = [RunLine.of(run) for run in (*scaling.runs, scaling.fewer_rows, scaling.wider)]
    show_result(shown, as_json=False)
    for line in findings(scaling):
        click.echo(f"  {line}")
    click.echo(
        f"\nModelled: {wanted.rows:,} x {wanted.cols:,} on {wanted.workers:,} workers a party. Nobody has run this. "
        "Rounds and bytes are counted by the plan; seconds are counts times the constants measured above (off by up to "
        f"{constants.worker_off:.0%} there)."
    )
    show_result(wanted, as_json=False)
