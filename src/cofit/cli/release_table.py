"""The noisy releases of a charge for people: one line of names, or a table; releases that are alike are together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from rich.table import Column, Table
from rich.text import Text

from cofit.privacy.accounted import AccountedRelease


def names_of(releases: Sequence[AccountedRelease]) -> str:
    """Return how many there are and their names in one line, as in '21 (level, step 1 to 20), gaussian noise'."""
    groups = itertools.groupby(releases, lambda release: release.name.rstrip("0123456789"))
    names = ", ".join(_name(list(group)) for _, group in groups)
    noise = " and ".join(dict.fromkeys(release.noise for release in releases))
    return f"{len(releases)} ({names}), {noise} noise"


def release_table(releases: Sequence[AccountedRelease], title: str) -> Table:
    """Return a table that fits 80 columns: neighbours that differ in their name alone share a line, and its share."""
    totals: dict[str, Fraction] = {}
    for release in releases:
        totals[release.currency] = totals.get(release.currency, Fraction(0)) + release.amount
    table = Table(
        *(Column("release", no_wrap=True), "noise", Column("numbers", justify="right")),
        *(Column(name, justify="right") for name in ("sensitivity", "scale", "share")),
        title=Text(title),
        title_justify="left",
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    for _, group in itertools.groupby(releases, lambda release: replace(release, name="any")):
        alike = list(group)
        first = alike[0]
        share = len(alike) * first.amount / totals[first.currency]
        numbers = (_in_units(first.sensitivity, first.grid), _in_units(first.scale, first.grid), f"{float(share):.1%}")
        table.add_row(Text(_name(alike)), first.noise, f"{first.dimension:,}", *numbers)
    return table


def _in_units(steps: Fraction, grid: str) -> str:
    """Return a number of steps of a grid, '2^-k', in units of what is released; as it is if that is no such text."""
    power = grid.removeprefix("2^-")
    return f"{float(steps / (1 << int(power))):.4g}" if power.isdecimal() and len(power) <= 3 else f"{steps} {grid}"


def _name(alike: Sequence[AccountedRelease]) -> str:
    first, last = alike[0].name, alike[-1].name
    return first if len(alike) == 1 else f"{first} to {last.removeprefix(last.rstrip('0123456789'))}"
