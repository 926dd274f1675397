"""The model of a study as a fitted scikit-learn classifier, which takes tables as the owners have them."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if

from cofit.errors import InvalidInputError
from cofit.models.decisions import warn_of_one_class
from cofit.models.linear_model import LinearModel, Reals
from cofit.models.raw_tables import raw_table
from cofit.models.study_model import StudyModel
from cofit.privacy.certificate import Certificate
from cofit.study.document import Feature
from cofit.study.encode import encode_columns
from cofit.study.problems import Problems, TableError


def _has_probabilities(classifier: StudyClassifier) -> bool:
    return classifier.study_model.model.has_probabilities


class StudyClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
    classes_ : array of shape (2,)
        The two labels, in the study's order: a positive score means the second one.
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

    def __init__(self, study_model: StudyModel) -> None:
        self.study_model = study_model

    # --- predictions -------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Reals:
        """Return the score of each row, shape (n,): positive for the second class."""
        return self._scores(self._table(X))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Reals:
        """Return the probability of the second class for each row as the second column, shape (n, 2).

        With logistic regression only.
        """
        return self.model_.probabilities(self.decision_function(X))

    def predict(self, X: Any, *, threshold: float | None = None) -> npt.NDArray[Any]:
        """Return the predicted class of each row, shape (n,): the second one where the score is above 0.

        threshold: instead, the second class where its probability (``predict_proba``) is above this one;
        without probabilities, where the score is. Warns where 100 rows or more get one class only.
        """
        second = self.model_.is_second(self.decision_function(X), threshold)
        warn_of_one_class(second, self.classes_)
        return np.asarray(self.classes_[second.astype(np.intp)])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy of ``predict``. y: the labels; None takes the study's label column of the table."""
        table = self._table(X)
        second = self.model_.is_second(self._scores(table))
        warn_of_one_class(second, self.classes_)
        if y is None:
            return float(accuracy_score(self.study_model.labels(table), second, sample_weight=sample_weight))
        return float(accuracy_score(y, self.classes_[second.astype(np.intp)], sample_weight=sample_weight))

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Raise InvalidInputError: the parties of the study trained this model."""
        raise InvalidInputError(
            f"The model of the study '{self.study_model.study[0]}' was trained by the study's parties and cannot be "
            f"fitted again. It can predict as it is; where a tool calls fit, wrap it: sklearn.frozen.FrozenEstimator."
        )

    # --- what it is --------------------------------------------------------------------------------------

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The two labels."""
        return np.asarray(self.model_.classes)

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """The names of the study's features."""
        return np.array([feature.name for feature in self.study_model.features], dtype=object)

    @property
    def n_features_in_(self) -> int:
        """How many features there are."""
        return len(self.study_model.features)

    @property
    def certificate_(self) -> Certificate:
        """The certificate of the release."""
        return self.model_.certificate

    @property
    def model_(self) -> LinearModel:
        """The linear model of encoded rows."""
        return self.study_model.model

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = any(feature.missing is not None for feature in self.study_model.features)
        return tags

    # --- tables ------------------------------------------------------------------------------------------

    def _table(self, X: Any) -> pa.Table:
        study = self.study_model
        return raw_table(X, study.features, study.label, study.model.classes)

    def _scores(self, table: pa.Table) -> Reals:
        try:
            return np.asarray(self.model_.decision_function(self.study_model.encode(table)))
        except TableError:
            missing = [name for name in self.feature_names_in_ if table.column_names.count(name) != 1]
        if missing:
            raise InvalidInputError(
                f"The table must have every feature of the study '{self.study_model.study[0]}' as a column, once. "
                f"Missing, or there more than once: {missing}."
            )
        raise InvalidInputError(self._misfits(table))  # outside of the handler: what it caught shows values

    def _misfits(self, table: pa.Table) -> str:
        """Return which columns do not fit the study, and what it says of them; without a value."""
        told = []
        for feature in self.study_model.features:
            problems = Problems("The table")
            encode_columns((feature,), table, problems)
            try:
                problems.raise_any()
            except TableError:
                told.append(f"column '{feature.name}' must hold {_agreed(feature)}")
        return (
            f"The table does not fit the study '{self.study_model.study[0]}': {'; '.join(told)}. `cofit predict MODEL "
            f"TABLE` names the rows, at your own terminal."
        )


def _agreed(feature: Feature) -> str:
    """Return what the study says of a feature's values."""
    if feature.type == "number":
        text = "finite numbers" if feature.clip else f"numbers from {feature.lower:g} to {feature.upper:g}"
    elif feature.type == "boolean":
        text = "true or false, or 1 and 0"
    else:
        text = f"one of {', '.join(map(str, feature.values[:10]))}" + (", ..." if len(feature.values) > 10 else "")
    return text + (" in every row" if feature.missing is None else ", or be missing")
