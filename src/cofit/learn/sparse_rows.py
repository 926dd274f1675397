"""Rows that an owner holds as a sparse matrix: dense a block at a time, and never all of them.

What is shared is dense, since the places of zeros are data too. It is made, as it is sent, from the matrix that the
owner has anyway (``arithmetic.row_blocks``), so that its memory is that matrix and a few blocks of 2 MiB. The values
are those of the dense table, to the last bit: the same functions are applied to the same rows.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic.row_blocks import RowBlocks
from cofit.learn.bounds import scaled_by_bounds

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array  # slow to import, and no party needs it

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class SparseRows(RowBlocks):
    """``lower``, ``upper``: bounds by which columns are mapped to [-1, 1]; None: as they are. ``plain``: the columns,
    of those with bounds, that are not mapped."""

    matrix: csr_array
    lower: Reals | None = None
    upper: Reals | None = None
    plain: npt.NDArray[np.bool_] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """That of the matrix."""
        rows, cols = self.matrix.shape
        return int(rows), int(cols)

    def __getitem__(self, rows: slice) -> Reals:
        return self._mapped(self.matrix[rows].toarray().astype(np.float64), slice(None))

    def take(self, order: npt.NDArray[np.int64]) -> SparseRows:
        """Return these rows in this order."""
        return replace(self, matrix=self.matrix[order])

    def cells(self, rows: npt.NDArray[np.int64], columns: slice) -> Reals:
        """Return these columns of these rows."""
        return self._mapped(self._by_column[:, columns].tocsr()[rows].toarray().astype(np.float64), columns)

    def ends(self, columns: slice) -> tuple[Reals, Reals]:
        """Return the smallest and the largest value of these columns, over all rows, of which there is one."""
        block = self._by_column[:, columns]
        found = [end(axis=0).toarray().astype(np.float64).reshape(1, -1) for end in (block.min, block.max)]
        lowest, highest = (self._mapped(one, columns)[0] for one in found)
        return lowest, highest

    @cached_property
    def _by_column(self) -> csc_array:
        return self.matrix.tocsc()

    def _mapped(self, block: Reals, columns: slice) -> Reals:
        if self.lower is None or self.upper is None:
            return block
        scaled = scaled_by_bounds(block, self.lower[columns], self.upper[columns])
        return scaled if self.plain is None else np.where(self.plain[columns], block, scaled)


FeatureTable = npt.NDArray[Any] | SparseRows
"""An owner's features."""


def sparse_rows(matrix: Any) -> SparseRows:
    """Return the rows of any sparse matrix of SciPy's."""
    from scipy.sparse import csr_array  # noqa: PLC0415

    rows = csr_array(matrix)
    rows.sum_duplicates()
    return SparseRows(rows)


def is_sparse(table: Any) -> bool:
    """Whether it is one of SciPy's sparse matrices or arrays."""
    scipy = sys.modules.get("scipy.sparse")  # whoever has one has imported it
    return scipy is not None and bool(scipy.issparse(table))


def first_wrong(matrix: csr_array, wrong: npt.NDArray[np.bool_]) -> tuple[int, int, int] | None:
    """Return the first column that has a wrong entry, how many it has, and the first row of them; None without any.

    wrong: of the entries that the matrix stores, in its order.
    """
    places = np.flatnonzero(wrong)
    if not len(places):
        return None
    columns = matrix.indices[places]
    column = int(columns.min())
    rows = np.searchsorted(matrix.indptr, places[columns == column], side="right") - 1
    return column, len(rows), int(rows.min())
