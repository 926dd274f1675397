"""What is wrong with an owner's table: collected, counted by column, and reported together.

The messages name columns and rows, because the owner must find and mend them, and no value. Which rows are wrong still
is something about the data: the messages are for the owner's own terminal, and nothing may send them to anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError

MISSING = "missing", "missing"
INFINITE = "infinite", "infinite"
OUT_OF_BOUNDS = "out of bounds", "out of bounds"
REPEATED = "repeated", "repeated"
NO_NUMBER = "that is no number", "that are no numbers"
NOT_WHOLE = "that is no whole number", "that are no whole numbers"
DATE = "date or time", "dates or times"
UNKNOWN_VALUE = "unknown value", "unknown values"
"""What entries of a column can be: one, and several."""
MOST_SHOWN = 20
MOST_ROWS = 5
_LONGEST_VALUE = 60


class TableError(InvalidInputError):
    """An owner's table does not fit the study. **The message tells something about the data**: columns and rows without
    their values, and row keys where other owners lack them. Print it at the owner, nowhere else."""


@dataclass(frozen=True)
class _Cells:
    """Entries of one column that are wrong in one way."""

    column: str
    kind: tuple[str, str]
    rows: int
    told: str


class Problems:
    """The problems of one table. All are counted, by column; the first twenty kinds are told with examples.

    moved: no problem, but worth a word to the owner: how many values of a column ``clip`` moved to a bound. agreed: the
    study is over, so that no remedy is to agree on another one.
    """

    def __init__(self, table: str, *, agreed: bool = False) -> None:
        self.agreed = agreed
        self.moved: dict[str, int] = {}
        self._table = table
        self._whole: list[str] = []
        self._cells: list[_Cells] = []

    def add(self, problem: str) -> None:
        """Note one problem of the whole table, or of a whole column."""
        self._whole.append(problem)

    def add_cells(self, column: str, bad: npt.NDArray[np.bool_], kind: tuple[str, str], remedy: str) -> None:
        """Note the entries of ``column`` that are marked; ``kind``: what one is and what several are."""
        rows = np.flatnonzero(bad)
        if not len(rows):
            return
        shown = [f"{i + 1:,}" for i in rows[:MOST_ROWS].tolist()]
        if more := len(rows) - len(shown):
            which = f"rows {', '.join(shown)} and {more:,} more"
        else:
            which = "row " + shown[0] if len(shown) == 1 else f"rows {', '.join(shown[:-1])} and {shown[-1]}"
        self._cells.append(_Cells(column, kind, len(rows), f"column '{column}', {which}: {remedy}"))

    def raise_any(self) -> None:
        """Raise TableError if there is a problem."""
        count = len(self._whole) + sum(cells.rows for cells in self._cells)
        if not count:
            return
        title = "one problem" if count == 1 else f"{count:,} problems"
        summary = self._summary()
        told = [*self._whole, *(cells.told for cells in self._cells)]
        lines = told[:MOST_SHOWN]
        if more := len(told) - len(lines):
            lines.append(f"and {more:,} more of this kind")
        begins = f"{self._table} has {title}" + (f": {summary}." if summary else ":")
        raise TableError(begins + "".join(f"\n  - {line}" for line in lines))

    def _summary(self) -> str:
        """Return what is wrong with how many entries, column by column: "creatinine: 812 missing; ward: 3 unknown"."""
        columns: dict[str, list[str]] = {}
        for cells in self._cells:
            columns.setdefault(cells.column, []).append(f"{cells.rows:,} {cells.kind[cells.rows > 1]}")
        parts = [f"{column}: {', '.join(kinds)}" for column, kinds in columns.items()]
        more = len(parts) - MOST_SHOWN
        return "; ".join(parts[:MOST_SHOWN]) + (f"; and {more:,} more columns" if more > 0 else "")


def shown(value: object) -> str:
    """Return a value for a message, shortened where it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "..."


def quoted(value: object) -> str:
    """Return an agreed value for a message: a text in quotation marks, everything else as it is."""
    return f"'{value}'" if isinstance(value, str) else str(value)


def listed(words: Sequence[str]) -> str:
    """Return agreed values for a message, the first ten of them."""
    return ", ".join(words[:10]) + (f" and {len(words) - 10} more" if len(words) > 10 else "")
