"""Lists that ``cofit check`` prints for every kind of study: who takes part, and lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cofit.study.agreement import Agreement
from cofit.study.document import Participant


def participant_list(study: Agreement, part: Callable[[Participant], str]) -> list[dict[str, Any]]:
    """Return everybody with role, name, fingerprint and part. ``part``: what an owner brings, or an analyst may do."""
    servers = {"party": study.parties, "dealer": () if study.dealer is None else (study.dealer,)}
    found = [
        (role, entry, f"listens at {f'[{entry.host}]' if ':' in entry.host else entry.host}:{entry.port}")
        for role, entries in servers.items()
        for entry in entries
    ]
    others: dict[str, Sequence[Participant]] = {
        "owner": study.owners,
        "analyst": study.analysts,
        "client": study.clients,
    }
    return [
        {"role": role, "name": entry.name, "fingerprint": entry.fingerprint, "part": does}
        for role, entry, does in (
            *found,
            *((role, entry, part(entry)) for role, entries in others.items() for entry in entries),
        )
    ]


def print_participants(console: Console, participants: Iterable[dict[str, Any]]) -> None:
    """Print everybody, each with the fingerprint below."""
    for one in participants:
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(width=8)
        table.add_column(overflow="fold")
        table.add_row(f"{one['role']}", Text.assemble((one["name"], "bold"), f"  {one['part']}"))
        console.print(table)
        console.print(Text(f"         {one['fingerprint']}", style="dim"), soft_wrap=True)
    console.print()


def print_list(console: Console, title: str, lines: Iterable[str]) -> None:
    """Print lines below a title."""
    console.print(f"\n{title}", style="bold")
    for line in lines:
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(width=3)
        table.add_column(overflow="fold")
        table.add_row("  -", Text(line))
        console.print(table)
