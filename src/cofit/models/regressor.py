"""What the private linear regressors have in common: the range of the target, and numbers as predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from cofit.learn.losses import loss_named
from cofit.learn.targets import Target
from cofit.models.arguments import taught
from cofit.models.linear_model import LinearModel, Reals
from cofit.models.number_tables import number_tables
from cofit.models.private_linear import PrivateLinearEstimator
from cofit.models.settings import stated_parameters
from cofit.models.tables import Tables
from cofit.models.target_range import TargetRange, checked_range
from cofit.roles.local.training import TrainingRun


@taught
@dataclass(eq=False, repr=False, kw_only=True)
class PrivateLinearRegressor(RegressorMixin, PrivateLinearEstimator):  # type: ignore[misc]
    """A regressor. Its parameters are those of every estimator, and the range of its target."""

    target_range: TargetRange | None = None

    def predict(self, X: Any) -> Reals:
        """Return the predicted number of each row, shape (n,), within ``target_range``."""
        rows = self._rows(X)
        return np.asarray(self.model_.predict(rows))

    def _tables(self, owners: Any, y: Any, partition: str) -> Tables:
        return number_tables(owners, y, partition, type(self).__name__, self._range(), self._target())

    @classmethod
    def _target(cls) -> Target:
        return loss_named(cls._loss).target

    def _range(self) -> TargetRange:
        return checked_range(self.target_range, type(self).__name__, self._target())

    def _facts_of_target(self) -> dict[str, Any]:
        return {"largest_count": int(self._range()[1])} if self._target().counted else {}

    def _model(self, run: TrainingRun, given: Tables) -> LinearModel:
        return LinearModel.from_training(run, (), given.feature_names, self._range())

    @classmethod
    def _stated(cls, model: LinearModel) -> dict[str, Any]:
        return stated_parameters(model) | {"target_range": model.target_range}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # of few rows, under noise
        return tags

    def _take(self, model: LinearModel, given: Tables | None) -> None:
        super()._take(model, given)
        target = self._target()
        middle, half = target.predictor(checked_range(model.target_range, type(self).__name__, target))
        self.coef_ = half * model.weights
        self.released_coef_ = half * np.array(model.coef)
        self.intercept_ = float(middle + half * np.asarray(model.intercept))
