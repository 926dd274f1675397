"""What columns of features must be: numbers. What is none is refused by the column's name, and no value is shown.

Python's and scikit-learn's own messages ("could not convert string to float: 'Smith'") print a value of a patient into
a notebook or a log. So tables are looked at here first: of pandas, polars, Arrow and NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from cofit.errors import InvalidInputError
from cofit.learn.sparse_rows import SparseRows, first_wrong, sparse_rows

_CATEGORY = ("category", "categorical", "enum", "dictionary")
_TIME = ("date", "time", "duration", "period", "timestamp")
_MISSING = ("NoneType", "NAType", "NaTType")

_ENCODE = (
    "make one column of 0 and 1 of each value that everybody agreed on, as with OneHotEncoder(categories=[[...]]) of "
    "scikit-learn"
)
_REMEDIES = {
    "categories": f"If its values are numbers, convert it (.astype(float)); otherwise {_ENCODE}.",
    "dates or times": "Give numbers, as the days since a date that everybody agreed on.",
    "text": f"If it is meant as numbers, convert it (pandas.to_numeric); otherwise {_ENCODE}.",
}
_OBJECTS = "The argument must be free of strings and other objects: numbers only."
_FILL_IN = "Remove these rows, or fill in a value that everybody agreed on beforehand."

Result = TypeVar("Result")


class NotNumbersError(InvalidInputError, TypeError):
    """A column holds objects that are neither numbers nor texts."""


def column_names(table: Any) -> tuple[str, ...] | None:
    """Return the names of a table's columns if all are texts, as scikit-learn does; else None."""
    names = getattr(table, "column_names", None)  # of Arrow, where ``columns`` are the columns themselves
    if names is None:
        names = getattr(table, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return tuple(str(name) for name in names)


def refuse_other_than_numbers(table: Any, whose: str) -> None:
    """Raise InvalidInputError if a column is text, dates, categories or other objects. whose: how the message begins.

    What has another shape than a table, and NaN, are left to others.
    """
    found: dict[str, list[str]] = {}
    for name, column in _columns(table):
        kind = _other_kind(column)
        if kind is not None:
            found.setdefault(kind, []).append(name)
    if not found:
        return
    text = f"{whose}: features must be numbers."
    for kind, names in found.items():
        text += f" Column{'s' if len(names) > 1 else ''} {', '.join(names)}: {kind}. {_REMEDIES.get(kind, _OBJECTS)}"
    raise (InvalidInputError if set(found) <= set(_REMEDIES) else NotNumbersError)(text)


def without_values(whose: str, check: Callable[[], Result]) -> Result:
    """Return what ``check`` returns; a ValueError of it becomes an InvalidInputError that shows no array.

    The new error has no memory of the old one (``__context__``), because tools that report errors print both.
    """
    try:
        return check()
    except ValueError as error:
        first, *others = str(error).splitlines()
        text = first.rstrip(":.") if not first.startswith("could not convert") else "features must be numbers"
        if any("Reshape your data" in line for line in others):
            text += ". Reshape your data: X.reshape(1, -1) if it is one row, X.reshape(-1, 1) if it is one column"
    begins = "" if text.startswith(f"{whose} ") else f"{whose}: "
    raise InvalidInputError(f"{begins}{text}.")


def refuse_missing(values: npt.NDArray[Any], names: tuple[str, ...] | None, whose: str) -> None:
    """Raise InvalidInputError if numbers are NaN or infinite: the first such column, how many, and the first row."""
    bad = ~np.isfinite(values)
    counts = bad.sum(axis=0)
    if counts.any():
        place = int(np.argmax(counts > 0))
        name = str(place) if names is None else repr(names[place])
        first = int(np.argmax(bad[:, place]))
        raise InvalidInputError(_missing_text(whose, name, int(counts[place]), first, len(values)))


def _missing_text(whose: str, column: str, count: int, first: int, rows: int) -> str:
    return (
        f"{whose}: column {column} of the features is NaN or infinite in {count} of {rows} rows, first in row {first} "
        f"(counted from 0). {_FILL_IN}"
    )


def sparse_features(matrix: Any, whose: str) -> SparseRows:
    """Return the rows of a sparse matrix of SciPy's, or refuse what it holds, with what no dense table may hold."""
    rows = without_values(whose, lambda: sparse_rows(check_array(matrix, accept_sparse="csr", ensure_all_finite=False)))
    found = first_wrong(rows.matrix, ~np.isfinite(rows.matrix.data))
    if found is not None:
        raise InvalidInputError(_missing_text(whose, str(found[0]), *found[1:], len(rows)))
    return rows


def missing_objects(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which entries of an array of objects are None, NaN, NaT or pandas' NA; none of any other array."""
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=np.bool_)
    return np.array([type(v).__name__ in _MISSING or (isinstance(v, float) and v != v) for v in values], dtype=np.bool_)  # noqa: PLR0124


def _columns(table: Any) -> Iterator[tuple[str, Any]]:
    """Yield every column with what to call it; nothing for what is no table."""
    if hasattr(table, "iloc") and hasattr(table, "columns"):  # pandas
        for i, name in enumerate(table.columns):
            yield repr(name), table.iloc[:, i]
    elif hasattr(table, "get_columns"):  # polars
        for column in table.get_columns():
            yield repr(column.name), column
    elif hasattr(table, "column_names"):  # Arrow
        for name, column in zip(table.column_names, table.columns, strict=True):
            yield repr(name), column
    elif not hasattr(table, "toarray"):  # sparse matrices hold numbers
        try:
            array = np.asarray(table)
        except ValueError:  # rows of different lengths
            return
        if array.ndim == 2 and array.dtype.kind in "USOmM":
            cells = np.asarray(table, dtype=object)
            names = column_names(table)
            for i in range(array.shape[1]):
                yield str(i) if names is None else repr(names[i]), cells[:, i]


def _other_kind(column: Any) -> str | None:
    """Return what a column holds, if it holds anything but numbers and missing values."""
    declared = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
    if declared.startswith(_CATEGORY):
        return "categories"
    if declared.startswith(_TIME):
        return "dates or times"
    values = np.asarray(column)
    if values.dtype.kind in "mM":
        return "dates or times"
    for value in values.tolist() if values.dtype.kind in "USO" else ():
        if isinstance(value, str | bytes):
            return "text"
        if isinstance(value, date | time | timedelta):
            return "dates or times"
        if not isinstance(value, Real | Decimal) and type(value).__name__ not in _MISSING:
            return f"objects of the type {type(value).__name__}"
    return None
