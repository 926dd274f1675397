"""What a study of a program takes of an owner and opens: shown before anything is sent, and agreed to by a flag of its
own."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import click

from cofit.errors import InvalidInputError
from cofit.roles.files.ledger import Ledger
from cofit.roles.files.program_tables import read_inputs
from cofit.roles.files.text_tables import TextLayout
from cofit.roles.jobs.program import ProgramJob
from cofit.roles.owner.contribute import LEDGER, NO_MEMORY, PreparedContribution, charge_due, prepare_inputs
from cofit.study.agreement import Agreement
from cofit.study.document import Study
from cofit.study.plan import study_plan
from cofit.study.program import ProgramStudy
from cofit.study.program_statement import assumptions, headline, opening_in_words
from cofit.study.served_statement import exact_lines

ACCEPT = "--accept-not-private"
_NOTHING = "Nothing was noted or sent."


def prepared_inputs(study: ProgramStudy, owner: str, data: Path, layout: TextLayout) -> PreparedContribution:
    """Read, check and encode the data of an owner of the study."""
    entry = next(one for one in study.owners if one.name == owner)
    return prepare_inputs(ProgramJob(study), owner, read_inputs(entry, data, layout))


def show_exposure(study: ProgramStudy, contribution: PreparedContribution, state: Path, dataset: str) -> None:
    """Say what the program takes and opens, and what the ledger will list."""
    program = study.program
    click.echo(f"Study '{study.name}', hash {study.hash}")
    click.echo(f"The program is '{program.name}'. Its source, by SHA-256; read it before you agree:")
    for path, digest in program.sources:
        click.echo(f"  {path}  {digest}")
    click.echo("\nWhat it takes of you")
    for name, (facts, _) in contribution.inputs.items():
        click.echo(f"  '{name}' of shape {facts.shape}, at most {facts.bound:g} in magnitude, in {facts.format}")
    click.echo(f"\n{headline(study)}")
    click.echo("\nWhat it opens")
    for opening in program.openings:
        click.echo(f"  {opening_in_words(study, opening)}")
    click.echo("\nNobody learns more if")
    for assumption in assumptions(study):
        click.echo(f"  {assumption}")
    _show_listed(contribution, state, dataset)


def _show_listed(contribution: PreparedContribution, state: Path, dataset: str) -> None:
    ledger = state / LEDGER
    listed = "will list" if _due(contribution, state, dataset) else "lists"
    click.echo(
        f"\nThe ledger {ledger} {listed} this study for data set '{dataset}', without an epsilon: no cap covers it."
    )


def show_exact(study: Study, contribution: PreparedContribution, state: Path, dataset: str) -> None:
    """Say what a study without noise keeps, and answers to whom, and what the ledger will list."""
    for line in exact_lines(study, study_plan(study).opened.count):
        click.echo(line)
    click.echo(f"\nStudy '{study.name}', hash {study.hash}")
    _show_listed(contribution, state, dataset)


def _due(contribution: PreparedContribution, state: Path, dataset: str, parties: Collection[str] | None = None) -> bool:
    """Whether a run by these parties (None: any) is not in the ledger yet."""
    ledger = state / LEDGER
    return not ledger.exists() or charge_due(Ledger(ledger), contribution, dataset, parties)


def check_accepted(study: Agreement, accepted: bool) -> None:
    """Raise InvalidInputError unless the owner has said that it agrees to what is not differentially private."""
    if not accepted:
        raise InvalidInputError(
            f"Study '{study.name}' is not differentially private: what is opened or answered may tell anything about "
            "single records, and no budget covers it. Read above what that is, and to whom. If you agree, repeat the "
            f"command with {ACCEPT}. {_NOTHING}"
        )


def confirm_exposure(
    contribution: PreparedContribution, state: Path, dataset: str, parties: Collection[str], *, ask: bool
) -> None:
    """Say it if these parties have lost the state of an earlier run; let a person agree to what was shown."""
    if _due(contribution, state, dataset, parties) and not _due(contribution, state, dataset):
        click.echo(f"\n{NO_MEMORY}, of values that may have other noise. The ledger lists it once more.")
    if not ask:
        return
    try:
        agreed = click.confirm("\nSend the shares, for what is opened or answered without differential privacy?")
    except click.Abort:
        raise KeyboardInterrupt(_NOTHING) from None
    if not agreed:
        click.echo(_NOTHING)
        raise click.exceptions.Exit(1)
