"""The model of a study as a fitted scikit-learn classifier, which takes tables as the owners have them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if

from cofit.models.decisions import warn_of_one_class
from cofit.models.linear_model import Reals
from cofit.models.study_estimator import StudyEstimator


def _has_probabilities(classifier: StudyClassifier) -> bool:
    return classifier.study_model.model.has_probabilities


class StudyClassifier(ClassifierMixin, StudyEstimator):  # type: ignore[misc]
    """A fitted classifier of raw rows: what ``cofit.load_model`` returns for the model of a study.

    Rows are given as the owners have them: a pandas or polars data frame, an Arrow table, or the path of a CSV, TSV,
    Parquet, Arrow or .npz file. Columns are found by name, in any order; others are ignored. Numbers are scaled by the
    study's bounds, and categories are encoded as the study says. Scores are those of ``cofit predict``, exactly.

    A column that does not fit the study is an InvalidInputError that names it and shows no value.

    Parameters
    ----------
    study_model : StudyModel
        The released weights and the study's encoding.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The labels, in the study's order: of two a positive score means the second one.
    feature_names_in_ : array of shape (n_features_in_,)
        The names of the study's features, as the columns of a table must be named.
    n_features_in_ : int
        How many these are.
    certificate_ : cofit.Certificate
        What the release guarantees, and why.
    model_ : cofit.LinearModel
        The weights, for encoded rows.

    Notes
    -----
    It cannot be fitted again: the parties of the study trained it. Where a tool insists on ``fit``, wrap it in
    ``sklearn.frozen.FrozenEstimator``.
    """

    def decision_function(self, X: Any, *, smoothing: str | None = None) -> Reals:
        """Return the score of each row, shape (n,): positive for the second class; of several one for each, shape
        (n, classes).

        smoothing: 'batch' smooths scores by the rows of X, which influence each other's then; None: never.
        """
        return self._scores(self._table(X), smoothing)

    def smoothed(self, reference: Any) -> StudyClassifier:
        """Return the classifier smoothed by unlabelled rows, to score single rows with; it cannot be saved. See
        ``LinearModel.smoothed``."""
        model = self.model_.smoothed(self._encoded(self._table(reference)))
        return StudyClassifier(replace(self.study_model, model=model))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, *, smoothing: str | None = None) -> Reals:
        """Return the probability of each class for each row, shape (n, classes).

        With logistic regression only. smoothing: as in ``decision_function``.
        """
        return self.model_.probabilities(self.decision_function(X, smoothing=smoothing))

    def predict(self, X: Any, *, threshold: float | None = None, smoothing: str | None = None) -> npt.NDArray[Any]:
        """Return the predicted class of each row, shape (n,): the second one where the score is above 0, or of several
        that with the largest score.

        threshold: of two classes, instead, the second class where its probability (``predict_proba``) is above this
        one; without probabilities, where the score is. Warns where 100 rows or more get one class only.
        smoothing: as in ``decision_function``.
        """
        places = self.model_.places(self.decision_function(X, smoothing=smoothing), threshold)
        warn_of_one_class(places, self.classes_)
        return np.asarray(self.classes_[places])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy of ``predict``. y: the labels; None takes the study's label column of the table."""
        table = self._table(X)
        places = self.model_.places(self._scores(table))
        warn_of_one_class(places, self.classes_)
        if y is None:
            return float(accuracy_score(self.study_model.labels(table), places, sample_weight=sample_weight))
        return float(accuracy_score(y, self.classes_[places], sample_weight=sample_weight))

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The labels."""
        return np.asarray(self.model_.classes)
