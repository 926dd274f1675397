"""Options that benchmarks have in common, and their results as a table or as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from cofit.units import size

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
rows_option = click.option(
    "--rows", default=1713, show_default=True, type=click.IntRange(min=1), help="Rows of the matrix."
)
cols_option = click.option("--cols", default=1874, show_default=True, type=click.IntRange(min=1), help="Its columns.")


def repetitions_option(default: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option that says over how many repetitions medians are taken."""
    return click.option(
        "--repetitions", default=default, show_default=True, type=click.IntRange(min=1), help="Medians are over these."
    )


def show_result(result: DataclassInstance | Sequence[DataclassInstance], as_json: bool) -> None:
    """Print one result, or a list of them."""
    several = isinstance(result, Sequence)
    rows: list[dict[str, Any]] = [asdict(r) for r in result] if isinstance(result, Sequence) else [asdict(result)]
    if as_json:
        click.echo(json.dumps(rows if several else rows[0]))
        return
    if several:
        common = [name for name in rows[0] if len(rows) > 1 and all(row[name] == rows[0][name] for row in rows)]
        if common:
            click.echo(", ".join(f"{name}: {_readable(name, rows[0][name])}" for name in common))
        shown = [name for name in rows[0] if name not in common]
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for name in shown:  # headings break between words; what a line is about is never cut
            width = max(len(str(row[name])) for row in rows) if name == shown[0] else None
            table.add_column(name.replace("_", " "), min_width=width)
        for row in rows:
            table.add_row(*(_readable(name, row[name]) for name in shown))
    else:
        table = Table("measure", "value")
        for name, value in rows[0].items():
            table.add_row(name, _readable(name, value))
    Console().print(table)


def _readable(name: str, value: object) -> str:
    if isinstance(value, int | float) and "bytes" in name:
        return size(value, digits=4)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
