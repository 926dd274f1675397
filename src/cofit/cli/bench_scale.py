"""``cofit bench scale``: training on more data than the memory of a party holds."""

from __future__ import annotations

from pathlib import Path

import click

from cofit.benchmarks.scale import measure_scale
from cofit.cli.scheme_options import scheme_option
from cofit.cli.setting_options import size_of
from cofit.cli.show import as_json_option, show_result
from cofit.models.progress_display import progress_display


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
@as_json_option
def scale(
    rows: int, cols: int, memory: int | None, scheme: str, threads: int, directory: Path | None, as_json: bool
) -> None:
    """One training run on many rows or columns, with a limit of each party's memory, against the plan's forecast.

    Owners make up their rows as they share them. Where the shares of the data exceed the memory, they lie in private
    files, which are deleted at the end. A progress bar is shown on a terminal.

    \b
    A million rows, without a limit:
        cofit bench scale --rows 1000000 --cols 50
    Twice as many columns, with 1 GB for each party:
        cofit bench scale --rows 1000000 --cols 100 --memory 1GB --directory /var/tmp
    """
    with progress_display() as told:
        result = measure_scale(rows, cols, memory, scheme, threads, directory, told)
    show_result(result, as_json)
