"""``cofit result``: fetch what the program of a study has opened, or check a file of it."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np

from cofit.cli.waiting import say_waiting
from cofit.errors import InvalidInputError
from cofit.roles.analyst.results import fetch_results
from cofit.roles.files.durable import write_durably
from cofit.roles.files.keys import load_identity_for
from cofit.roles.files.statements import SignedStatement
from cofit.roles.files.studies import load_program_study
from cofit.study.program import ProgramStudy

_LARGEST = 1 << 30


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--key", type=click.Path(path_type=Path), help="An analyst's private key.")
@click.option("--name", help="The analyst, as the study calls it.  [default: whose key it is]")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="File for the results, with signatures.")
@click.option(
    "--verify",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Check this file of results, offline, instead of fetching: needs the study, and no key.",
)
def result(study: Path, key: Path | None, name: str | None, out: Path | None, verify: Path | None) -> None:
    """Fetch what the program of STUDY has opened from every party, compare the copies, and check the signatures.

    It prints the statement of the study, every opening with its values, and what the function returned. With --out all
    of it goes to a file, in JSON, with the signatures of all parties; --verify checks such a file later, offline, by
    the keys in STUDY. What was opened to one party alone is not here: that party has it in its state directory.

    \b
    Examples:
        cofit result study.toml --key office.key --out result.json
        cofit result study.toml --verify result.json

    Exit codes: 0 the results are there and all parties have signed them, 1 there are none yet, a party does not answer,
    copies differ or a signature does not fit, 2 wrong usage or input.
    """
    loaded = load_program_study(study)
    if verify is not None:
        if key is not None or out is not None:
            raise InvalidInputError("--verify checks a file, offline: give it without --key and --out.")
        signed = _read(loaded, verify)
        signed.check()
    elif key is None:
        raise InvalidInputError("Give --key, an analyst's private key, to fetch the results; or --verify FILE.")
    else:
        signed = fetch_results(loaded, load_identity_for(loaded, key, name), say_waiting(loaded))
    if out is not None:
        write_results(signed, out)
    show_results(signed)
    click.echo(f"All {len(loaded.parties)} parties have signed this." + ("" if out is None else f" Results: {out}"))


def write_results(signed: SignedStatement, out: Path) -> None:
    """Write the file of results."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_durably(out, signed.to_json().encode(), mode=0o644)
    except OSError as error:
        raise InvalidInputError(f"The results cannot be written to '{out}': {error.strerror}.") from None


def show_results(signed: SignedStatement) -> None:
    """Print the statement, the openings and what the function returned."""
    statement = signed.statement
    click.echo(f"{statement.document['statement']}\n")
    for opening, values in zip(statement.study.program.openings, statement.values, strict=True):
        click.echo(f"{opening.reason}:")
        if values is None:
            click.echo(f"  opened to {', '.join(opening.to)} alone")
        else:
            array = np.array(values).reshape(opening.shape)
            shown = np.array2string(array, precision=10, threshold=100) if array.shape else f"{values[0]:.12g}"
            click.echo("\n".join(f"  {line}" for line in shown.splitlines()))
    if statement.result is not None:
        click.echo(f"The program returned: {json.dumps(statement.result)}")
    click.echo()


def _read(study: ProgramStudy, path: Path) -> SignedStatement:
    try:
        if path.stat().st_size > _LARGEST:
            raise InvalidInputError(f"'{path}' is too large for a file of results.")
        return SignedStatement.from_json(study, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"'{path}' cannot be read: {error}.") from None
