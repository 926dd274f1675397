"""An owner's table whose features are one sparse matrix: checked and encoded without making it dense.

The matrix has this owner's features as columns, in the study's order; the label, the weights and the row key are
ordinary columns beside it. What a cell of a dense table may not be, an entry of the matrix may not be either, and what
it does not store are zeros, which must lie within the bounds of their column as well. Categories have no such form: a
study whose owners hold sparse data has a boolean or a number for each value.

Nothing is scaled here: ``SparseRows`` maps numbers from their bounds to [-1, 1] as its rows are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import csr_array

from cofit.learn.bounds import beyond
from cofit.learn.sparse_rows import SparseRows
from cofit.study.document import Feature
from cofit.study.problems import INFINITE, MISSING, OUT_OF_BOUNDS, UNKNOWN_VALUE, Problems

Reals = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
_FILL_IN = "fill it in, remove the row, or agree on a value for 'missing' in the study"


@dataclass(frozen=True, repr=False, eq=False)
class SparseTable:
    """``matrix``: the features; ``others``: all other columns, with as many rows."""

    matrix: csr_array
    others: pa.Table

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return int(self.matrix.shape[0])

    def __repr__(self) -> str:
        return f"<SparseTable, features {self.matrix.shape}, {len(self.others.column_names)} other columns>"


def encode_matrix(features: Sequence[Feature], matrix: csr_array, problems: Problems) -> SparseRows | None:
    """Return the rows of a matrix with a column for each feature; note what does not fit. None for categories."""
    categories = [feature.name for feature in features if feature.type == "category"]
    for name in categories:
        problems.add(
            f"column '{name}' is a category, which a sparse matrix cannot hold; give a table of named columns, or "
            f"agree on a boolean for each value"
        )
    if categories:
        return None
    entries = _Entries(features, matrix)
    entries.check(problems)
    clean = csr_array((entries.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    return SparseRows(clean, entries.lower, entries.upper, entries.boolean if entries.boolean.any() else None)


class _Entries:
    """What a matrix stores, each entry with what the study says of its column."""

    def __init__(self, features: Sequence[Feature], matrix: csr_array) -> None:
        self.features, self.matrix = features, matrix
        self.boolean: Mask = np.array([feature.type == "boolean" for feature in features], dtype=np.bool_)
        self.lower: Reals = np.where(self.boolean, 0.0, [feature.lower for feature in features])
        self.upper: Reals = np.where(self.boolean, 1.0, [feature.upper for feature in features])
        filled = np.array([np.nan if one.missing is None else float(one.missing) for one in features])
        given: Reals = np.asarray(matrix.data, dtype=np.float64)
        self.data: Reals = np.where(np.isnan(given), filled[matrix.indices], given)

    def check(self, problems: Problems) -> None:
        """Note entries that are missing, infinite, unknown or out of bounds, column by column."""
        columns, data = self.matrix.indices, self.data
        missing, infinite = np.isnan(data), np.isinf(data)
        boolean = self.boolean[columns]
        unknown = boolean & ~missing & (data != 0) & (data != 1)
        out = beyond(data, self.lower[columns], self.upper[columns]) & ~infinite & ~boolean
        stored = np.bincount(columns, minlength=len(self.features))
        zeros_out = beyond(np.zeros(len(self.features)), self.lower, self.upper) & (stored < self.matrix.shape[0])
        wrong = np.unique(np.concatenate([columns[missing | infinite | unknown | out], np.flatnonzero(zeros_out)]))
        for place in wrong.tolist():
            feature, here = self.features[place], columns == place
            rows = np.searchsorted(self.matrix.indptr, np.flatnonzero(here), side="right") - 1
            for marked, kind, remedy in (
                (missing, MISSING, f"the value is missing; {_FILL_IN}"),
                (infinite & ~boolean, INFINITE, f"it is not finite; {_FILL_IN}"),
                (unknown, UNKNOWN_VALUE, "it is neither 0 nor 1"),
            ):
                problems.add_cells(feature.name, self._rows(rows, marked[here]), kind, remedy)
            beyond_bounds = self._rows(rows, out[here])
            if zeros_out[place]:
                beyond_bounds |= ~self._rows(rows, np.ones(len(rows), dtype=np.bool_))
            if feature.clip and beyond_bounds.any():
                problems.moved[feature.name] = int(beyond_bounds.sum())
            elif not feature.clip:
                remedy = (
                    f"it is beyond the agreed bounds {feature.lower:g} to {feature.upper:g} (what a sparse matrix does "
                    f"not store is 0); correct it, or agree on other bounds or on clip = true"
                )
                problems.add_cells(feature.name, beyond_bounds, OUT_OF_BOUNDS, remedy)

    def _rows(self, rows: npt.NDArray[Any], marked: Mask) -> Mask:
        """Return which rows of the table are those of the marked entries of a column."""
        result = np.zeros(self.matrix.shape[0], dtype=np.bool_)
        result[rows[marked]] = True
        return result
