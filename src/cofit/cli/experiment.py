"""``cofit experiment``: the paper's tables, for any data set."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from cofit.experiments.render import NOT_GUARANTEED
from cofit.experiments.result import TableResult
from cofit.experiments.run import TABLES, Advance, Source, run_experiments
from cofit.experiments.settings import FULL, QUICK

_LINES = 20  # of progress where there is no terminal
_WIDTH = 160  # of tables there


@click.command()
@click.argument("tables", nargs=-1, required=True, metavar="TABLES...", type=click.Choice((*TABLES, "all")))
@click.option(
    "--data",
    "specs",
    multiple=True,
    default=("breast-cancer",),
    show_default=True,
    metavar="DATA",
    help="breast-cancer, claims, claims:rows=2000,cols=500,seed=3, or a file (.npz, .csv, .tsv, .parquet, .arrow). "
    "Repeat it for several.",
)
@click.option("--label", help="Tables (.csv and such): the column with the two classes.")
@click.option("--group", help="Tables: the column that says whose row it is; a person's rows stay in one fold.")
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder for the results.")
@click.option("--quick", is_flag=True, help=f"{QUICK.draws} draws of noise instead of {FULL.draws}, and no long runs.")
@click.option("--draws", type=click.IntRange(1, 10_000), help="Draws of noise for each fold.")
@click.option("--folds", type=click.IntRange(2, 1000), help="Folds of the cross-validation.  [default: 5]")
@click.option("--repetitions", type=click.IntRange(1, 100), help="Of timed runs; the median counts.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Of folds, owners and baselines.  [default: 1]")
@click.option(
    "--workers",
    default=os.cpu_count() or 1,
    type=click.IntRange(1, 256),
    help="Processes.  [default: one for each core]",
)
def experiment(
    tables: tuple[str, ...],
    specs: tuple[str, ...],
    label: str | None,
    group: str | None,
    out: Path,
    quick: bool,
    draws: int | None,
    folds: int | None,
    repetitions: int | None,
    seed: int | None,
    workers: int | None,
) -> None:
    """Repeat the paper's tables with honest noise: TABLES are table1 to table10, or all.

    The paper is Pentyala et al. (2022), whose method is cofit's recipe "paper". Table 9 is not in it: it compares
    recipe "best" with all others; nor is table 10, whose data sets are always the same. To see how much epsilon your
    kind of data needs, begin with that.

    \b
    table1  accuracy and time at epsilon = 3          table5  ways to perturb: output, objective, gradients
    table2  accuracy with 2, 4, 8 owners              table6  averages of local models (Pathak, Jayaraman)
    table3  time by scheme                            table7  all data sets that are given, side by side
    table4  accuracy against epsilon                  table8  time by the number of computing parties
    table9  recipe best against all others            table10 learners beside two classes, on their own data

    Accuracy is measured in cross-validation, with the mean and the spread over draws of the noise; cofit itself
    runs as its cleartext twin there. Times are of real processes over TLS. The data must be public: accuracies are
    computed in the clear. Results go to OUT/tables.md, and to OUT/tableN-DATA.json, .md and .csv.

    Whatever is measured is kept in OUT. Stop it at any time; the same command resumes.

    \b
    A quick look (minutes), and the real thing (up to an hour at 1713 x 1874):
        cofit experiment all --data claims --out results --quick
        cofit experiment all --data claims --data breast-cancer --out results
    A table of your own:
        cofit experiment table9 --data patients.csv --label ill --group patient --out results

    Exit codes: 0 success, 1 a measurement failed, 2 wrong usage or input, 130 interrupted.
    """
    base = QUICK if quick else FULL
    given: dict[str, Any] = {"draws": draws, "folds": folds, "repetitions": repetitions, "seed": seed}
    settings = replace(base, **{name: value for name, value in given.items() if value is not None})
    wanted = TABLES if "all" in tables else tables
    sources = [Source(spec, label, group) for spec in specs]
    try:
        with _display() as advance:
            finished = run_experiments(
                wanted, sources, settings, out, workers=workers or os.cpu_count() or 1, advance=advance
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"What was measured is kept in {out}; the same command resumes.") from None
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    for table in finished:
        _print(console, table)
    console.print(
        f"Written to {out}: tables.md (with the notes to the tables), and every table as .json, .md and .csv.",
        soft_wrap=True,
    )


@contextmanager
def _display() -> Iterator[Callable[[Advance], None]]:
    """Give a function that shows progress on standard error: a bar, or now and then a line."""
    if sys.stderr is not None and sys.stderr.isatty():
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True)) as progress:
            task = progress.add_task("", total=None)
            yield lambda a: progress.update(task, completed=a.done, total=a.total, description=a.what)
        return
    shown = -1

    def line(advance: Advance) -> None:
        nonlocal shown
        twentieth = _LINES * advance.done // max(1, advance.total)
        if twentieth > shown:
            shown = twentieth
            click.echo(f"{advance.done} of {advance.total} measured ({advance.what})", err=True)

    yield line


def _print(console: Console, table: TableResult) -> None:
    shown = Table(
        "", *table.columns, title=f"{table.name.replace('table', 'Table ')}. {table.title}", caption=table.data
    )
    for row in table.rows:
        style = None if row.guaranteed else "dim"
        mark = "" if row.guaranteed else f" {NOT_GUARANTEED}"
        shown.add_row(f"{row.label}{mark}", *(str(figure) for figure in row.figures), style=style)
    console.print(shown)
    if not all(row.guaranteed for row in table.rows):
        console.print(f"{NOT_GUARANTEED} without the guarantee that the table is about")
