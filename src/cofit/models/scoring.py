"""The scores of rows under a model, for tables of every kind: checked, and sparse ones dense a block at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError, ShapeError, parameter_error
from cofit.learn.bounds import scaled_by_bounds
from cofit.learn.sparse_rows import is_sparse, sparse_rows
from cofit.models.column_bounds import far_from_bounds, warn_of_other_bounds
from cofit.models.decisions import far_from_training, warn_of_other_units

if TYPE_CHECKING:
    from cofit.models.linear_model import LinearModel

Reals = npt.NDArray[np.float64]


@dataclass
class _Far:
    """How many rows are hardly in the units of training: of the bounds of columns, and of what training allowed."""

    rows: int = 0
    from_bounds: int = 0
    from_training: int = 0

    def warn(self) -> None:
        """Warn of many such rows."""
        warn_of_other_bounds(self.from_bounds, self.rows)
        warn_of_other_units(self.from_training, self.rows)


def scores_of(model: LinearModel, X: Any) -> Reals:
    """Return the score of each row of X, shape (n,), or (n, classes) of several; or raise with what is wrong with X."""
    far = _Far()
    blocks = [_scores(model, block, far) for block in _blocks(model, X)]
    far.warn()
    return np.concatenate(blocks)


def prepared_rows(model: LinearModel, X: Any) -> Reals:
    """Return all rows of X as recipe 'best' prepared them in training; or raise with what is wrong with X."""
    if model.rows is None:
        raise InvalidInputError("This model cannot be smoothed: it was not trained by recipe 'best'.")
    far = _Far()
    prepared = [model.rows(_in_units(model, block, far)) for block in _blocks(model, X)]
    far.warn()
    return np.concatenate(prepared)


def prepared_scores(model: LinearModel, prepared: Reals) -> Reals:
    """Return the scores of rows that recipe 'best' prepared."""
    if model.smoothing is not None:
        return np.asarray(prepared @ model.smoothing.weights + model.smoothing.offsets)
    return np.asarray(prepared @ model.weights.T + np.asarray(model.intercept))


def _blocks(model: LinearModel, X: Any) -> Iterator[Reals]:
    """Yield all rows of X as they are: at once, or of a sparse matrix a few MiB at a time. At least one block."""
    if not is_sparse(X):
        yield _checked(model, X)
        return
    _check_columns(model, X.shape)
    rows = sparse_rows(X)
    first = 0
    for block in rows.blocks():
        yield _finite(model, block, first)
        first += len(block)
    if not len(rows):
        yield np.zeros(rows.shape)


def _in_units(model: LinearModel, x: Reals, far: _Far) -> Reals:
    """Return rows scaled where the model has bounds, mapped where it has a reference; note those that are far off."""
    far.rows += len(x)
    if model.bounds is not None:
        lower, upper = np.array(model.bounds).T
        far.from_bounds += far_from_bounds(x, lower, upper)
        x = scaled_by_bounds(x, lower, upper)
    if model.reference is not None:
        bound, floor = (1.0, 0.0) if model.rows is None else (model.rows.bound, model.rows.floor)
        return model.reference.for_scores(x, bound, floor)
    if model.rows is not None:
        far.from_training += far_from_training(x, model.rows)
    return x


def _scores(model: LinearModel, values: Reals, far: _Far) -> Reals:
    x = _in_units(model, values, far)
    if model.rows is not None:
        return prepared_scores(model, model.rows(x))
    largest = np.maximum(np.abs(x).max(axis=1), model.constant)
    unit = np.where(largest > 0, largest, 1.0)  # so that squares neither overflow nor vanish
    scaled = x / unit[:, np.newaxis]
    lengths = np.hypot(np.linalg.norm(scaled, axis=1), model.constant / unit)
    with np.errstate(over="ignore"):
        divisors = np.maximum(lengths, model.norm_floor / unit)
    scores = scaled @ model.weights + model.intercept / unit
    return np.asarray(np.divide(scores, divisors, out=np.zeros(len(x)), where=divisors > 0))


def _checked(model: LinearModel, X: Any) -> Reals:
    """Return X as a finite table of float64 with the model's columns, or name what is wrong with it."""
    names = getattr(X, "column_names", getattr(X, "columns", None))  # the first of them with Arrow
    if model.feature_names is not None and names is not None and tuple(names) != model.feature_names:
        raise parameter_error("X", "predict", f"with the columns {list(model.feature_names)}", list(names), ShapeError)
    array = np.asarray(X)
    _check_columns(model, array.shape)
    if array.dtype.kind in "biuf":
        return _finite(model, array.astype(np.float64))
    cells = np.asarray(X, dtype=object)
    values = np.array([_real(cell) for cell in cells.flat], dtype=np.float64).reshape(array.shape)
    return _finite(model, values)


def _check_columns(model: LinearModel, shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise parameter_error("X", "predict", "a table with rows and columns", f"shape {shape}", ShapeError)
    if shape[1] != model.inputs:
        must_be = f"a table with {model.inputs} columns"
        raise parameter_error("X", "predict", must_be, f"{shape[1]} columns", ShapeError)


def _finite(model: LinearModel, values: Reals, first: int = 0) -> Reals:
    """Return the values if all are numbers. first: the place of the first row in its table."""
    if not np.isfinite(values).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
        name = f"{column}" if model.feature_names is None else f"{column} ('{model.feature_names[column]}')"
        raise InvalidInputError(
            f"Row {first + row}, column {name} of X is not a finite number: it is NaN, infinite or something else."
        )
    return values


def _real(cell: object) -> float:
    """Return a cell as a float; NaN, which is refused with its place, for what is none."""
    try:
        return float(cell) if isinstance(cell, Real) else math.nan
    except OverflowError:
        return math.nan
