"""From scores to classes: the rule, a threshold in its place, and a warning where all rows get one class.

Without a threshold a row is of the second class where its score is above 0. A threshold replaces that. With the
logistic loss it is a probability: a row is of the second class where ``predict_proba`` is above it. With other losses,
which have no probabilities, it is a score: a row is of the second class where its score is above it.

Of several classes a row is of that with the largest score, and there is no threshold.
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


def refuse_threshold_of_several(threshold: Any) -> None:
    """Raise unless it is None."""
    if threshold is not None:
        must_be = "left out: of several classes the one with the largest score is predicted"
        raise parameter_error("threshold", "predict", must_be, threshold)


def one_of_several(each: Reals) -> Reals:
    """Return probabilities of classes, a row for each record, from those of each class against the rest: over their
    sum, and all alike where no class has any."""
    totals = each.sum(axis=1, keepdims=True)
    alike = np.full_like(each, 1 / each.shape[1])
    return np.asarray(np.divide(each, totals, out=alike, where=totals > 0))


def one_class(places: npt.NDArray[np.intp], classes: Any, how: str) -> str | None:
    """Return a warning if many rows, and all of them, are of one class. how: the way to give a threshold."""
    if len(places) < MANY_ROWS or (places != places[0]).any():
        return None
    first = int(places[0])
    named = str(classes[first])
    if len(classes) > 2:
        return (
            f"All {len(places):,} rows are predicted to be of the class '{named}', of {len(classes)}. Where the others "
            f"are rare that is usual, and the scores still rank the rows. Where they are common, the model may be "
            f"mostly noise."
        )
    other, move = str(classes[1 - first]), "higher" if first else "lower"
    return (
        f"All {len(places):,} rows are predicted to be of the class '{named}'. Where '{other}' is rare that is usual, "
        f"and the scores still rank the rows: set a {move} threshold ({how}), for example one that as many rows exceed "
        f"as you can look into. In training, calibrate_intercept may bring probabilities nearer to the shares of the "
        f"classes. Where both are common, the model may be mostly noise."
    )


def warn_of_one_class(places: npt.NDArray[np.intp], classes: Any) -> None:
    """Warn whoever called ``predict``, which calls this."""
    text = one_class(places, classes, "predict(X, threshold=...)")
    if text is not None:
        warnings.warn(text, OneClassWarning, stacklevel=3)


def far_from_training(x: Reals, rows: RowMap) -> int:
    """Return how many rows lie beyond what training allowed."""
    if rows.mean is None and not rows.floor:
        return 0
    with np.errstate(over="ignore"):
        far = np.square(x).sum(axis=1) > rows.bound**2 if rows.mean else (np.abs(x) > rows.bound * _ROUNDED).any(axis=1)
    return int(np.count_nonzero(far))


def warn_of_other_units(far: int, rows: int) -> None:
    """Warn whoever called ``predict`` where most rows are far: they were hardly prepared as in training."""
    if far > rows / 2:
        warnings.warn(
            f"{far:,} of {rows:,} rows have values beyond what was agreed on for training, so that their scores may be "
            f"wrong. Prepare the table as in training: with the same public bounds, in the same order of columns.",
            UserWarning,
            stacklevel=6,
        )
