"""``cofit forget``: delete the shares that a party holds of a study."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from cofit.errors import InvalidInputError, StateError
from cofit.roles.files.audit import AuditFile
from cofit.roles.files.directory_kinds import PARTY_FACTS
from cofit.roles.files.state_directory import holder_of
from cofit.roles.files.studies import load_agreement
from cofit.roles.party.state import PartyState
from cofit.study.agreement import Agreement
from cofit.study.document import Study


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--name", help="The party, as the study calls it.  [default: whose state it is]")
@click.option(
    "--state",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Its state directory; the party must not be running.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--force", is_flag=True, help="Delete even if the model is not released: then it never will be.")
def forget(study: Path, name: str | None, state: Path, yes: bool, force: bool) -> None:
    """Delete the shares that a party holds of STUDY: of the data, of checkpoints, and of the release.

    The model, the facts, the ledger and the audit log stay, and the log says what was done; the party can still
    answer analysts. It cannot take part in this study again: delete when every party has the model. A model that stays
    shared goes with the shares, and no client is answered any more. Files are removed, not overwritten; on most disks
    and in backups, what was deleted can be found until its place is used again.

    \b
    Example:
        cofit forget study.toml --state party-a.party

    Exit codes: 0 deleted, 1 refused, 2 wrong usage or input.
    """
    loaded = load_agreement(study)
    if not (state / PARTY_FACTS).is_file():
        raise InvalidInputError(f"'{state}' is no state directory of a party.")
    name = holder_of(state) if name is None else name
    if name not in [party.name for party in loaded.parties]:
        raise InvalidInputError(f"'{name}' is no computing party of study '{loaded.name}'.")
    with contextlib.closing(PartyState(state, loaded.hash, name)) as kept:
        if kept.phase not in ("released", "failed") and not force:
            raise StateError(
                f"The model is not released yet ({kept.phase}): without the shares of this party it never will be. "
                "Wait for the release, or give --force to end the study."
            )
        if not yes:
            click.confirm(f"Delete all shares of study '{loaded.name}' in {state}?", abort=True)
        with contextlib.closing(AuditFile(kept.directory / "audit.jsonl")) as audit:
            audit.write("forgetting shares", phase=kept.phase)
            kept.forget_shares()
            audit.write("shares forgotten")
    click.echo(f"The shares of study '{loaded.name}' in {state} are deleted. {_what_stays(loaded)}")


def _what_stays(study: Agreement) -> str:
    if isinstance(study, Study) and study.release.shared:
        return "With them the model is gone, and no client is answered any more. The ledger and the log stay."
    return f"The {'model' if isinstance(study, Study) else 'results'}, the ledger and the log stay."
