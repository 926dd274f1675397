"""From scores to classes: the rule, a threshold in its place, and a warning where all rows get one class.

Without a threshold a row is of the second class where its score is above 0. A threshold replaces that. With the
logistic loss it is a probability: a row is of the second class where ``predict_proba`` is above it. With other losses,
which have no probabilities, it is a score: a row is of the second class where its score is above it.
"""

from __future__ import annotations

import math
import warnings
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.errors import OneClassWarning, parameter_error
from cofit.learn.recipes.descent.row_map import RowMap

MANY_ROWS = 100
"""A batch so large that one class alone is worth a warning."""
Reals = npt.NDArray[np.float64]
_ROUNDED = 1 + 1e-6


def checked_threshold(threshold: Any, *, probability: bool) -> float | None:
    """Return a threshold of predictions as a float, None as None; or raise InvalidInputError."""
    if threshold is None:
        return None
    number = isinstance(threshold, Real) and not isinstance(threshold, bool | np.bool_)
    if probability:
        if not number or not 0 < threshold < 1:
            must_be = "a probability above 0 and below 1, or None (which decides as 0.5 does)"
            raise parameter_error("threshold", "predict", must_be, threshold)
    elif not number or not math.isfinite(threshold):
        must_be = "a finite score, because this model has no probabilities, or None (which decides as 0 does)"
        raise parameter_error("threshold", "predict", must_be, threshold)
    return float(threshold)


def second_class(scores: Reals, probabilities: Reals | None, threshold: float | None) -> npt.NDArray[np.bool_]:
    """Return which rows are of the second class. probabilities: of that class; None for a model without them."""
    if threshold is None:
        return np.asarray(scores > 0)
    return np.asarray((scores if probabilities is None else probabilities) > threshold)


def one_class(second: npt.NDArray[np.bool_], classes: Any, how: str) -> str | None:
    """Return a warning if many rows, and all of them, are of one class. how: the way to give a threshold."""
    if len(second) < MANY_ROWS or 0 < np.count_nonzero(second) < len(second):
        return None
    named, other = str(classes[int(second[0])]), str(classes[1 - int(second[0])])
    move = "higher" if second[0] else "lower"
    return (
        f"All {len(second):,} rows are predicted to be of the class '{named}'. Where '{other}' is rare that is usual, "
        f"and the scores still rank the rows: set a {move} threshold ({how}), for example one that as many rows exceed "
        f"as you can look into. In training, calibrate_intercept may bring probabilities nearer to the shares of the "
        f"classes. Where both are common, the model may be mostly noise."
    )


def warn_of_one_class(second: npt.NDArray[np.bool_], classes: Any) -> None:
    """Warn whoever called ``predict``, which calls this."""
    text = one_class(second, classes, "predict(X, threshold=...)")
    if text is not None:
        warnings.warn(text, OneClassWarning, stacklevel=3)


def warn_of_other_units(x: Reals, rows: RowMap) -> None:
    """Warn where most rows lie beyond what training allowed: they were hardly prepared as in training."""
    if rows.mean is None and not rows.floor:
        return
    with np.errstate(over="ignore"):
        far = np.square(x).sum(axis=1) > rows.bound**2 if rows.mean else (np.abs(x) > rows.bound * _ROUNDED).any(axis=1)
    if np.count_nonzero(far) > len(x) / 2:
        warnings.warn(
            f"{np.count_nonzero(far):,} of {len(x):,} rows have values beyond what was agreed on for training, so that "
            f"their scores may be wrong. Prepare the table as in training: with the same public bounds, in the same "
            f"order of columns.",
            UserWarning,
            stacklevel=4,
        )
