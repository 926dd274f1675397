"""The table that helps to choose a scheme."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from cofit.learn.comparison import Choice


def choice_table(choices: Sequence[Choice], what: str, chosen: str | None = None) -> Table:
    """Return a table of schemes for one plan; ``what`` says which, ``chosen`` is the one of the plan."""
    table = Table(title=f"Schemes for {what}", title_justify="left", caption_justify="left")
    table.caption = "Rounds and bytes of an epoch are exact; seconds of the whole run are an estimate for two cores."
    for name in ("scheme", "who computes", "holds against", "corrupted at most", "rounds", "bytes an epoch", "seconds"):
        number = name in _NUMBERS
        table.add_column(name, justify="right" if number else "left", no_wrap=number, overflow="fold")
    for one in choices:
        style = "bold" if one.scheme == chosen else ""
        marked = f"{one.scheme} (this study)" if one.scheme == chosen else one.scheme
        numbers = (f"{one.rounds_per_epoch:,}", f"{one.bytes_per_epoch:,}", f"{one.seconds:.2g}")
        words = (marked, one.members, one.adversary.partition(":")[0], re.sub(r" \(.*?\)", "", one.threshold))
        table.add_row(*(Text(word, style) for word in (*words, *numbers)))
    return table


_NUMBERS = ("rounds", "bytes an epoch", "seconds")
