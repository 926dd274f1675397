"""Open the file of any model: of an estimator, of the demo, or of a study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from cofit.errors import CofitError, InvalidInputError
from cofit.models.linear_model import KIND as LINEAR
from cofit.models.linear_model import LinearModel
from cofit.models.model_text import CUT_OFF, model_text
from cofit.models.study_model import KIND as STUDY
from cofit.models.study_model import StudyModel

if TYPE_CHECKING:
    from cofit.models.study_classifier import StudyClassifier
    from cofit.models.study_regressor import StudyRegressor


def load_model(path: str | Path) -> LinearModel | StudyClassifier | StudyRegressor:
    """Return the model in a file, ready to predict.

    The model of a study (`cofit model`, `cofit run`) is a fitted scikit-learn classifier of raw tables, a
    ``StudyClassifier``, or a ``StudyRegressor`` where the label is a number. What ``save`` of an estimator or of a
    model wrote is a ``LinearModel``, without scikit-learn.
    """
    model = read_model(path)
    if isinstance(model, LinearModel):
        return model
    from cofit.models.study_classifier import StudyClassifier  # noqa: PLC0415 - takes a second
    from cofit.models.study_regressor import StudyRegressor  # noqa: PLC0415

    return StudyClassifier(model) if model.model.target_range is None else StudyRegressor(model)


def read_model(path: str | Path) -> LinearModel | StudyModel:
    """Return the model in a file of either kind, or raise InvalidInputError with the file and the field.

    The certificate is rebuilt from its facts and compared; signatures that are there must fit.
    """
    return model_of_text(model_text(path), path)


def model_of_text(text: str, path: str | Path) -> LinearModel | StudyModel:
    """Return the model in the text of a file; ``path`` is for messages."""
    kind = model_kind(text, path)
    try:
        return StudyModel.from_json(text) if kind == STUDY else LinearModel.from_json(text)
    except CofitError as error:
        raise InvalidInputError(f"{path}: {error}") from None


def model_kind(text: str, path: str | Path) -> str:
    """Return which kind of model a text is, or raise InvalidInputError if it is none."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInputError(f"The model '{path}' is not valid JSON. {CUT_OFF}") from None
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind not in (STUDY, LINEAR):
        raise InvalidInputError(
            f"The 'kind' field of '{path}' must be '{STUDY}' or '{LINEAR}'. This file is not a model: give model.json, "
            f"not the certificate or the study."
        )
    return str(kind)
