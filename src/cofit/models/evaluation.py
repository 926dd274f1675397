"""How good a model is on labelled rows: accuracy, AUC, confusion matrix, calibration.

These figures come from the rows they are computed on, and no noise protects them: publishing them is outside the
guarantee of the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError

BINS = 10
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CalibrationBin:
    """Rows with a probability of the second class from ``lower`` to ``upper``: how many, its mean, and how many have
    that class, relatively."""

    lower: float
    upper: float
    rows: int
    mean_probability: float
    observed: float


@dataclass(frozen=True)
class Evaluation:
    """auc: None where all rows are of one class. confusion: rows are true classes, columns predicted ones.

    calibration_error: the mean over all rows of |mean probability - observed| of their bin; None, like the bins, for a
    model without probabilities.
    """

    rows: int
    accuracy: float
    auc: float | None
    confusion: tuple[tuple[int, int], tuple[int, int]]
    calibration_error: float | None
    calibration: tuple[CalibrationBin, ...]


def evaluate(
    labels: npt.NDArray[np.int64],
    scores: Reals,
    probabilities: Reals | None,
    predicted: npt.NDArray[np.bool_],
) -> Evaluation:
    """Compare predictions with true classes (0, 1). scores, probabilities: of class 1. predicted: which rows are 1."""
    from sklearn.metrics import accuracy_score, confusion_matrix, roc_auc_score  # noqa: PLC0415 - takes a second

    if not len(labels):
        raise InvalidInputError("There are no rows to evaluate.")
    (tn, fp), (fn, tp) = confusion_matrix(labels, predicted, labels=[0, 1]).tolist()
    bins = () if probabilities is None else _calibration(labels, probabilities)
    return Evaluation(
        rows=len(labels),
        accuracy=float(accuracy_score(labels, predicted)),
        auc=float(roc_auc_score(labels, scores)) if len(np.unique(labels)) == 2 else None,
        confusion=((tn, fp), (fn, tp)),
        calibration_error=None
        if probabilities is None
        else sum(b.rows * abs(b.mean_probability - b.observed) for b in bins) / len(labels),
        calibration=bins,
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
