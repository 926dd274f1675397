"""How good a model is on labelled rows: accuracy, AUC, confusion matrix, calibration; of a regressor, its errors.

These figures come from the rows they are computed on, and no noise protects them: publishing them is outside the
guarantee of the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError
from cofit.learn.targets import NUMBER, Target

BINS = 10
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CalibrationBin:
    """Rows with a probability of the second class from ``lower`` to ``upper``: how many, its mean, and how many have
    that class, relatively. Of several classes it is the predicted one."""

    lower: float
    upper: float
    rows: int
    mean_probability: float
    observed: float


@dataclass(frozen=True)
class Evaluation:
    """auc: None where all rows are of one class; of several classes, the mean over those that occur of each against the
    rest. confusion: rows are true classes, columns predicted ones.

    calibration_error: the mean over all rows of |mean probability - observed| of their bin; None, like the bins, for a
    model without probabilities.
    """

    rows: int
    accuracy: float
    auc: float | None
    confusion: tuple[tuple[int, ...], ...]
    calibration_error: float | None
    calibration: tuple[CalibrationBin, ...]


def evaluate(
    labels: npt.NDArray[np.int64],
    scores: Reals,
    probabilities: Reals | None,
    predicted: npt.NDArray[np.integer[Any] | np.bool_],
    classes: int = 2,
) -> Evaluation:
    """Compare predictions with true classes, from 0 on.

    scores, probabilities: of class 1, or of several classes, where a row has one for each. predicted: the classes.
    """
    from sklearn.metrics import accuracy_score, confusion_matrix, roc_auc_score  # noqa: PLC0415 - takes a second

    if not len(labels):
        raise InvalidInputError("There are no rows to evaluate.")
    confusion = confusion_matrix(labels, predicted, labels=list(range(classes))).tolist()
    bins: tuple[CalibrationBin, ...] = ()
    if probabilities is not None and classes == 2:
        bins = _calibration(labels, probabilities)
    elif probabilities is not None:
        bins = _calibration((labels == predicted).astype(np.int64), probabilities[np.arange(len(labels)), predicted])
    occurring = np.unique(labels).tolist()
    each = {1: scores} if classes == 2 else {k: scores[:, k] for k in occurring}
    areas = [float(roc_auc_score(labels == k, of_class)) for k, of_class in each.items() if len(occurring) > 1]
    return Evaluation(
        rows=len(labels),
        accuracy=float(accuracy_score(labels, predicted)),
        auc=float(np.mean(areas)) if areas else None,
        confusion=tuple(tuple(line) for line in confusion),
        calibration_error=None
        if probabilities is None
        else sum(b.rows * abs(b.mean_probability - b.observed) for b in bins) / len(labels),
        calibration=bins,
    )


@dataclass(frozen=True)
class RegressionEvaluation:
    """r_squared: 1 less the mean square of errors over that of always naming the mean of these rows; None where all
    rows have one target. Errors are in units of the target; ``error_of_mean``: the root mean square one of the mean.
    d_squared: of counts, 1 less the Poisson deviance over that of the mean; None of other numbers."""

    rows: int
    r_squared: float | None
    root_mean_square_error: float
    mean_absolute_error: float
    median_absolute_error: float
    error_of_mean: float
    d_squared: float | None = None


def evaluate_numbers(targets: Reals, predicted: Reals, target: Target = NUMBER) -> RegressionEvaluation:
    """Compare predicted numbers with true ones. target: what they are."""
    if not len(targets):
        raise InvalidInputError("There are no rows to evaluate.")
    errors = np.abs(predicted - targets)
    spread = float(np.std(targets))
    mean_square = float(np.mean(np.square(errors)))
    return RegressionEvaluation(
        rows=len(targets),
        r_squared=1 - mean_square / spread**2 if spread else None,
        root_mean_square_error=float(np.sqrt(mean_square)),
        mean_absolute_error=float(errors.mean()),
        median_absolute_error=float(np.median(errors)),
        error_of_mean=spread,
        d_squared=float(target.explained(targets, predicted)[0]) if target.counted and spread else None,
    )


def _calibration(labels: npt.NDArray[np.int64], probabilities: Reals) -> tuple[CalibrationBin, ...]:
    """Return the bins of equal width that have rows; 1.0 belongs to the last one."""
    place = np.minimum((probabilities * BINS).astype(np.int64), BINS - 1)
    bins = []
    for i in np.unique(place).tolist():
        inside = place == i
        mean, observed = float(probabilities[inside].mean()), float(labels[inside].mean())
        bins.append(CalibrationBin(i / BINS, (i + 1) / BINS, int(inside.sum()), mean, observed))
    return tuple(bins)
