"""``cofit budget``: what an owner's data sets have spent, on which releases, and how much they may.

Shows a party's ledger too. A list of releases that is damaged is an error after all else was shown: the charges count.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cofit.cli.release_table import names_of, release_table
from cofit.errors import InvalidInputError, parameter_error
from cofit.privacy.strict_fields import encode
from cofit.roles.files.directory_kinds import check_owner_directory
from cofit.roles.files.ledger import Cap, Charge, Exposure, Ledger
from cofit.roles.owner.contribute import LEDGER, open_ledger
from cofit.roles.owner.directory import ENDING, owner_directory
from cofit.roles.party.state import LEDGER as PARTY_LEDGER

_FIRST_DELTA = Fraction(1, 100_000)


@click.command()
@click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    help="The owner's private directory, or a party's state.  [default: beside the key; without --key, the only "
    "./*.state of an owner]",
)
@click.option(
    "--key",
    type=click.Path(path_type=Path),
    help="The owner's private key, NAME.key: the ledger is in NAME.state beside it, where `cofit contribute` has it.",
)
@click.option("--dataset", help="Only this data set.  [with --set-cap, default: NAME, if the directory is NAME.state]")
@click.option(
    "--set-cap",
    metavar="EPSILON[,DELTA]",
    help="The privacy budget of the data set: the most that all studies may spend. Without DELTA, the delta stays as "
    "it is (at first 1e-5).",
)
@click.option("--releases", is_flag=True, help="Show every noisy release of each study: noise, scale, share.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else, with all releases.")
def budget(
    state: Path | None, key: Path | None, dataset: str | None, set_cap: str | None, releases: bool, as_json: bool
) -> None:
    """Show the ledger of an owner: the charges of each data set, their sums, and the cap; or set the cap.

    Every study that an owner contributes to is charged once, before anything is sent, and again if its parties
    lost their state: they could release a second time. Epsilons and deltas add up (basic
    composition, which always holds). A contribution that would exceed the cap is refused.

    A charge is one epsilon and delta for all noisy releases of the study together. The ledger lists them, as the
    certificate does: their names are shown below the charges, all their numbers with --releases.

    Studies that run a program open values without differential privacy: they are listed below, with what they open.

    \b
    Examples:
        cofit budget --key hospital-a.key
        cofit budget --key hospital-a.key --set-cap 3

    Exit codes: 0 all is shown, 2 wrong usage, or a ledger that is damaged.
    """
    if state is not None and key is not None:
        raise InvalidInputError("Give either --state or --key.")
    if key is not None and not key.is_file():
        raise parameter_error("key", "cofit budget", "a file that exists: the ledger is found by it", str(key))
    if state is not None and not state.is_dir():
        must_be = "a directory that exists; for an owner's first ledger give --key instead"
        raise parameter_error("state", "cofit budget", must_be, str(state))
    folder = state or (_only_state() if key is None else _beside(key))
    if set_cap is not None:
        _set_cap(folder, dataset, set_cap)
    accounts = _accounts(folder, dataset)
    if as_json:
        click.echo(json.dumps({"state": str(folder), "datasets": [_plain(account) for account in accounts]}))
    elif not accounts:
        click.echo(f"Nothing was spent, and no cap is set, in {folder / LEDGER}.")
        if others := sorted(path.parent for path in folder.parent.glob(f"*{ENDING}/{LEDGER}") if path.parent != folder):
            click.echo(f"There are other ledgers beside it; --state shows one: {', '.join(map(str, others))}")
    else:
        console = Console(markup=False, highlight=False)
        for account in accounts:
            _print(console, account, releases)
            if account.cap is not None and _exceeds(account.spent, account.cap):
                console.print(
                    f"Of '{account.dataset}' more is spent than the cap allows: no further study is charged.\n"
                )
    for damage in (_damage(charge) for account in accounts for charge in account.charges):
        if damage is not None:
            raise damage


def _beside(key: Path) -> Path:
    """Return the owner's directory beside its key; one of a party that has its name is an error."""
    folder = owner_directory(key.stem, key, Path())
    check_owner_directory(folder)
    return folder


def _only_state() -> Path:
    found = sorted(path.parent for path in Path().glob(f"*{ENDING}/{LEDGER}"))
    if len(found) != 1:
        listed = f": {', '.join(map(str, found))}" if found else ""
        raise InvalidInputError(f"There are {len(found)} ledgers in ./*{ENDING}{listed}. Say which with --state.")
    return found[0]


def _set_cap(state: Path, dataset: str | None, text: str) -> None:
    name = dataset or (state.name.removesuffix(ENDING) if state.name.endswith(ENDING) else "")
    if not name:
        raise InvalidInputError("Say with --dataset which data set the cap is for.")
    must_be = "a positive EPSILON, or EPSILON,DELTA with a delta from 0 to below 1, as in 3 or 3,1e-5"
    parts = text.split(",")
    try:
        epsilon, *rest = (Fraction(part.strip()) for part in parts)
    except (ValueError, ZeroDivisionError):
        raise parameter_error("set-cap", "cofit budget", must_be, text) from None
    if len(rest) > 1 or epsilon <= 0 or not all(0 <= delta < 1 for delta in rest):
        raise parameter_error("set-cap", "cofit budget", must_be, text)
    if _is_of_party(state):
        raise InvalidInputError(f"{state} is the state of a computing party. A cap is set in the ledger of an owner.")
    ledger = open_ledger(state)
    before = ledger.cap(name)
    delta = rest[0] if rest else _FIRST_DELTA if before is None else before.delta
    ledger.set_cap(name, epsilon, delta)


