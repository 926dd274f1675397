"""What the private linear classifiers have in common: classes, decisions and probabilities."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from cofit.errors import InvalidInputError
from cofit.learn.recipes.descent.reference import ReferenceMap
from cofit.models.arguments import taught
from cofit.models.decisions import warn_of_one_class
from cofit.models.linear_model import LinearModel, Reals
from cofit.models.private_linear import PrivateLinearEstimator
from cofit.models.referenced import estimator_reference
from cofit.models.settings import stated_parameters
from cofit.models.tables import Tables, tables
from cofit.roles.local.training import TrainingRun

CLASSES_FROM_DATA = (
    "the two classes were taken from the labels instead of being agreed on: which ones occur is no secret"
)
SEVERAL_FROM_DATA = CLASSES_FROM_DATA.replace("two ", "")


_RARE = 5
"""A class with fewer records may be a slip of the pen: 'Yes' beside 'yes', or 'unknown'."""


def warn_of_rare_classes(given: Tables) -> None:
    """Tell whoever calls ``fit`` of classes that hardly occur, where all were taken from the labels."""
    labels = np.concatenate([table.labels for table in given.owners.values() if table.labels is not None])
    names, counts = given.classes.tolist(), np.bincount(labels, minlength=len(given.classes)).tolist()
    rare = [f"{name!r} ({count})" for name, count in zip(names, counts, strict=True) if count < _RARE]
    if 0 < len(rare) < len(names):
        warnings.warn(
            f"{len(names)} classes occur in the labels, and some in fewer than {_RARE} of {given.rows:,} records: "
            f"{', '.join(rare[:_RARE])}. Correct the labels if that is a slip; otherwise agree on the classes "
            "beforehand: classes=(...).",
            UserWarning,
            stacklevel=4,
        )


@taught
@dataclass(eq=False, repr=False, kw_only=True)
class PrivateLinearClassifier(ClassifierMixin, PrivateLinearEstimator):  # type: ignore[misc]
    """A classifier. Its parameters are those of every estimator, and the classes."""

    classes: Sequence[Any] | None = None
    reference: Any = None

    def decision_function(self, X: Any, *, smoothing: str | None = None) -> Reals:
        """Return the score of each row, shape (n,), as in training: positive for the second class. Of several classes
        one for each, shape (n, classes).

        smoothing: 'batch' smooths scores by the rows of X, which influence each other's then; None: never.
        """
        rows = self._rows(X)
        return self.model_.decision_function(rows, smoothing=smoothing)

    def smoothed(self, reference: Any) -> LinearModel:
        """Return the model smoothed by unlabelled rows, to score single rows with: ``LinearModel.smoothed``."""
        rows = self._rows(reference)
        return self.model_.smoothed(rows)

    def predict(self, X: Any, *, threshold: float | None = None, smoothing: str | None = None) -> npt.NDArray[Any]:
        """Return the predicted class of each row, shape (n,): the second one where the score is above 0, or of several
        that with the largest score.

        threshold: of two classes, instead, the second class where its probability (``predict_proba``) is above this
        one; without probabilities, where the score is. Warns where 100 rows or more get one class only.
        smoothing: as in ``decision_function``.
        """
        scores = self.decision_function(X, smoothing=smoothing)
        places = self.model_.places(scores, threshold)
        warn_of_one_class(places, self.classes_)
        return np.asarray(self.classes_[places])

    def _tables(self, owners: Any, y: Any, partition: str) -> Tables:
        given = tables(owners, y, partition, type(self).__name__, self.classes)
        if len(given.classes) > 2 and not self._descends:
            raise InvalidInputError(
                f"Only binary classification is supported with recipe='paper' and with delta=0. The labels of all "
                f"owners together have {len(given.classes)} classes: use recipe='best' with a delta above 0."
            )
        if self.classes is None and len(given.classes) > 2:
            warn_of_rare_classes(given)
        return given

    def _model(self, run: TrainingRun, given: Tables) -> LinearModel:
        names, reference = given.feature_names, given.reference
        return LinearModel.from_training(run, given.classes.tolist(), names, reference=reference)

    def _reference(self, given: Tables) -> ReferenceMap | None:
        return estimator_reference(self.reference, given, self.epsilon, self.delta)

    @classmethod
    def _stated(cls, model: LinearModel) -> dict[str, Any]:
        return stated_parameters(model) | {"reference": model.reference}

    def _caveats(self, given: Tables) -> tuple[str, ...]:
        if self.classes is not None:
            return ()
        return (CLASSES_FROM_DATA if len(given.classes) == 2 else SEVERAL_FROM_DATA,)

    def _take(self, model: LinearModel, given: Tables | None) -> None:
        super()._take(model, given)
        self.coef_ = np.atleast_2d(np.array(model.weights))
        self.released_coef_ = np.atleast_2d(np.array(model.coef))
        self.intercept_ = np.atleast_1d(np.array(model.intercept))
        self.classes_ = np.asarray(model.classes) if given is None else given.classes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._descends
        return tags
