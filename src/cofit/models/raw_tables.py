"""Tables as people have them, as Arrow tables: pandas, polars, Arrow and its exporters, or a file.

Only the columns that are asked for are converted, so that others may hold what they like. Errors name columns and
types, and show no value.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from cofit.errors import InvalidInputError
from cofit.roles.files.tables import read_study_table
from cofit.study.document import Feature

_MUST_BE = "a table with named columns (pandas, polars or Arrow), or the path of one (CSV, Parquet, Arrow, .npz)"


def raw_table(given: Any, features: Sequence[Feature], label: str, label_values: Sequence[object] = ()) -> pa.Table:
    """Return the columns of ``given`` that are named, under their names, or raise InvalidInputError.

    A name that is absent is absent in the result too, and one that occurs twice occurs twice.
    """
    if isinstance(given, str | Path):
        return read_study_table(given, features, label, label_values)
    wanted = {*(feature.name for feature in features), label}
    if isinstance(given, pa.Table | pa.RecordBatch):
        table = given if isinstance(given, pa.Table) else pa.Table.from_batches([given])
        return table.select([i for i, name in enumerate(table.column_names) if name in wanted])
    if hasattr(given, "iloc") and hasattr(given, "columns"):  # pandas, whose columns of objects may be anything
        places = [i for i, name in enumerate(given.columns) if name in wanted]
        names = [given.columns[i] for i in places]
        return pa.table([_array(given.iloc[:, i], name) for i, name in zip(places, names, strict=True)], names=names)
    if hasattr(given, "get_columns"):  # polars
        return pa.table(given.select([name for name in given.columns if name in wanted]))
    if hasattr(given, "__arrow_c_stream__"):
        return raw_table(pa.table(given), features, label)
    lazy = " Call its collect() first." if hasattr(given, "collect") else ""
    name_them = " Name its columns: pandas.DataFrame(X, columns=...)." if hasattr(given, "shape") else ""
    raise InvalidInputError(
        f"The 'X' parameter of a study's model must be {_MUST_BE}. Got {type(given).__name__} instead.{lazy}{name_them}"
    )


def _array(column: Any, name: str) -> Any:
    """Return a column of pandas as an Arrow array."""
    try:
        array = pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        array = None
    if array is None:  # outside of the handler: what it caught may show a value
        raise InvalidInputError(
            f"Column '{name}' of the table holds values of different types. Convert it to one type: numbers "
            f"(pandas.to_numeric) or texts (.astype(str))."
        )
    return array
