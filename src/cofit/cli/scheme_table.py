"""The table that helps to choose a scheme."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cofit.learn.comparison import Choice
from cofit.learn.forecast import LOCAL_LATENCY
from cofit.units import duration, size

_WORDS = {"scheme": 6, "who computes": 9, "adversary tolerated": 9, "corrupted at most": 9}
"""The columns of words, with the length of their longest word."""
_NUMBERS = ("rounds an\nepoch", "sent an\nepoch", "run,\nabout")
_WHOLE_WORDS = 80
"""Terminals from this width on have room for whole words; below, words are broken, and nothing is left out."""


def choice_table(choices: Sequence[Choice], what: str, chosen: str | None = None) -> Table:
    """Return a table of schemes for one plan; ``what`` says which, ``chosen`` is the one of the plan."""
    table = Table(title=f"Schemes for {what}", title_justify="left", caption_justify="left")
    table.caption = (
        f"Rounds and bytes are counted; times are estimates for two cores and a latency of {duration(LOCAL_LATENCY)}."
    )
    whole = Console().width >= _WHOLE_WORDS
    for name, width in _WORDS.items():
        table.add_column(name, overflow="fold", min_width=width if whole else None)
    for name in _NUMBERS:
        table.add_column(name, overflow="fold", justify="right", no_wrap=whole)
    for one in choices:
        style = "bold" if one.scheme == chosen else ""
        marked = f"{one.scheme} (this study)" if one.scheme == chosen else one.scheme
        numbers = (f"{one.rounds_per_epoch:,}", size(one.bytes_per_epoch), duration(one.seconds))
        words = (marked, one.members, one.adversary.partition(":")[0], re.sub(r" \(.*?\)", "", one.threshold))
        table.add_row(*(Text(word, style) for word in (*words, *numbers)))
    return table
