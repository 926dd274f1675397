"""``cofit run-program``: a whole study of a program on one machine, with real processes."""

from __future__ import annotations

import signal
from pathlib import Path

import click
from rich.console import Console

from cofit.cli.program_contribution import ACCEPT, check_accepted
from cofit.cli.rehearsal_options import rehearsal_options
from cofit.cli.result import show_results, write_results
from cofit.cli.run_study import tables_of, terminated, watch_progress
from cofit.cli.serving import program_option
from cofit.cli.table_options import table_options
from cofit.roles.analyst.results import fetch_results
from cofit.roles.files.studies import load_program_study
from cofit.roles.files.text_tables import TextLayout
from cofit.roles.local.program_rehearsal import ProgramRehearsal
from cofit.roles.local.rehearsal import run_staged

RESULT = "result.json"


@click.command("run-program")
@click.argument("study", type=click.Path(path_type=Path))
@rehearsal_options
@program_option
@click.option(ACCEPT, is_flag=True, help="Agree, for all owners, that what is opened is not differentially private.")
@table_options
def run_program(
    study: Path,
    tables: tuple[str, ...],
    keys: Path,
    out: Path,
    program: Path | None,
    accept_not_private: bool,
    layout: TextLayout,
) -> None:
    """Run the whole of STUDY, which has a [job], on this machine: everybody is a process of their own, over TLS.

    The parties' addresses in the study must be on this machine, such as 127.0.0.1. Whoever runs this holds all keys and
    all data: it is a rehearsal, and protects nothing from that person. Repeated with the same --out it resumes. The
    results go to OUT/result.json, signed by all parties.

    \b
    Example:
        cofit run-program study.toml --data a=a.csv --data b=b.csv --keys keys --out out --accept-not-private

    Exit codes: 0 the results are there, 1 somebody failed (the message says whose log to read), 2 wrong usage or input.
    """
    loaded = load_program_study(study)
    rehearsal = ProgramRehearsal(study, loaded, keys, tables_of(tables), out, layout=layout, program=program)
    rehearsal.check_tables()
    check_accepted(loaded, accept_not_private)
    console = Console(stderr=True)
    signal.signal(signal.SIGTERM, terminated)
    try:
        with console.status("") as status:
            signed = run_staged(rehearsal, fetch_results, click.echo, lambda told: watch_progress(status, told))
    except KeyboardInterrupt:
        raise KeyboardInterrupt("Everybody was stopped; the same command resumes, and opens nothing twice.") from None
    write_results(signed, out / RESULT)
    click.echo()
    show_results(signed)
    click.echo(f"Results: {out / RESULT}, logs: {out / 'logs'}")
