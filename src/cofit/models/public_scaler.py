"""Scale columns by bounds that everybody agreed on, so that scaling tells nothing about the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from cofit.errors import parameter_error
from cofit.learn.bounds import scaled_by_bounds
from cofit.models.feature_columns import column_names, refuse_missing, refuse_other_than_numbers, without_values

Reals = npt.NDArray[np.float64]
Bounds = float | Sequence[float] | Reals | Mapping[str, float]


class PublicScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Scale every column from its public bounds to [-1, 1]:

        2 (x - lower) / (upper - lower) - 1,    x clipped to [lower, upper] first.

    A value beyond its bounds counts as the bound. Nothing is computed from the data: ``fit`` takes the number of
    columns and their names. So one record changes its own row alone, and training keeps its guarantee. A scaler that is
    fitted on records (StandardScaler, MinMaxScaler) breaks it, because one record then moves every row.

    Take bounds from what is known without the data: the range of a device, a guideline, the rules of admission. A
    column that varies little within wide bounds is worth tighter ones. A study scales its numbers in the same way.

    Parameters
    ----------
    lower, upper : float, sequence or mapping
        The bounds: one for all columns, one for each column in order, or one for each name of a column.

    Attributes
    ----------
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, if the table has texts as names.

    Examples
    --------
    >>> from cofit import PublicScaler
    >>> PublicScaler(lower=[18, 0], upper=[98, 10]).fit_transform([[58, 10], [18, 25]]).tolist()
    [[0.0, 1.0], [-1.0, 1.0]]
    """

    def __init__(self, lower: Bounds = -1.0, upper: Bounds = 1.0) -> None:
        self.lower = lower
        self.upper = upper

    def fit(self, X: Any, y: Any = None) -> Self:
        """Take the number of columns and their names, and nothing else; check that the bounds fit them."""
        del y
        self._checked(X, reset=True)
        self._bounds()
        return self

    def transform(self, X: Any) -> Reals:
        """Return the scaled rows, each value within [-1, 1]."""
        check_is_fitted(self)
        rows = self._checked(X, reset=False)
        return scaled_by_bounds(rows, *self._bounds())

    def _checked(self, X: Any, *, reset: bool) -> Reals:
        refuse_other_than_numbers(X, "X")
        rows = without_values(
            "X", lambda: validate_data(self, X, reset=reset, ensure_all_finite=False, dtype=np.float64)
        )
        refuse_missing(rows, column_names(X), "X")
        return np.asarray(rows)

    def _bounds(self) -> tuple[Reals, Reals]:
        lower, upper = (self._numbers(name) for name in ("lower", "upper"))
        for i in np.flatnonzero(~(lower < upper)).tolist():
            raise parameter_error("upper", "PublicScaler", f"above lower, {lower[i]:g}, in column {i}", float(upper[i]))
        return lower, upper

    def _numbers(self, parameter: str) -> Reals:
        """Return one bound for each column."""
        given = getattr(self, parameter)
        columns = self.n_features_in_
        if isinstance(given, Mapping):
            names = getattr(self, "feature_names_in_", None)
            if names is None or set(given) != set(names):
                must_be = f"a bound for each column of the table, {None if names is None else list(names)}"
                raise parameter_error(parameter, "PublicScaler", must_be, list(given))
            given = [given[name] for name in names]
        try:
            bounds = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            bounds = np.array(np.nan)
        if bounds.shape not in ((), (columns,)) or not np.isfinite(bounds).all():
            must_be = f"a finite number, {columns} of them, or a mapping from the names of columns to numbers"
            raise parameter_error(parameter, "PublicScaler", must_be, given)
        return np.broadcast_to(bounds, (columns,))
