"""Sparse matrices in .npz files: as ``scipy.sparse.save_npz`` writes them, with other columns of the table beside.

The arrays of the matrix have SciPy's names (``data``, ``indices``, ``indptr``, ``shape``, ``format``; of the format COO
``row`` and ``col``), so that SciPy reads the matrix of such a file. Every other array is a column under its own name,
and ``y`` is the label. Read strictly: nothing is unpickled, and indices are checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csc_array, csr_array, issparse

from cofit.errors import InvalidInputError, parameter_error
from cofit.roles.files.durable import why_not_written

_ALWAYS = {"format", "shape", "data"}
_COMPRESSED = {"indices", "indptr"}
_COORDINATES = {"row", "col"}
_MARKS = {"_is_array"}
_RESERVED = _ALWAYS | _COMPRESSED | _COORDINATES | _MARKS
_KINDS = {"csr": csr_array, "csc": csc_array}
_COLUMNS = "a mapping from the name of a column to its values, one for each row"
_SAVE = "save_sparse_table"
Arrays = Mapping[str, npt.NDArray[Any]]


def split_sparse(path: Path, arrays: Arrays) -> tuple[csr_array, dict[str, npt.NDArray[Any]]] | None:
    """Return the matrix of a file and its other arrays, or None where it holds no sparse matrix."""
    if not set(arrays) >= _ALWAYS or not (set(arrays) >= _COMPRESSED or set(arrays) >= _COORDINATES):
        return None
    try:
        matrix = _matrix(arrays)
    except (ValueError, TypeError, IndexError, OverflowError):
        raise InvalidInputError(f"'{path}' holds a sparse matrix that is damaged. Write it again.") from None
    if matrix is None:
        raise InvalidInputError(
            f"The sparse matrix of '{path}' must be of the format CSR, CSC or COO. Convert it: X.tocsr()."
        )
    if matrix.dtype.kind not in "biuf":
        raise InvalidInputError(f"The sparse matrix of '{path}' must hold real numbers. Got {matrix.dtype} instead.")
    return matrix, {name: array for name, array in arrays.items() if name not in _RESERVED}


def _matrix(arrays: Arrays) -> csr_array | None:
    name = arrays["format"].item()
    kind = name.decode("ascii") if isinstance(name, bytes) else str(name)
    rows, cols = (int(size) for size in arrays["shape"])
    if kind == "coo":
        found = coo_array((arrays["data"], (arrays["row"], arrays["col"])), shape=(rows, cols))
    elif kind in _KINDS:
        found = _KINDS[kind]((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(rows, cols))
        found.check_format(full_check=True)
    else:
        return None
    result = csr_array(found)
    result.sum_duplicates()
    return result


def save_sparse_table(path: str | Path, X: Any, y: Any = None, columns: Mapping[str, Any] | None = None) -> None:
    """Write an owner's table with sparse features to an .npz file for ``cofit contribute``.

    X: a sparse matrix of SciPy's, with this owner's features in the study's order. y: the label, if the owner has it.
    columns: other columns by their names, as the row key or the weights.
    """
    if not issparse(X) or X.ndim != 2:
        raise parameter_error("X", _SAVE, "a sparse matrix of SciPy's, with rows and columns", type(X).__name__)
    if Path(path).suffix.lower() != ".npz":
        raise parameter_error("path", _SAVE, "a name that ends in .npz", str(path))
    if not isinstance(columns, Mapping | None):
        raise parameter_error("columns", _SAVE, _COLUMNS, type(columns).__name__)
    matrix = csr_array(X)
    beside = {**({} if y is None else {"y": y}), **(columns or {})}
    arrays = {name: np.asarray(values) for name, values in beside.items()}
    for name, array in arrays.items():
        if name in _RESERVED or array.ndim != 1 or len(array) != matrix.shape[0] or array.dtype.kind not in "biufU":
            must_be = f"numbers or texts, one for each of {matrix.shape[0]} rows, and not called {sorted(_RESERVED)}"
            raise parameter_error(name, _SAVE, must_be, f"{array.dtype} of shape {array.shape}")
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape)}
    written: dict[str, Any] = {"format": np.array(b"csr"), **parts, **arrays}
    try:
        with Path(path).open("wb") as file:
            np.savez_compressed(file, **written)
    except OSError as error:
        raise InvalidInputError(
            f"The table cannot be written to '{path}': {why_not_written(Path(path), error)}."
        ) from None
