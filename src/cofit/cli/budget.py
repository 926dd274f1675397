"""``cofit budget``: what an owner's data sets have spent, and how much they may."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from cofit.errors import InvalidInputError, parameter_error
from cofit.roles.contributing import LEDGER, open_ledger
from cofit.roles.ledger import Cap, Ledger
from cofit.roles.owner_directory import ENDING, owner_directory

_FIRST_DELTA = Fraction(1, 100_000)


@click.command()
@click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    help="The owner's private directory.  [default: beside the key; without --key, the only ./*.state]",
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
    help="The most that all studies may spend of the data set. Without DELTA it stays as it is, at first 1e-5.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def budget(state: Path | None, key: Path | None, dataset: str | None, set_cap: str | None, as_json: bool) -> None:
    """Show the ledger of an owner: the charges of each data set, their sums, and the cap; or set the cap.

    Every study that an owner contributes to is charged once, before anything is sent, and once more if its parties
    have begun anew with empty state: they could release a second time. Epsilons and deltas add up (basic
    composition, which always holds). A contribution that would exceed the cap is refused.
    """
    if state is not None and key is not None:
        raise InvalidInputError("Give either --state or --key.")
    folder = state or (_only_state() if key is None else owner_directory(key.stem, key, Path()))
    if set_cap is not None:
        _set_cap(folder, dataset, set_cap)
    facts = _facts(folder, dataset)
    if as_json:
        click.echo(json.dumps({"state": str(folder), "datasets": facts}))
        return
    if not facts:
        click.echo(f"Nothing was spent, and no cap is set, in {folder / LEDGER}.")
    for one in facts:
        _print(Console(markup=False, highlight=False), one)


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
    ledger = open_ledger(state)
    before = ledger.cap(name)
    delta = rest[0] if rest else _FIRST_DELTA if before is None else before.delta
    ledger.set_cap(name, epsilon, delta)


def _facts(state: Path, dataset: str | None) -> list[dict[str, Any]]:
    if not (state / LEDGER).exists():
        return []
    ledger = Ledger(state / LEDGER)
    names = ledger.datasets()
    if dataset is not None and dataset not in names:
        raise parameter_error("dataset", "cofit budget", f"one of {names}", dataset)
    return [_of(ledger, name) for name in names if dataset in (None, name)]


def _of(ledger: Ledger, name: str) -> dict[str, Any]:
    cap, spent = ledger.cap(name), ledger.spent(name)
    left = None if cap is None else Cap(cap.epsilon - spent.epsilon, cap.delta - spent.delta)
    return {
        "dataset": name,
        "charges": [
            {
                "study": charge.name,
                "hash": charge.study,
                "time": charge.time,
                "incarnations": list(charge.incarnations),
                "epsilon": float(charge.epsilon),
                "delta": float(charge.delta),
            }
            for charge in ledger.charges(name)
        ],
        **{
            key: None if sums is None else {"epsilon": float(sums.epsilon), "delta": float(sums.delta)}
            for key, sums in (("spent", spent), ("cap", cap), ("left", left))
        },
    }


def _print(console: Console, facts: dict[str, Any]) -> None:
    table = Table(
        "study", "hash", "time", "epsilon", "delta", title=f"Data set '{facts['dataset']}'", title_justify="left"
    )
    for charge in facts["charges"]:
        numbers = f"{charge['epsilon']:g}", f"{charge['delta']:.3g}"
        table.add_row(charge["study"], charge["hash"][:16], charge["time"], *numbers)
    table.add_section()
    for key in ("spent", "cap", "left"):
        sums = facts[key]
        unlimited = "no limit" if key == "left" else "none"
        numbers = (unlimited, unlimited) if sums is None else (f"{sums['epsilon']:g}", f"{sums['delta']:.3g}")
        table.add_row(key, "", "", *numbers)
    console.print(table)
