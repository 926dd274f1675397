"""Whether so few rows can make a useful model: from public facts alone, before any budget is spent.

The strength of a plan is the largest margin that its noise cannot hide: how far all records together could move the
score of a row of length 1, over the standard deviation of the noise in that score. With recipe best this is about n mu
/ 2, mu the budget. How much of it a model needs depends on the data. Simulations with made-up rows (d columns, a tenth
as many factors, labels that can be told in 78 % of the cases) came half of the way from chance to that at a strength of
about (15 + 10 sqrt(d)) / 2, for d from 3 to 1000 and epsilon 1 and 3, and were hardly above chance with a third of it.
Columns that have much in common, as those of gene expression, need far less; a rare class needs more, because its few
rows carry the signal. So the figure is a hint, and no bound.
"""

from __future__ import annotations

import math

_LEAST, _PER_ROOT = 7.5, 5.0
_HARDLY = 1 / 3
_DIGITS = 2
MOST = 10**18


def rows_needed(rows: int, cols: int, strength: float) -> int:
    """Return about how many rows make a useful model, for a plan of so many rows that has this strength."""
    return about(rows * wanted_strength(cols) / max(strength, 1e-300))


def about(exact: float) -> int:
    """Return a number of rows with two significant digits, rounded up."""
    if exact > MOST:
        return MOST
    unit: int = 10 ** max(0, len(str(int(max(exact, 1.0)))) - _DIGITS)
    return max(2, math.ceil(exact / unit) * unit)


def wanted_strength(cols: int) -> float:
    """Return the strength of a plan that makes a useful model of so many columns, about."""
    return _LEAST + _PER_ROOT * math.sqrt(cols)


def few_rows(rows: int, cols: int, strength: float, chance: str = "always naming one class") -> tuple[str, ...]:
    """Return a warning where the noise hides nearly all that the rows can say. chance: what needs no model."""
    if strength >= _HARDLY * wanted_strength(cols):
        return ()
    needed = rows_needed(rows, cols, strength)
    columns = f"{cols:,} column{'s' * (cols > 1)}"
    return (
        f"{rows:,} rows with {columns} are few for this epsilon and delta: unless the columns have much in common, "
        f"expect a model that is hardly better than {chance}. A useful model needs about "
        f"{shown(needed)} rows, or a larger epsilon",
    )


def shown(needed: int) -> str:
    """Return a number of rows as people read it."""
    return "10^18 or more" if needed >= MOST else f"{needed:,}"
