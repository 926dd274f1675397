"""What is wrong with an owner's table: collected, and reported together.

The messages show rows and values, because the owner must find and mend them. They are for the owner's own terminal:
nothing may send them to anybody or write them to a log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError

MOST_SHOWN = 20
_LONGEST_VALUE = 60


class TableError(InvalidInputError):
    """An owner's table does not fit the study. **The message contains data**: print it at the owner, nowhere else."""


class Problems:
    """A list of problems of one table; the first twenty are told, all are counted."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._told: list[str] = []
        self._count = 0
        self.keys: Sequence[str | None] | None = None
        """The row keys, once they are known: messages then name them beside the row's number."""

    def add(self, problem: str) -> None:
        """Note one problem of the whole table."""
        self._count += 1
        if len(self._told) < MOST_SHOWN:
            self._told.append(problem)

    def add_cells(self, column: str, bad: npt.NDArray[np.bool_], tell: Callable[[int], str]) -> None:
        """Note one problem for every row of ``column`` that is marked; ``tell(i)`` describes that of row index i."""
        rows = np.flatnonzero(bad)
        for i in rows[: MOST_SHOWN - len(self._told)].tolist():
            self._told.append(f"column '{column}', {self.row(i)}: {tell(i)}")
        self._count += len(rows)

    def row(self, index: int) -> str:
        """Return how people find a row: its number, counted from 1 below the header, and its key if it has one."""
        key = None if self.keys is None else self.keys[index]
        return f"row {index + 1}" + ("" if key is None else f" (key {shown(key)})")

    def raise_any(self) -> None:
        """Raise TableError if there is a problem."""
        if not self._count:
            return
        title = "one problem" if self._count == 1 else f"{self._count} problems"
        more = self._count - len(self._told)
        lines = [*self._told, *([f"and {more} more"] if more else [])]
        raise TableError(f"{self._table} has {title}:" + "".join(f"\n  - {line}" for line in lines))


def shown(value: object) -> str:
    """Return a value for a message, shortened where it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "..."
