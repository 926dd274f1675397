"""``cofit bench train``: whole training runs, one size or a sweep over sizes."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table

from cofit.benchmarks.train import measure_train
from cofit.benchmarks.train_sweep import EPOCHS, FIXED, SIZES, Sweep, check_plot, measure_sweep, plot_sweeps
from cofit.cli.scheme_options import check_form, parties_option, route_option, scheme_option, threshold_option
from cofit.cli.setting_options import epochs_of
from cofit.cli.show import as_json_option, cols_option, repetitions_option, rows_option, show_result
from cofit.learn.facts import PARTITIONS
from cofit.learn.settings import RECIPES
from cofit.privacy.mechanisms import MECHANISMS
from cofit.units import size


@click.command()
@rows_option
@cols_option
@scheme_option
@parties_option
@threshold_option
@route_option
@click.option(
    "--partition", default="horizontal", show_default=True, type=click.Choice(PARTITIONS), help="What owners hold."
)
@click.option(
    "--epochs",
    default="auto",
    show_default=True,
    callback=epochs_of,
    metavar="N|auto",
    help=f"Epochs; in a sweep, auto means {EPOCHS}.",
)
@click.option("--l2", default=1.0, show_default=True, type=float, help="The penalty Lambda of the mean loss.")
@click.option(
    "--mechanism",
    type=click.Choice(list(MECHANISMS)),
    help="Kind of noise.  [default: knorm if delta is 0, otherwise gaussian]",
)
@click.option("--delta", default=0.0, show_default=True, type=float, help="Privacy parameter delta; epsilon is 1.")
@click.option(
    "--recipe",
    default="paper",
    show_default=True,
    type=click.Choice(RECIPES),
    help="best sets epochs, penalty and mechanism by itself, and delta to 1e-6 if it is 0.",
)
@click.option("--owners", default=2, show_default=True, type=click.IntRange(1, 26), help="Data owners.")
@click.option("--threads", default=2, show_default=True, type=click.IntRange(1, 1024), help="Kernel threads per party.")
@repetitions_option(3)
@click.option(
    "--sweep",
    is_flag=True,
    help=f"Instead of one size: {SIZES[0]} to {SIZES[-1]} rows at {FIXED} columns, and the other way round.",
)
@click.option("--plot", type=click.Path(dir_okay=False), help="With --sweep: draw the points here (.png or .svg).")
@as_json_option
def train(
    rows: int,
    cols: int,
    scheme: str,
    parties: int | None,
    threshold: int | None,
    route: str | None,
    partition: str,
    epochs: int | str,
    l2: float,
    mechanism: str | None,
    delta: float,
    recipe: str,
    owners: int,
    threads: int,
    repetitions: int,
    sweep: bool,
    plot: str | None,
    as_json: bool,
) -> None:
    """Whole training runs on made-up sparse data, from connected processes to the release.

    `ratio_to_kernel` compares training with products of all parts of the shares in as many concurrent processes that
    do not communicate (`rep3` itself needs five sixths of them), `ratio_to_sklearn` the whole run with scikit-learn's
    fit of the same objective in the clear. Before each run memory is touched, so that none is slow to get.

    \b
    The size of the paper's data, with its number of epochs:
        cofit bench train --epochs 1000 --repetitions 1
    Seven parties, through one of them:
        cofit bench train --scheme shamir --parties 7 --route king
    Does the time grow linearly?
        cofit bench train --sweep --plot growth.svg
    """
    if sweep and recipe == "best":
        raise click.UsageError("--sweep counts the epochs of recipe paper: leave --recipe out.")
    if plot is not None and not sweep:
        raise click.UsageError("--plot draws a sweep: give --sweep too.")
    if sweep and (parties, threshold, route) != (None, None, None):
        raise click.UsageError("--sweep runs with as many parties as is usual: leave --parties and what follows out.")
    spec = check_form(scheme, parties, threshold, route)
    if not sweep:
        form = (spec.parties, spec.threshold, spec.route)
        arguments = (rows, cols, partition, scheme, epochs, l2, mechanism, delta, owners, threads, repetitions, recipe)
        show_result(measure_train(*arguments, *form), as_json)
        return
    if plot is not None:
        check_plot(plot)
    count = EPOCHS if isinstance(epochs, str) else epochs
    sweeps = measure_sweep(
        partition=partition, scheme=scheme, epochs=count, l2=l2, threads=threads, repetitions=repetitions
    )
    if plot is not None:
        plot_sweeps(sweeps, plot)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in sweeps]))
    else:
        _print_sweeps(sweeps)


def _print_sweeps(sweeps: list[Sweep]) -> None:
    console = Console()
    for sweep in sweeps:
        table = Table("rows", "cols", "ms an epoch", "ms of kernels", "rounds", "bytes", title=f"Over {sweep.axis}")
        for p in sweep.points:
            milliseconds = (f"{1e3 * s:.2f}" for s in (p.seconds_per_epoch, p.kernel_seconds_per_epoch))
            table.add_row(str(p.rows), str(p.cols), *milliseconds, str(p.rounds), size(p.bytes_total, digits=4))
        console.print(table)
        line = sweep.seconds_line
        console.print(
            f"Line: {1e3 * line.intercept:.3g} ms + {1e6 * line.slope:.3g} us for each; points are off by at most "
            f"{line.deviation:.1%}. Bytes are off their line by at most {sweep.bytes_line.deviation:.1%}."
        )
