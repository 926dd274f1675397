"""What a contribution costs its owner: shown before anything is charged or sent, and agreed to by a person."""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import click

from cofit.cli.release_table import names_of
from cofit.errors import InvalidInputError
from cofit.roles.files.ledger import Cap, Ledger
from cofit.roles.jobs.job import ReleasePolicy
from cofit.roles.owner.contribute import LEDGER, NO_MEMORY, PreparedContribution, charge_due

_NOTHING = "Nothing was charged or sent."


@dataclass(frozen=True)
class Account:
    """A contribution, and the data set in an owner's ledger that it is charged to."""

    contribution: PreparedContribution
    policy: ReleasePolicy
    state: Path
    dataset: str

    @property
    def cost(self) -> Cap:
        """What the study costs."""
        return Cap(self.policy.epsilon, self.policy.delta)

    @property
    def spent(self) -> Cap:
        """What all studies have cost so far."""
        return Ledger(self._path).spent(self.dataset) if self._path.exists() else Cap(Fraction(0), Fraction(0))

    @property
    def cap(self) -> Cap | None:
        """What they may, if that is limited."""
        return Ledger(self._path).cap(self.dataset) if self._path.exists() else None

    def due(self, parties: Collection[str] | None = None) -> bool:
        """Whether something is charged now; raises where that would exceed the cap. parties: as ``charge_due``."""
        return not self._path.exists() or charge_due(Ledger(self._path), self.contribution, self.dataset, parties)

    @property
    def _path(self) -> Path:
        return self.state / LEDGER


def show_charge(account: Account, study: Path) -> None:
    """Say what is charged, and the ledger before and after; raise if the cap would be exceeded."""
    due = account.due()
    click.echo(f"\nThe charge to data set '{account.dataset}' in the ledger {account.state / LEDGER}")
    click.echo(f"  one for all noisy releases of the study: {names_of(account.policy.releases)}")
    if due:
        click.echo(f"  {_in_words(account.cost)}")
    else:
        click.echo(
            f"  was made before, with {_in_words(account.cost)}; nothing more is due. "
            "It is charged again if a party lost its state"
        )
    _show_sums(account, due)
    if account.state.resolve().is_relative_to(study.resolve().parent):
        click.echo("  The ledger is in the folder of the study's file: keep it when you delete that folder.")


def show_if_again(account: Account, parties: Collection[str]) -> None:
    """Say that the study is charged once more, if these parties lost their state."""
    if account.due(parties) and not account.due():
        click.echo(f"\n{NO_MEMORY}. It is charged once more: {_in_words(account.cost)}")
        _show_sums(account, due=True)


def confirm_charge(account: Account, parties: Collection[str]) -> None:
    """Let a person agree to what was shown."""
    due = f"Charge {_in_words(account.cost)} to '{account.dataset}' and send" if account.due(parties) else "Send"
    try:
        agreed = click.confirm(f"\n{due} the shares?")
    except click.Abort:
        raise KeyboardInterrupt(_NOTHING) from None
    if not agreed:
        click.echo(_NOTHING)
        raise click.exceptions.Exit(1)


def check_person() -> None:
    """Raise unless somebody can see what is shown, and answer."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInputError(
            "A contribution spends privacy budget, and there is no terminal on which to agree to that. Read what it "
            f"costs above, and repeat the command with --yes. {_NOTHING}"
        )


def _show_sums(account: Account, due: bool) -> None:
    before, cost, cap = account.spent, account.cost, account.cap
    after = Cap(before.epsilon + cost.epsilon, before.delta + cost.delta) if due else before
    limit = "no cap (`cofit budget --set-cap`)" if cap is None else f"the cap is {_in_words(cap)}"
    click.echo(f"  spent before: {_in_words(before)}")
    click.echo(f"  spent after:  {_in_words(after)}; {limit}")


def _in_words(sums: Cap) -> str:
    return f"epsilon {float(sums.epsilon):g}, delta {float(sums.delta):.2g}"
