"""``cofit run``: a whole study on one machine, with real processes."""

from __future__ import annotations

import signal
from pathlib import Path
from types import FrameType
from typing import Any

import click
from rich.console import Console
from rich.status import Status

from cofit.cli.model import CERTIFICATE_TEXT, model_of_release, refuse_shared, tell_of_shrinkage, write_model
from cofit.cli.rehearsal_options import rehearsal_options
from cofit.cli.setting_options import size_of
from cofit.cli.table_options import table_options
from cofit.errors import InvalidInputError
from cofit.roles.files.text_tables import TextLayout
from cofit.roles.local.rehearsal import Rehearsal, run_rehearsal
from cofit.roles.shards.cluster import MOST_WORKERS

MODEL = "model.json"


@click.command("run")
@click.argument("study", type=click.Path(path_type=Path))
@rehearsal_options
@click.option("--secret", type=click.Path(path_type=Path), help="Vertical studies: the secret of the owners.")
@click.option(
    "--memory",
    callback=size_of,
    metavar="SIZE",
    help="The most memory that each party may use, such as 1GB.  [default: compute.memory of the study]",
)
@click.option(
    "--workers",
    type=click.IntRange(1, MOST_WORKERS),
    help="In a study with compute.shards: worker processes of each party.  [default: one for each shard, at most one "
    "for each processor]",
)
@table_options
def run_study(
    study: Path,
    tables: tuple[str, ...],
    keys: Path,
    out: Path,
    secret: Path | None,
    memory: int | None,
    workers: int | None,
    layout: TextLayout,
) -> None:
    """Run the whole of STUDY on this machine, for trying it out: parties, owners and analyst, each a process, over TLS.

    The parties' addresses in the study must be on this machine, such as 127.0.0.1. Whoever runs this holds all keys and
    all data: it is a rehearsal, and protects nothing from that person. Repeated with the same --out it resumes. The
    model is released once; it goes to OUT/model.json with OUT/certificate.txt.

    \b
    Example:
        cofit run study.toml --data hospital-a=a.csv --data hospital-b=b.csv --keys keys --out rehearsal

    Exit codes: 0 the model is there, 1 somebody failed (the message says whose log to read), 2 wrong usage or input.
    """
    rehearsal = Rehearsal.of(study, keys, tables_of(tables), out, secret, layout, memory, workers)
    refuse_shared(rehearsal.study)
    rehearsal.check_tables()
    console = Console(stderr=True)
    signal.signal(signal.SIGTERM, terminated)
    try:
        with console.status("") as status:
            signed = run_rehearsal(rehearsal, click.echo, lambda told: watch_progress(status, told))
    except KeyboardInterrupt:
        raise KeyboardInterrupt("Everybody was stopped; the same command resumes, and releases once.") from None
    model = model_of_release(rehearsal.study, signed)
    certificate = model.model.certificate
    write_model(model, out / MODEL)
    click.echo(
        f"Released: {certificate.d} weights from {certificate.n:,} records of "
        f"{len(rehearsal.study.owners)} owners, in {certificate.epochs} epochs; all parties hold the same."
    )
    click.echo(f"\n{certificate.headline}\n")
    tell_of_shrinkage(model)
    click.echo(f"Model: {out / MODEL}, certificate: {out / CERTIFICATE_TEXT}, logs: {out / 'logs'}")


def terminated(number: int, frame: FrameType | None) -> None:
    """Leave as after an error, so that the processes are stopped."""
    raise SystemExit(1)


def tables_of(given: tuple[str, ...]) -> dict[str, Path]:
    """Return the table of each owner, from OWNER=FILE."""
    tables: dict[str, Path] = {}
    for one in given:
        owner, equals, path = one.partition("=")
        if not equals or not owner or not path:
            raise InvalidInputError(f"--data must be OWNER=FILE, as in --data hospital-a=a.csv. Got {one!r} instead.")
        if owner in tables:
            raise InvalidInputError(f"--data names '{owner}' twice.")
        tables[owner] = Path(path)
    return tables


def watch_progress(status: Status, told: dict[str, dict[str, Any] | str]) -> None:
    """Show how far the first party is that says so."""
    for one in told.values():
        progress = one.get("progress") if isinstance(one, dict) else None
        if isinstance(progress, dict) and progress:
            status.update(str(progress.get("said")))
            return