def _exceeds(spent: Cap, cap: Cap) -> bool:
    return spent.epsilon > cap.epsilon or spent.delta > cap.delta


def _is_of_party(state: Path) -> bool:
    return (state / PARTY_LEDGER).exists() and not (state / LEDGER).exists()


@dataclass(frozen=True)
class _Account:
    """What a ledger has of one data set."""

    dataset: str
    charges: list[Charge]
    spent: Cap
    cap: Cap | None
    exposures: list[Exposure]

    @property
    def sums(self) -> dict[str, Cap | None]:
        """What was spent, may be, and is left."""
        spent, cap = self.spent, self.cap
        left = None if cap is None else Cap(cap.epsilon - spent.epsilon, cap.delta - spent.delta)
        return {"spent": spent, "cap": cap, "left": left}


def _accounts(state: Path, dataset: str | None) -> list[_Account]:
    path = state / (PARTY_LEDGER if _is_of_party(state) else LEDGER)
    if not path.exists():
        return []
    ledger = Ledger(path)
    names = ledger.datasets()
    if dataset is not None and dataset not in names:
        raise parameter_error("dataset", "cofit budget", f"one of {names}", dataset)
    shown = [name for name in names if dataset in (None, name)]
    return [
        _Account(name, ledger.charges(name), ledger.spent(name), ledger.cap(name), ledger.exposures(name))
        for name in shown
    ]


def _damage(charge: Charge) -> InvalidInputError | None:
    """Return what is wrong with the list of releases, if anything is."""
    try:
        charge.releases  # noqa: B018 (reading is the check)
    except InvalidInputError as error:
        return error
    return None


def _plain(account: _Account) -> dict[str, Any]:
    """Return what the ledger has of a data set in JSON's types; releases as in a certificate."""
    return {
        "dataset": account.dataset,
        "charges": [
            {
                "study": charge.name,
                "hash": charge.study,
                "time": charge.time,
                "incarnations": list(charge.incarnations),
                "epsilon": float(charge.epsilon),
                "delta": float(charge.delta),
                "releases": encode(charge.releases) if _damage(charge) is None else "damaged",
            }
            for charge in account.charges
        ],
        **({"not_private": [vars(one) for one in account.exposures]} if account.exposures else {}),
        **{
            key: None if sums is None else {"epsilon": float(sums.epsilon), "delta": float(sums.delta)}
            for key, sums in account.sums.items()
        },
    }


def _print(console: Console, account: _Account, in_full: bool) -> None:
    title = f"Data set '{account.dataset}'"
    table = Table("study", "hash", "time (UTC)", "epsilon", "delta", title=title, title_justify="left")
    for charge in account.charges:
        numbers = f"{float(charge.epsilon):g}", f"{float(charge.delta):.3g}"
        table.add_row(charge.name, charge.study[:16], charge.time[:16].replace("T", " "), *numbers)
    table.add_section()
    for key, sums in account.sums.items():
        unlimited = "no limit" if key == "left" else "none"
        numbers = (unlimited, unlimited) if sums is None else (f"{float(sums.epsilon):g}", f"{float(sums.delta):.3g}")
        table.add_row(key, "", "", *numbers)
    console.print(table)
    once = {(charge.study, charge.recorded): charge for charge in account.charges}
    if once:
        console.print("Noisy releases of each study, which its epsilon and delta cover together:")
    for charge in once.values():
        _print_releases(console, charge, in_full)
    if once and in_full:
        console.print(
            "\nSensitivity: how far one record can move a release. Scale: of the noise of each, in the same units. "
            "Share: of the privacy budget, of all releases in a line together."
        )
    _print_exposures(console, account.exposures)
    console.print()


def _print_exposures(console: Console, exposures: list[Exposure]) -> None:
    if exposures:
        console.print("NOT differentially private, so in no sum and under no cap:")
    for one in exposures:
        when = one.time[:16].replace("T", " ")
        console.print(Padding(Text(f"'{one.name}' {one.study[:16]}, {when}"), (0, 0, 0, 2)))
        for line in one.openings:
            console.print(Padding(Text(line), (0, 0, 0, 4)))


def _print_releases(console: Console, charge: Charge, in_full: bool) -> None:
    damaged = _damage(charge) is not None
    releases = None if damaged else charge.releases
    if releases is not None and in_full:
        console.print()
        console.print(release_table(releases, f"'{charge.name}' {charge.study[:16]}: {names_of(releases)}"))
        return
    if damaged:
        told = "DAMAGED in the ledger"
    else:
        told = "not recorded (charged by an earlier version)" if releases is None else names_of(releases)
    console.print(Padding(Text(f"'{charge.name}' {charge.study[:16]}: {told}"), (0, 0, 0, 2)))
