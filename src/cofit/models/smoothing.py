"""Scores of a model of recipe 'best', smoothed by unlabelled rows (``recipes.descent.smoothing``): by the batch that is
scored itself, or by a reference that whoever predicts keeps.

Rows of a batch influence each other's scores then: they must be of one owner, or of owners who may see each other's
scores. The smoothed weights are a function of the reference without any noise, which the certificate does not cover; so
a model that was smoothed is neither saved nor pickled.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError, parameter_error
from cofit.learn.recipes.descent.smoothing import Smoothed, cut_of, smoothed_weights

if TYPE_CHECKING:
    from cofit.models.linear_model import LinearModel

BATCH = "batch"
FEWEST_ROWS, FEW_ROWS = 20, 100
"""Fewer rows than the first are refused; with fewer than the second there is hardly anything to gain."""
Reals = npt.NDArray[np.float64]
NOT_SAVED = (
    "A smoothed model contains the rows that it was smoothed by, in its weights and without noise, and the certificate "
    "does not cover them: it cannot be saved. Save the model as it was released, and smooth it where the reference is."
)


class SmoothedScores(Smoothed):
    """What a smoothed model scores with. It is never written anywhere."""

    def __reduce__(self) -> NoReturn:
        raise InvalidInputError(NOT_SAVED)

    def __deepcopy__(self, memo: object) -> SmoothedScores:
        return self


def checked_smoothing(smoothing: object) -> bool:
    """Return whether a batch is to be smoothed by itself, or raise InvalidInputError."""
    if smoothing is None or (isinstance(smoothing, str) and smoothing == BATCH):
        return smoothing is not None
    must_be = f"'{BATCH}' (the rows smooth each other's scores) or None (every row has a score of its own)"
    raise parameter_error("smoothing", "predict", must_be, smoothing)


def why_not_smoothed(model: LinearModel) -> str | None:
    """Return why a model cannot be smoothed, in half a sentence; None where it can."""
    descent = model.certificate.descent
    if descent is None or not model.certificate.delta:
        return "it was not trained by recipe 'best' with a delta above 0"
    if model.target_range is not None:
        return "it predicts numbers, of which it makes no better ones"
    if model.smoothing is not None:
        return "it is smoothed already"
    return None


def smoothed_by(model: LinearModel, prepared: Reals) -> SmoothedScores:
    """Return what to score with. prepared: unlabelled rows as the model prepares them, shape (m, d)."""
    descent = model.certificate.descent
    if (reason := why_not_smoothed(model)) is not None or descent is None:
        raise InvalidInputError(f"This model cannot be smoothed: {reason}.")
    count = len(prepared)
    if count < FEWEST_ROWS:
        must_be = f"at least {FEWEST_ROWS} rows to smooth by (better {FEW_ROWS} or more)"
        raise parameter_error("X", "smoothing", must_be, f"{count} rows")
    if count < FEW_ROWS:
        warnings.warn(
            f"Scores are smoothed by {count} rows only; with fewer than {FEW_ROWS} that may make them worse.",
            UserWarning,
            stacklevel=4,
        )
    weights = np.atleast_2d(model.weights).T
    cut = cut_of(float(descent.step_size), descent.steps)
    found = smoothed_weights(prepared, weights, model.certificate.n, cut)
    intercepts = np.atleast_1d(np.asarray(model.intercept)) + found.offsets
    if model.lines == 1:
        return SmoothedScores(found.weights[:, 0], intercepts[0])
    return SmoothedScores(found.weights, intercepts)


def refuse_smoothed(model: Any) -> None:
    """Raise InvalidInputError for a model that must not be written."""
    if model.smoothing is not None:
        raise InvalidInputError(NOT_SAVED)
