"""``cofit schemes``: which secret-sharing schemes there are, what each protects against, and what it costs."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table

from cofit.cli.scheme_table import choice_table
from cofit.cli.show import cols_option, rows_option
from cofit.errors import InvalidInputError
from cofit.learn.comparison import compare_schemes
from cofit.learn.facts import PARTITIONS, training_facts
from cofit.sharing import SCHEMES


@click.command()
@rows_option
@cols_option
@click.option(
    "--partition", default="horizontal", show_default=True, type=click.Choice(PARTITIONS), help="What owners hold."
)
def schemes(rows: int, cols: int, partition: str) -> None:
    """List the secret-sharing schemes: parties, adversary tolerated, assumptions, and the cost for data of this size.

    \b
    Three organisations; no two of them collude, and none cheats:    rep3
    Two organisations, and a third one that runs a dealer:           semi2k
    Four organisations; one of them might cheat:                     rep4

    \b
    Example:
        cofit schemes --rows 20000 --cols 300

    Exit codes: 0 done, 2 wrong usage or input.
    """
    table = Table("scheme", "parties", "corrupted at most", "correlations", "adversary", "assumptions")
    for name in sorted(SCHEMES):
        info = SCHEMES[name].info
        fewest, most = info.parties
        span = str(fewest) if fewest == most else f"{fewest} to {most or 'any'}"
        spec = info.spec()
        table.add_row(spec.name, span, spec.corrupted, spec.correlations, spec.adversary, spec.assumptions)
    console = Console()
    console.print(table)
    try:
        choices = compare_schemes(training_facts(rows, cols, partition=partition))
    except InvalidInputError as error:
        raise InvalidInputError(f"No plan fits {rows} rows and {cols} columns: {error}") from None
    console.print()
    console.print(choice_table(choices, f"{rows:,} rows and {cols:,} columns, default settings"))
