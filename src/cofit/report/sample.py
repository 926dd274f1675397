"""The public sample of an accuracy forecast: a labelled table in the model's columns, checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cofit.errors import InvalidInputError
from cofit.experiments.public_rows import PublicRows, public_sample
from cofit.learn.bounds import beyond, scaled_by_bounds
from cofit.models.linear_model import LinearModel
from cofit.models.study_model import StudyModel
from cofit.models.target_range import TargetRange
from cofit.report.source import linear
from cofit.roles.files.plain_arrays import plain_arrays
from cofit.roles.files.tables import read_study_table
from cofit.roles.files.text_tables import ANY_LAYOUT, TextLayout
from cofit.study.problems import TableError


def load_sample(path: Path, model: LinearModel | StudyModel, layout: TextLayout = ANY_LAYOUT) -> PublicRows:
    """Return the rows of a file, or raise InvalidInputError with what does not fit.

    For a study's model: a table as owners have it, with features and label. For a plain model: .npz with X, one column
    for each feature, and y, the model's classes or their places from 0 on; of a regressor targets in their own units.
    """
    if isinstance(model, StudyModel):
        table = read_study_table(path, model.features, model.label, model.model.classes, layout)
        try:
            labels, features = model.labels(table), model.encode(table)
        except TableError as error:
            raise TableError(f"The sample '{path}' does not fit the model. {error}") from None
    else:
        features, labels = _plain(path, model)
    one = linear(model)
    if one.target_range is not None:
        labels = scaled_by_bounds(np.asarray(labels, dtype=np.float64), *one.target_range)
    return public_sample(
        features,
        labels,
        features.shape[1],
        f"the sample {path.name}",
        numbers=one.target_range is not None,
        classes=len(one.classes),
        largest=one.largest_count,
    )


def _plain(path: Path, model: LinearModel) -> tuple[Any, Any]:
    """Return X and y of an .npz file."""
    if path.suffix.lower() != ".npz" or not path.is_file():
        raise InvalidInputError(
            "The sample of a model without a study must be an .npz file that exists, with arrays X (the model's "
            f"columns, scaled as in training) and y. Got '{path}' instead."
        )
    found = plain_arrays(path)
    if not {"X", "y"} <= set(found):
        raise InvalidInputError(f"'{path}' must hold the arrays X and y. Got {sorted(found)} instead.")
    x, y = found["X"], found["y"]
    if x.ndim != 2 or x.shape[1] != model.inputs or x.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"The array X of '{path}' must be a table of numbers with the model's {model.inputs} columns. Got "
            f"{x.dtype} of shape {x.shape} instead."
        )
    if not np.isfinite(x).all():
        raise InvalidInputError(f"The array X of '{path}' must hold finite numbers only.")
    if y.shape != x.shape[:1]:
        raise InvalidInputError(f"The array y of '{path}' must have one label for each of the {len(x)} rows of X.")
    if model.target_range is not None:
        return x.astype(np.float64), _numbers(path, y, model.target_range)
    for classes in (model.classes, tuple(range(len(model.classes)))):
        if set(y.tolist()) <= set(classes):
            return x.astype(np.float64), np.array([classes.index(label) for label in y.tolist()], dtype=np.int64)
    words = f"{model.classes[0]} and {model.classes[1]}, or 0 and 1"
    if len(model.classes) > 2:
        words = f"{', '.join(map(str, model.classes))}, or integers from 0 to {len(model.classes) - 1}"
    raise InvalidInputError(f"The labels y of '{path}' must be {words}.")


def _numbers(path: Path, y: Any, target_range: TargetRange) -> Any:
    """Return targets, or refuse them."""
    lower, upper = target_range
    if y.dtype.kind not in "biuf" or not np.isfinite(y).all() or beyond(y.astype(np.float64), lower, upper).any():
        raise InvalidInputError(f"The targets y of '{path}' must be numbers from {lower:g} to {upper:g}.")
    return y
