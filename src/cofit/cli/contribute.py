"""``cofit contribute``: an owner shares its table with the computing parties of a study."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

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

from cofit.cli.charge import Account, check_person, confirm_charge, show_charge, show_if_again
from cofit.cli.program_contribution import check_accepted, confirm_exposure, prepared_inputs, show_exact, show_exposure
from cofit.cli.table_options import table_options
from cofit.cli.waiting import say_waiting
from cofit.errors import CofitError, HandshakeError, InvalidInputError, StateError, TransportError
from cofit.roles.analyst.fetch import statuses
from cofit.roles.files.directory_kinds import check_owner_directory
from cofit.roles.files.keys import load_identity_for
from cofit.roles.files.studies import load_agreement
from cofit.roles.files.tables import read_owner_table
from cofit.roles.files.text_tables import TextLayout
from cofit.roles.jobs.job import Policy, ReleasePolicy
from cofit.roles.jobs.of_study import training_job
from cofit.roles.owner.contribute import (
    PreparedContribution,
    align_table,
    ask_parties,
    prepare,
    read_rows,
    read_secret,
    send,
)
from cofit.roles.owner.directory import owner_directory
from cofit.roles.owner.upload import UploadProgress
from cofit.roles.service.conversations import Waiting
from cofit.study.agreement import Agreement
from cofit.study.document import Study
from cofit.study.encode import EncodedTable, encode_table, owner_named
from cofit.study.plan import study_plan
from cofit.study.program import ProgramStudy
from cofit.study.range_use import WARNING, range_warning
from cofit.study.statement import expected_certificate, learned
from cofit.transport import Identity, RequestRefusedError
from cofit.units import size

_AGAIN = (
    "Repeat the command: it resumes, what was acknowledged is not lost, and the ledger is not charged again for the "
    "same parties."
)
_NOTHING = "This time nothing was charged or sent."
_NOT_YET = f"{_NOTHING} Repeat the command when all parties answer."


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--key", required=True, type=click.Path(path_type=Path), help="The owner's private key, from `cofit keygen`."
)
@click.option("--owner", help="This owner, as the study calls it.  [default: whose key it is]")
@click.option(
    "--data",
    required=True,
    type=click.Path(path_type=Path),
    help="The table: CSV, TSV, Parquet, Arrow or .npz, in which the features may be a sparse matrix.",
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
@table_options
@click.option(
    "--accept-not-private",
    is_flag=True,
    help="Studies with a [job], or without noise: agree that what they reveal is not differentially private.",
)
@click.option("--yes", is_flag=True, help="Do not ask: charge the ledger and send. Needed where there is no terminal.")
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
    accept_not_private: bool,
    yes: bool,
    dry_run: bool,
    layout: TextLayout,
) -> None:
    """Check a table against STUDY, split it into random shares, and send every computing party its own.

    If anything is wrong with the table, nothing is sent and the ledger is not charged. Otherwise the command shows what
    the study costs, and the ledger before and after, and asks; without a terminal give --yes. It may be repeated: after
    an interruption it resumes, and with another table it replaces what was sent before, until the parties have sealed
    the contributions.

    The ledger of all studies that this owner takes part in is in its private directory, beside its key, wherever the
    command is run. Keep that directory, and use the same one for every study: a second ledger knows nothing of what
    the first has spent.

    A study with a [job] runs a program, and opens what it declares without noise that anybody has proven. No epsilon
    covers that: the command lists what will be opened, and demands --accept-not-private. The ledger lists the study.
    So it is where a study keeps its model shared and without noise ([release] noise = false).

    \b
    Look first, then contribute:
        cofit contribute study.toml --key hospital-a.key --data patients.csv --dry-run
        cofit contribute study.toml --key hospital-a.key --data patients.csv

    Exit codes: 0 all parties have everything on disk, 1 it failed, was refused, or exceeds the budget, 2 wrong input,
    or no terminal and no --yes, 130 interrupted.
    """
    loaded = load_agreement(study)
    identity = load_identity_for(loaded, key, owner)
    if identity.name not in [one.name for one in loaded.owners]:
        raise InvalidInputError(
            f"'{identity.name}' is no data owner of this study; those are {[one.name for one in loaded.owners]}. "
            "Give the key of one of them."
        )
    folder = owner_directory(identity.name, key, Path(), study.parent) if state is None else state
    check_owner_directory(folder)
    known_as = identity.name if dataset is None else dataset
    confirm: Callable[[Collection[str]], None]
    if isinstance(loaded, ProgramStudy):
        if secret is not None or rows_of:
            raise InvalidInputError("--secret and --rows-of are for vertical studies that train a model.")
        contribution = prepared_inputs(loaded, identity.name, data, layout)
        show_exposure(loaded, contribution, folder, known_as)
        _show_amounts(contribution)
        confirm = partial(confirm_exposure, contribution, folder, known_as, ask=not yes)
    elif not loaded.release.noise:
        contribution, _ = _prepared(loaded, identity.name, data, layout, secret, rows_of)
        show_exact(loaded, contribution, folder, known_as)
        _show_amounts(contribution)
        confirm = partial(confirm_exposure, contribution, folder, known_as, ask=not yes)
    else:
        if accept_not_private:
            raise InvalidInputError(
                "--accept-not-private is for studies with a [job], or without noise; this one is differentially "
                "private. Leave it out."
            )
        contribution, policy = _prepared(loaded, identity.name, data, layout, secret, rows_of)
        if not isinstance(policy, ReleasePolicy):
            raise InvalidInputError("This study has no privacy budget.")
        _show(loaded, contribution)
        account = Account(contribution, policy, folder, known_as)
        show_charge(account, study)
        confirm = partial(_confirm, account, ask=not yes)
    if dry_run:
        click.echo("\nThis was a dry run: nothing was charged or sent.")
        return
    if isinstance(loaded, ProgramStudy) or not loaded.release.noise:
        check_accepted(loaded, accept_not_private)
    if not yes:
        check_person()
    remedy, waiting = _NOT_YET, say_waiting(loaded)
    try:
        parties = ask_parties(loaded, identity, waiting)
        confirm(parties.values())
        remedy = _AGAIN
        with _display() as progress:
            upload = send(contribution, identity, folder, known_as, progress, parties, waiting)
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt(f"{interrupt}" or remedy) from None
    except TransportError as error:
        raise _explained(error, remedy) from None
    click.echo(f"\nAll {len(loaded.parties)} parties have acknowledged: upload {upload} is on their disks.")
    click.echo(f"{_what_comes_next(loaded, identity, waiting)} `cofit status` tells how far the study has got.")


def _confirm(account: Account, parties: Collection[str], *, ask: bool) -> None:
    show_if_again(account, parties)
    if ask:
        confirm_charge(account, parties)


def _what_comes_next(study: Agreement, identity: Identity, waiting: Waiting) -> str:
    """Say whether this contribution can still be replaced, as the parties tell it."""
    told = statuses(study, identity, waiting=waiting)
    answers = [one for party in study.parties if isinstance(one := told[party.name], dict)]
    missing = [_waited_for(study, answer) for answer in answers]
    if missing and not all(missing):
        return "Every owner has contributed: nothing can be replaced any more, and the parties compute."
    begins = f"Not there yet: {', '.join(missing[0])}. " if missing else ""
    return (
        f"{begins}Until every owner has contributed you may replace yours by contributing again; then nothing can be "
        "replaced any more, and the parties compute."
    )


def _waited_for(study: Agreement, answer: dict[str, Any]) -> list[str]:
    """Return the owners without whom a party cannot begin, as it tells; nobody once it has sealed."""
    found = answer.get("contributions")
    if answer.get("phase") != "collecting" or not isinstance(found, dict):
        return []
    return [owner.name for owner in study.owners if found.get(owner.name) != "complete"]


def _prepared(
    study: Study, owner: str, data: Path, layout: TextLayout, secret: Path | None, rows_of: tuple[Path, ...]
) -> tuple[PreparedContribution, Policy]:
    """Read, check, align and encode the table; return it, and what may be released of it."""
    job = training_job(study)
    if study.data.partition != "vertical":
        if secret is not None or rows_of:
            raise InvalidInputError("--secret and --rows-of are for vertical studies; this one is horizontal.")
        return prepare(job, owner, _encoded(study, owner, data, layout)), job.policy
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
    aligned, digest = align_table(study, _encoded(study, owner, data, layout), key, others)
    return prepare(job, owner, aligned, digest), job.policy


def _encoded(study: Study, owner: str, data: Path, layout: TextLayout) -> EncodedTable:
    """Read and encode the table; a warning about this owner's own data goes to its terminal and nowhere else."""
    table = encode_table(study, owner, read_owner_table(study, owner, data, layout))
    warning = range_warning(study, owner, table)
    if warning is not None:
        click.echo(f"{WARNING}{warning}", err=True)
    return table


