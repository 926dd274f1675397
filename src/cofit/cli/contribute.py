"""``cofit contribute``: an owner shares its table with the computing parties of a study."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from cofit.cli.release_table import names_of
from cofit.errors import CofitError, HandshakeError, InvalidInputError, StateError, TransportError
from cofit.roles.contributing import LEDGER, PreparedContribution, align_table, prepare, read_rows, read_secret, send
from cofit.roles.ledger import Ledger
from cofit.roles.owner import UploadProgress
from cofit.roles.owner_directory import owner_directory
from cofit.roles.study_files import load_identity_for, load_study, read_owner_table
from cofit.sharing import scheme_named
from cofit.study.document import Study
from cofit.study.encode import encode_table, owner_named
from cofit.study.statement import expected_certificate, learned
from cofit.transport import RequestRefusedError

_AGAIN = "Repeat the command: it goes on where it was, and the ledger is not charged again for the same parties."


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--key", required=True, type=click.Path(path_type=Path), help="The owner's private key, from `cofit keygen`."
)
@click.option("--owner", help="This owner, as the study calls it.  [default: whose key it is]")
@click.option(
    "--data", required=True, type=click.Path(path_type=Path), help="The table: CSV, TSV, Parquet, Arrow or .npz."
)
@click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    help="This owner's private directory, with the ledger of all its studies.  [default: OWNER.state beside the key]",
)
@click.option("--dataset", help="The name under which the ledger knows the data.  [default: OWNER]")
@click.option("--secret", type=click.Path(path_type=Path), help="Vertical studies: the secret that the owners share.")
@click.option(
    "--rows-of",
    multiple=True,
    type=click.Path(path_type=Path),
    help='Vertical studies: the row file of another owner, once for each; needed where unmatched = "drop".',
)
@click.option("--dry-run", is_flag=True, help="Check everything and say what would be sent; charge and send nothing.")
def contribute(
    study: Path,
    key: Path,
    owner: str | None,
    data: Path,
    state: Path | None,
    dataset: str | None,
    secret: Path | None,
    rows_of: tuple[Path, ...],
    dry_run: bool,
) -> None:
    """Check a table against STUDY, split it into random shares, and send every computing party its own.

    Nothing is sent, and the ledger is not charged, if anything is wrong with the table. The command may be repeated:
    after an interruption it goes on where it was, and with another table it replaces what was sent before, until the
    parties have sealed the contributions.

    The ledger of all studies that this owner takes part in is in its private directory, beside its key, wherever the
    command is run. Keep that directory, and use the same one for every study: a second ledger knows nothing of what
    the first has spent.

    Exit codes: 0 all parties have everything on disk, 1 it failed, was refused, or exceeds the budget, 2 wrong input,
    130 interrupted.
    """
    loaded = load_study(study)
    identity = load_identity_for(loaded, key, owner)
    owner = owner_named(loaded, identity.name).name
    folder = owner_directory(owner, key, Path(), study.parent) if state is None else state
    known_as = owner if dataset is None else dataset
    contribution = _prepared(loaded, owner, data, secret, rows_of)
    _show(contribution, folder, known_as)
    if dry_run:
        click.echo("\nThis was a dry run: nothing was charged or sent.")
        return
    try:
        with _display() as progress:
            upload = send(contribution, identity, folder, known_as, progress)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_AGAIN) from None
    except TransportError as error:
        raise _explained(error) from None
    click.echo(f"\nAll {len(loaded.parties)} parties have acknowledged: upload {upload} is on their disks.")
    click.echo(
        "Until every owner has contributed you may replace it by contributing again; then nothing can be replaced any "
        "more, and the parties train. `cofit status` tells how far the study is."
    )


def _prepared(
    study: Study, owner: str, data: Path, secret: Path | None, rows_of: tuple[Path, ...]
) -> PreparedContribution:
    """Read, check, align and encode the table."""
    if study.data.partition != "vertical":
        if secret is not None or rows_of:
            raise InvalidInputError("--secret and --rows-of are for vertical studies; this one is horizontal.")
        return prepare(study, owner, encode_table(study, owner, read_owner_table(study, owner, data)))
    if secret is None:
        raise InvalidInputError(
            "In a vertical study the owners order their rows by a secret that they share: give its file with --secret. "
            "One owner makes it with `cofit align --new-secret FILE` and hands it to the others, never to a party."
        )
    key = read_secret(secret)
    others = read_rows(rows_of, study, owner, key)
    missing = [entry.name for entry in study.owners if entry.name not in (owner, *others)]
    if study.data.unmatched == "drop" and missing:
        raise InvalidInputError(
            f'The study keeps the rows that all owners have (unmatched = "drop"): give the row files of '
            f"{', '.join(missing)} with --rows-of. They make them with `cofit align --out`."
        )
    table = encode_table(study, owner, read_owner_table(study, owner, data))
    aligned, digest = align_table(study, table, key, others)
    return prepare(study, owner, aligned, digest)


def _show(contribution: PreparedContribution, state: Path, dataset: str) -> None:
    """Say what will be sent to whom, what it costs, and what the release will reveal; raise if the cap is exceeded."""
    study = contribution.study
    entry = owner_named(study, contribution.owner)
    count = len(entry.columns)
    label = " and the label" if entry.holds_label else ""
    brought = f"{count:,} feature{'' if count == 1 else 's'}{label}"
    click.echo(f"Study '{study.name}', hash {study.hash}")
    click.echo(f"The table of '{entry.name}' is as the study says: {entry.rows:,} rows, {brought}.")
    click.echo("\nTo be sent, over TLS, to")
    shares = "bytes of random shares" if scheme_named(study.compute.scheme).info.secret else "bytes, NOT SECRET to it"
    for rank, party in enumerate(study.parties):
        size = contribution.bytes_for(rank)
        if not contribution.kept:
            sent = f"{size:,} {shares}"
        elif rank == contribution.holder:
            sent = f"{size:,} bytes, the encoded data as they are: this party is '{contribution.owner}' itself"
        else:
            sent = "nothing of the data, not even shares"
        click.echo(f"  {party.name} ({party.host}:{party.port}): {sent}")
    if contribution.rows is not None:
        click.echo(
            "  and to each a keyed digest of the row keys, which tells only whether all owners have the same rows"
        )
    _show_charge(contribution, state, dataset)
    click.echo("\nWhat the release will reveal")
    certificate = expected_certificate(study, contribution.plan)
    click.echo(f"  {certificate.headline}")
    for assumption in certificate.assumptions:
        click.echo(f"  This holds if {assumption}.")
    for fact in learned(study)["parties"]:
        click.echo(f"  A computing party learns: {fact}.")


def _show_charge(contribution: PreparedContribution, state: Path, dataset: str) -> None:
    study, epsilon, delta = contribution.study, contribution.epsilon, contribution.delta
    cost = f"epsilon {float(epsilon):g}, delta {float(delta):.2g}"
    releases = contribution.releases
    click.echo(f"\nThe charge to data set '{dataset}' in the ledger {state / LEDGER}")
    click.echo(f"  one for all noisy releases of the study: {names_of(releases)}")
    if not (state / LEDGER).exists():
        click.echo(f"  {cost}; nothing was spent before, and there is no cap (`cofit budget --set-cap`)")
        return
    ledger = Ledger(state / LEDGER)
    due = ledger.check(dataset, study.hash, study.name, epsilon, delta, releases)
    spent, cap = ledger.spent(dataset), ledger.cap(dataset)
    if due:
        click.echo(f"  {cost}")
    else:
        click.echo(f"  was made before, with {cost}; nothing more is due, but as much again if a party has begun anew")
    limit = (
        "no cap (`cofit budget --set-cap`)"
        if cap is None
        else f"the cap is {float(cap.epsilon):g}, {float(cap.delta):.2g}"
    )
    click.echo(f"  spent before: epsilon {float(spent.epsilon):g}, delta {float(spent.delta):.2g}; {limit}")


@contextmanager
def _display() -> Iterator[Callable[[UploadProgress], None] | None]:
    """A bar for each party on the standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as display:
        tasks: dict[str, TaskID] = {}

        def tell(progress: UploadProgress) -> None:
            if progress.party not in tasks:
                tasks[progress.party] = display.add_task(progress.party, total=progress.total)
            display.update(tasks[progress.party], completed=progress.done)

        yield tell


def _explained(error: TransportError) -> CofitError:
    """The error with what to do now."""
    if isinstance(error, HandshakeError):
        return error
    if not isinstance(error, RequestRefusedError):
        return StateError(f"{error} {_AGAIN}")
    if "sealed" in error.text:
        return StateError(
            f"'{error.peer}' has sealed the contributions: every owner has contributed, and nothing can be replaced "
            "any more. What was acknowledged before counts. `cofit status` tells how far the study is."
        )
    return StateError(f"'{error.peer}' refused: {error.text}")
