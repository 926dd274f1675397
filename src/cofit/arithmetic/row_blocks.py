"""Tables that never exist as a whole: their rows are made a block at a time, again whenever somebody asks for them.

Owners with sparse data share dense values, and have no memory for them. What is done to a row before it is shared
depends on that row and on public numbers alone, so that it can be done to some rows at once as well, and every block of
the result follows from the same rows of the source. Nothing is kept but the source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import numpy.typing as npt

from cofit.arithmetic.fixed import FixedPoint
from cofit.arithmetic.ring import RingArray
from cofit.errors import InvalidInputError

BLOCK_BYTES = 2 << 20
Change = Callable[[npt.NDArray[Any], int], npt.NDArray[Any]]
"""From some rows, and the place of the first of them in the table, to what becomes of them."""


class RowBlocks(ABC):
    """A table of two dimensions. ``rows[a:b]`` are some of its rows as an array."""

    ndim = 2

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @abstractmethod
    def __getitem__(self, rows: slice) -> npt.NDArray[Any]:
        """Return these rows, one after the other."""

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("These rows do not fit into memory together. Take some of them: rows[a:b].")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, shape {self.shape}>"

    def blocks(self) -> Iterator[npt.NDArray[Any]]:
        """Yield all rows, so many at a time that they have about 2 MiB as numbers of 8 bytes."""
        step = block_rows(self.shape[1])
        return (self[start : start + step] for start in range(0, len(self), step))

    def then(self, change: Change, cols: int | None = None) -> RowBlocks:
        """Return what ``change`` makes of every row. cols: how many columns that has, if it is another number."""
        return _Changed(self, change, self.shape[1] if cols is None else cols)


@dataclass(frozen=True, repr=False, eq=False)
class _Changed(RowBlocks):
    source: RowBlocks
    change: Change
    cols: int

    @property
    def shape(self) -> tuple[int, int]:
        """As many rows as the source has."""
        return len(self.source), self.cols

    def __getitem__(self, rows: slice) -> npt.NDArray[Any]:
        return self.change(self.source[rows], rows.indices(len(self))[0])


def encoded_blocks(rows: RowBlocks, format: FixedPoint, bound: float) -> RowBlocks:
    """Return real numbers of magnitude at most ``bound`` as elements of the ring; errors name a place in the table."""
    return rows.then(partial(_encoded, format, bound))


def _encoded(format: FixedPoint, bound: float, block: npt.NDArray[Any], first_row: int) -> RingArray:
    try:
        return format.encode(block, bound)
    except InvalidInputError as error:
        raise type(error)(f"In the rows from {first_row} on, counted from there: {error}") from None


def block_rows(cols: int) -> int:
    """Return how many rows of so many columns make a block."""
    return max(1, BLOCK_BYTES // max(1, 8 * cols))
