"""The model of a study whose label is a number, as a fitted scikit-learn regressor."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from cofit.learn.losses import loss_named
from cofit.models.deviance import d2_poisson
from cofit.models.linear_model import Reals
from cofit.models.study_estimator import StudyEstimator


class StudyRegressor(RegressorMixin, StudyEstimator):  # type: ignore[misc]
    """A fitted regressor of raw rows: what ``cofit.load_model`` returns for the model of such a study.

    Rows are given as with ``StudyClassifier``, of which it has the attributes but for classes, and cannot be fitted
    again either. Predictions are those of ``cofit predict``, exactly: numbers within the range of the study's label.

    Parameters
    ----------
    study_model : StudyModel
        The released weights and the study's encoding.
    """

    def predict(self, X: Any) -> Reals:
        """Return the predicted number of each row, shape (n,)."""
        return self.model_.numbers(self._scores(self._table(X)))

    def score(self, X: Any, y: npt.ArrayLike | None = None, sample_weight: Any = None) -> float:
        """Return R squared of ``predict``, of counts D squared. y: the targets; None takes the study's label column of
        the table."""
        table = self._table(X)
        truth = self.study_model.labels(table) if y is None else np.asarray(y)
        measure = d2_poisson if loss_named(self.model_.loss).target.counted else r2_score
        return float(measure(truth, self.model_.numbers(self._scores(table)), sample_weight=sample_weight))
