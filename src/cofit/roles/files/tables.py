"""Tables on disk: CSV, TSV, Parquet, Arrow or .npz files of one owner.

They are read as they are, and checked by ``cofit.study.encode``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from cofit.errors import InvalidInputError
from cofit.roles.files.plain_arrays import plain_arrays
from cofit.roles.files.sparse_arrays import split_sparse
from cofit.roles.files.text_tables import ANY_LAYOUT, TextLayout, no_rows, read_text_table
from cofit.study.document import Feature, Study
from cofit.study.encode import owner_named
from cofit.study.problems import TableError
from cofit.study.sparse_table import SparseTable

_USUAL_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_SHEETS = {".xls", ".xlsx", ".ods"}
_SUFFIXES = ".csv, .tsv, .parquet, .arrow, .feather or .npz"


def read_owner_table(
    study: Study, owner: str, path: str | Path, layout: TextLayout = ANY_LAYOUT
) -> pa.Table | SparseTable:
    """Read the table of one owner of a study; in an .npz file X and y are its features, in order, and the label.

    A sparse matrix in an .npz file stays one.
    """
    entry = owner_named(study, owner)
    data = study.data
    label = data.label if entry.holds_label else None
    if (sparse := _sparse_table(Path(path), study.features_of(entry), label, layout)) is not None:
        return sparse
    weights = [] if data.weight is None or label is None else [data.weight]
    return read_study_table(path, study.features_of(entry), label, data.label_values, layout, weights)


def read_study_table(
    path: str | Path,
    features: Sequence[Feature],
    label: str | None = None,
    label_values: Sequence[object] = (),
    layout: TextLayout = ANY_LAYOUT,
    weights: Sequence[str] = (),
) -> pa.Table:
    """Read a table in the columns of a study, whose types say which columns hold numbers. label_values: the classes of
    the label; none where it is a number. weights: the column of weights, if there is one."""
    numbers = {feature.name for feature in features if feature.type == "number" or _whole(feature.values)}
    numbers |= set(weights)
    if label is not None and (not label_values or _whole(label_values)):
        numbers.add(label)
    return read_table(
        path, features=[feature.name for feature in features], label=label, numbers=numbers, layout=layout
    )


def read_table(
    path: str | Path,
    *,
    features: Sequence[str] = (),
    label: str | None = None,
    numbers: Collection[str] | None = None,
    layout: TextLayout = ANY_LAYOUT,
) -> pa.Table:
    """Read a table by the ending of its name; raise InvalidInputError with what is wrong and where.

    .csv, .tsv: the first line names the columns; all values stay text, so that nothing is guessed. ``layout`` says what
    stands between columns, the decimal mark of the columns ``numbers``, and the encoding; see
    ``files.text_tables`` for what is found out where it does not. .parquet, .arrow, .feather: with their types.
    .npz: one-dimensional arrays are columns under their names; an array X of two dimensions, or a sparse matrix, which
    becomes dense, holds the columns ``features`` and y is the column ``label``. Pickled arrays are refused.
    """
    file = Path(path)
    if not file.is_file():
        raise InvalidInputError(f"The table must be a file that exists. Got '{file}' instead.")
    table = _read_by_ending(file, features, label, numbers, layout)
    if not table.num_rows:
        raise no_rows(file)
    return table


def _read_by_ending(
    file: Path, features: Sequence[str], label: str | None, numbers: Collection[str] | None, layout: TextLayout
) -> pa.Table:
    suffix = file.suffix.lower()
    if suffix not in _USUAL_SEPARATORS and layout != ANY_LAYOUT:
        raise InvalidInputError(
            f"{', '.join(layout.options[::2])}: only .csv and .tsv files have such. Got '{file}' instead."
        )
    try:
        if suffix in _USUAL_SEPARATORS:
            expected = {*features, *(() if label is None else (label,))}
            return read_text_table(file, layout, usual=_USUAL_SEPARATORS[suffix], expected=expected, numbers=numbers)
        if suffix == ".parquet":
            with pa.parquet.ParquetFile(file) as parquet:
                return parquet.read()
        if suffix in (".arrow", ".feather"):
            return _arrow(file)
        if suffix == ".npz":
            return _npz(file, features, label)
    except pa.ArrowException as error:
        raise TableError(f"'{file}' is not a readable {suffix} file: {str(error).splitlines()[0]}") from None
    except OSError as error:
        raise InvalidInputError(f"'{file}' cannot be read: {error.strerror or error}.") from None
    sheet = " Save the sheet as CSV, in UTF-8." if suffix in _SHEETS else ""
    raise InvalidInputError(f"The name of a table must end in {_SUFFIXES}. Got '{file}' instead.{sheet}")


def _whole(values: Sequence[object]) -> bool:
    """Whether these categories or classes are whole numbers."""
    return bool(values) and type(values[0]) is int


def _arrow(path: Path) -> pa.Table:
    """Read an Arrow file, or an Arrow stream; values stay in the mapped file where they are not compressed."""
    source = pa.memory_map(str(path))
    with contextlib.suppress(pa.ArrowInvalid):
        return pa.ipc.open_file(source).read_all()
    source.seek(0)
    return pa.ipc.open_stream(source).read_all()


def _sparse_table(path: Path, features: Sequence[Feature], label: str | None, layout: TextLayout) -> SparseTable | None:
    """Return the table in an .npz file with a sparse matrix; None for every other file, which others read."""
    if path.suffix.lower() != ".npz" or not path.is_file() or layout != ANY_LAYOUT:
        return None
    found = split_sparse(path, plain_arrays(path))
    if found is None:
        return None
    matrix, others = found
    _check_width(path, matrix.shape[1], len(features))
    columns = {label if name == "y" and label is not None else name: array for name, array in others.items()}
    lengths = {name: array.shape for name, array in columns.items()}
    if any(shape != (matrix.shape[0],) for shape in lengths.values()):
        must_be = f"one value for each of the {matrix.shape[0]} rows of the matrix"
        raise InvalidInputError(f"The columns of '{path}' must have {must_be}. Got {lengths} instead.")
    if not matrix.shape[0]:
        raise no_rows(path)
    return SparseTable(matrix, pa.table({name: pa.array(array) for name, array in columns.items()}))


def _check_width(path: Path, got: int, wanted: int) -> None:
    if got != wanted:
        raise InvalidInputError(
            f"The array X of '{path}' must have {wanted} columns, one for each feature of this owner. Got {got} "
            f"instead."
        )


def _npz(path: Path, features: Sequence[str], label: str | None) -> pa.Table:
    columns: dict[str, Any] = {}
    arrays = plain_arrays(path)
    if (sparse := split_sparse(path, arrays)) is not None:
        _check_width(path, sparse[0].shape[1], len(features))
        arrays = {"X": sparse[0].toarray(), **sparse[1]}
    for name, array in arrays.items():
        columns |= _npz_columns(path, name, array, features, label)
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InvalidInputError(f"The arrays of '{path}' must have one length. Got {lengths} instead.")
    return pa.table(columns)


def _npz_columns(
    path: Path, name: str, array: np.ndarray[Any, Any], features: Sequence[str], label: str | None
) -> dict[str, Any]:
    if name == "X" and array.ndim == 2:
        _check_width(path, array.shape[1], len(features))
        by_column = np.asfortranarray(array)
        return {feature: pa.array(by_column[:, i]) for i, feature in enumerate(features)}
    if array.ndim != 1:
        raise InvalidInputError(
            f"The array '{name}' of '{path}' must have one dimension (or be X, with two). Got {array.shape} instead."
        )
    return {label if name == "y" and label is not None else name: pa.array(array)}
