"""``cofit status``: how far a study is, as every party tells it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cofit.roles.analyst.fetch import statuses
from cofit.roles.files.keys import load_identity_for
from cofit.roles.files.studies import load_agreement
from cofit.study.agreement import Agreement
from cofit.units import duration

_SECONDS = 1.0
_LAST_PHASES = ("released", "failed")
Told = dict[str, dict[str, Any] | str]


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--key", required=True, type=click.Path(path_type=Path), help="Your private key, from `cofit keygen`.")
@click.option("--name", help="You, as the study calls you.  [default: whose key it is]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else; with --watch a line each time.")
@click.option("--watch", is_flag=True, help="Ask every second until all parties have released or failed.")
def status(study: Path, key: Path, name: str | None, as_json: bool, watch: bool) -> None:
    """Ask every party of STUDY, and its dealer, how far it has got: phase, contributions, progress of its job.

    Everybody who takes part may ask. The answers hold public facts only. While a session runs, every party says how
    long it will still take, from the latency and the rate of its lines, which it measured when the session began.

    \b
    Example:
        cofit status study.toml --key office.key --watch

    Exit codes: 0 all parties answered and none has failed, 1 otherwise, 2 wrong usage or input.
    """
    loaded = load_agreement(study)
    identity = load_identity_for(loaded, key, name)
    console = Console()
    told = statuses(loaded, identity)
    with _display(console, loaded, as_json, watch) as show:
        show(told)
        while watch and not _over(loaded, told):
            time.sleep(_SECONDS)
            told = statuses(loaded, identity)
            show(told)
    if not all(isinstance(one, dict) and one.get("phase") != "failed" for one in told.values()):
        raise click.exceptions.Exit(1)


def _over(study: Agreement, told: Told) -> bool:
    """Whether every party has released or failed; a dealer does neither."""
    answers = [told[party.name] for party in study.parties]
    return all(isinstance(one, dict) and one.get("phase") in _LAST_PHASES for one in answers)


@contextmanager
def _display(console: Console, study: Agreement, as_json: bool, watch: bool) -> Iterator[Callable[[Told], None]]:
    """Give what shows one round of answers: a line of JSON, a table, or a table that is replaced by the next one."""
    if as_json:
        yield lambda told: click.echo(json.dumps({"study": study.hash, "parties": _as_json(told)}))
    elif watch:
        with Live(console=console, auto_refresh=False) as live:
            yield lambda told: live.update(_table(study, told), refresh=True)
        if not console.is_terminal:
            console.line()  # which a live display leaves out in files and pipes
    else:
        yield lambda told: console.print(_table(study, told))


def _as_json(told: Told) -> dict[str, Any]:
    return {name: {"unreachable": one} if isinstance(one, str) else one for name, one in told.items()}


def _table(study: Agreement, told: Told) -> Table:
    table = Table("party", "phase", "contributions", "progress", title=Text(f"Study '{study.name}' {study.hash[:16]}"))
    for name, one in told.items():
        if isinstance(one, str):
            table.add_row(Text(name), Text("does not answer", style="red"), "", Text(one))
        else:
            progress = "\n".join(text for text in (_progress(one), _answered(study, one)) if text)
            table.add_row(Text(name), Text(str(one.get("phase"))), Text(_contributions(one)), Text(progress))
    return table


def _contributions(told: dict[str, Any]) -> str:
    found = told.get("contributions")
    return "\n".join(f"{owner}: {state}" for owner, state in found.items()) if isinstance(found, dict) else ""


def _progress(told: dict[str, Any]) -> str:
    found = told.get("progress")
    if not isinstance(found, dict) or not found:
        return ""
    left = found.get("seconds_left")
    known = isinstance(left, int | float) and not isinstance(left, bool)
    return f"{found.get('said')}{f', about {duration(left)} left' if known else ''}"


def _answered(study: Agreement, told: dict[str, Any]) -> str:
    """Return of how many rows each client was answered, of how many, as a party has counted."""
    found = told.get("answered")
    if not isinstance(found, dict):
        return ""
    limits = {client.name: client.rows for client in study.clients}
    lines = [
        f"{name}: {rows:,} rows answered" + ("" if limits.get(name) is None else f" of {limits[name]:,}")
        for name, rows in found.items()
        if isinstance(rows, int)
    ]
    return "\n".join(lines)
