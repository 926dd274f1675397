"""``cofit schemes``: which secret-sharing schemes there are, what each protects against, and what it costs."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from cofit.cli.scheme_table import choice_table
from cofit.cli.show import as_json_option, cols_option, rows_option
from cofit.errors import InvalidInputError
from cofit.learn.comparison import compare_schemes, usual_parties
from cofit.learn.facts import PARTITIONS, training_facts
from cofit.sharing import SCHEMES, SchemeInfo
from cofit.sharing.spec import chance_in_words


@click.command()
@rows_option
@cols_option
@click.option(
    "--partition", default="horizontal", show_default=True, type=click.Choice(PARTITIONS), help="What owners hold."
)
@click.option(
    "--parties",
    type=click.IntRange(min=1),
    help="Only schemes that run with so many computing parties.  [default: all, each with as many as is usual]",
)
@as_json_option
def schemes(rows: int, cols: int, partition: str, parties: int | None, as_json: bool) -> None:
    """List the secret-sharing schemes: parties, adversary tolerated, assumptions, and the cost for data of this size.

    \b
    Three organisations; no two of them collude, and none cheats:    rep3
    Two organisations, and a third one that runs a dealer:           semi2k
    Four organisations; one of them might cheat:                     rep4
    Three to seven; most of them do not collude, and none cheats:    shamir
    Three, five or seven; most of them are honest, others might cheat: repn

    \b
    Examples:
        cofit schemes --rows 20000 --cols 300
        cofit schemes --parties 5

    Exit codes: 0 done, 2 wrong usage or input.
    """
    shown = [SCHEMES[name].info for name in sorted(SCHEMES)]
    counts = usual_parties()
    if parties is not None:
        shown = [info for info in shown if info.runs_with(parties)]
        counts = {info.name: parties for info in shown if info.secret}
    try:
        choices = compare_schemes(training_facts(rows, cols, partition=partition), parties=counts)
    except InvalidInputError as error:
        raise InvalidInputError(f"No plan fits {rows} rows and {cols} columns: {error}") from None
    if as_json:
        costs = [choice.to_dict() for choice in choices]
        click.echo(json.dumps({"schemes": [_facts(info, parties) for info in shown], "costs": costs}))
        return
    console = Console()
    for info in shown:
        _describe(console, info, parties)
    console.print(choice_table(choices, f"{rows:,} rows and {cols:,} columns, default settings"))


def _describe(console: Console, info: SchemeInfo, parties: int | None) -> None:
    """Print what a scheme is, a fact a line, which any terminal has room for."""
    most = info.parties[1]
    spec = info.spec(parties)
    fewer = info.thresholds(spec.parties)[:-1]
    corrupted = spec.corrupted
    if parties is None and most is not None and most > spec.parties:
        corrupted += f"; {info.spec(most).threshold} of {most}"
    if fewer:
        corrupted += f"; or fewer, from {fewer[0]} on, if the study says so"
    facts = {
        "parties": _numbers(info),
        "adversary tolerated": spec.adversary,
        "corrupted at most": corrupted,
        "correlations": spec.correlations,
        "assumptions": spec.assumptions,
    }
    if spec.soundness is not None:
        facts["a lie that no check notices"] = spec.soundness
    if spec.statistical_bits is not None:
        facts["a wrong value, or a mask that shows something"] = chance_in_words(spec.statistical_bits)
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 1))
    for label, fact in facts.items():
        table.add_row(label, fact)
    console.print(spec.name, style="bold")
    console.print(table)
    console.print()


def _numbers(info: SchemeInfo) -> str:
    """Return with how many parties a scheme runs."""
    fewest, most = info.parties
    if fewest == most:
        return str(fewest)
    return info.parties_in_words if info.step > 1 else f"{fewest} to {most or 'any'}"


def _facts(info: SchemeInfo, parties: int | None) -> dict[str, Any]:
    """Return what a scheme is, in plain values; the threshold among so many parties, or as many as is usual."""
    spec = info.spec(parties)
    fewest, most = info.parties
    counts = None if info.counts is None else list(info.counts)
    numbers = {"fewest": fewest, "most": most, "all": counts, "usual": info.default_parties, "shown": spec.parties}
    return {
        "scheme": info.name,
        "parties": numbers,
        "threshold": spec.threshold,
        "thresholds": list(info.thresholds(spec.parties)),
        "corrupted": spec.corrupted,
        "adversary": spec.adversary,
        "active": spec.active,
        "secret": spec.secret,
        "dealer": spec.dealer,
        "correlations": spec.correlations,
        "routes": list(info.routes),
        "soundness_bits": spec.soundness_bits,
        "statistical_bits": spec.statistical_bits,
        "assumptions": spec.assumptions,
    }
