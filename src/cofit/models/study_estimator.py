"""The model of a study as a fitted scikit-learn estimator, which takes tables as the owners have them."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator

from cofit.errors import InvalidInputError
from cofit.models.linear_model import LinearModel, Reals
from cofit.models.raw_tables import raw_table
from cofit.models.study_model import StudyModel
from cofit.privacy.certificate import Certificate
from cofit.study.document import Feature
from cofit.study.encode import encode_columns
from cofit.study.problems import Problems, TableError


class StudyEstimator(BaseEstimator):  # type: ignore[misc]
    """What fitted models of raw rows share: ``StudyClassifier`` and ``StudyRegressor``."""

    def __init__(self, study_model: StudyModel) -> None:
        self.study_model = study_model

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Raise InvalidInputError: the parties of the study trained this model."""
        raise InvalidInputError(
            f"The model of the study '{self.study_model.study[0]}' was trained by the study's parties and cannot be "
            f"fitted again. It can predict as it is; where a tool calls fit, wrap it: sklearn.frozen.FrozenEstimator."
        )

    # --- what it is --------------------------------------------------------------------------------------

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
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = any(feature.missing is not None for feature in self.study_model.features)
        return tags

    # --- tables ------------------------------------------------------------------------------------------

    def _table(self, X: Any) -> pa.Table:
        study = self.study_model
        return raw_table(X, study.features, study.label, study.model.classes)

    def _scores(self, table: pa.Table, smoothing: str | None = None) -> Reals:
        return np.asarray(self.model_.decision_function(self._encoded(table), smoothing=smoothing))

    def _encoded(self, table: pa.Table) -> Reals:
        """Return the rows of a table as the weights take them, or raise without a value."""
        try:
            return self.study_model.encode(table)
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
