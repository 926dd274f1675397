"""``cofit schemes``: which secret-sharing schemes there are and what each protects against."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table

from cofit.sharing import SCHEMES


@click.command()
def schemes() -> None:
    """List the secret-sharing schemes: parties, adversary, threshold, assumptions."""
    table = Table("scheme", "parties", "adversary", "corrupted", "assumptions")
    for name in sorted(SCHEMES):
        info = SCHEMES[name].info
        fewest, most = info.parties
        span = str(fewest) if fewest == most else f"{fewest} to {most or 'any'}"
        table.add_row(info.name, span, info.adversary, info.threshold, info.assumptions)
    Console().print(table)