def _show(study: Study, contribution: PreparedContribution) -> None:
    """Say what will be sent to whom, and what the release will reveal."""
    entry = owner_named(study, contribution.owner)
    count = len(entry.columns)
    label = " and the label" if entry.holds_label else ""
    brought = f"{count:,} feature{'' if count == 1 else 's'}{label}"
    click.echo(f"Study '{study.name}', hash {study.hash}")
    click.echo(f"The table of '{entry.name}' is as the study says: {entry.rows:,} rows, {brought}.")
    _show_amounts(contribution)
    click.echo("\nWhat the release will reveal")
    certificate = expected_certificate(study, study_plan(study))
    click.echo(f"  {certificate.headline}")
    if certificate.about_others:
        click.echo(f"  {certificate.about_others}")
    for assumption in certificate.assumptions:
        click.echo(f"  This holds if {assumption}.")
    for fact in learned(study)["parties"]:
        click.echo(f"  A computing party learns: {fact}.")


def _show_amounts(contribution: PreparedContribution) -> None:
    """Say what will be sent to whom."""
    study = contribution.study
    click.echo("\nTo be sent, over TLS, to")
    shares = " of random shares" if study.spec.secret else ", NOT SECRET to it"
    for rank, party in enumerate(study.parties):
        amount = size(contribution.bytes_for(rank))
        if not contribution.kept:
            sent = f"{amount}{shares}"
        elif rank == contribution.holder:
            sent = f"{amount}, the encoded data as they are: this party is '{contribution.owner}' itself"
        else:
            sent = "nothing of the data, not even shares"
        click.echo(f"  {party.name} ({party.host}:{party.port}): {sent}")
    if contribution.rows is not None:
        click.echo(
            "  and to each a keyed digest of the row keys, which tells only whether all owners have the same rows"
        )


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


def _explained(error: TransportError, remedy: str) -> CofitError:
    """The error with what to do now, which is ``remedy`` where a party does not answer."""
    if isinstance(error, HandshakeError):
        return StateError(f"{error} {_NOTHING}") if remedy == _NOT_YET else error
    if not isinstance(error, RequestRefusedError):
        return StateError(f"{error} {remedy}")
    if "sealed" in error.text:
        return StateError(
            f"'{error.peer}' has sealed the contributions: every owner has contributed, and nothing can be replaced "
            "any more. What was acknowledged before counts. `cofit status` tells how far the study has got."
        )
    return StateError(f"'{error.peer}' refused: {error.text}")
