"""What the fields of a linear model must be, and how they fit together and with the certificate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from cofit.errors import parameter_error
from cofit.learn.losses import loss_named
from cofit.learn.targets import MOST_CLASSES
from cofit.models.column_bounds import checked_bounds
from cofit.models.columns_of_weights import checked_coef, checked_intercept, checked_number
from cofit.models.row_fields import check_rows
from cofit.models.target_range import checked_range
from cofit.privacy.certificate import Certificate

if TYPE_CHECKING:
    from cofit.models.linear_model import LinearModel

_OWNER = "a LinearModel"


def checked_fields(model: LinearModel) -> Iterator[tuple[str, Any]]:
    """Yield the fields in their own types, where they may be given in others; InvalidInputError for a bad one.

    The model must take each before the next is asked for, which may look at it.
    """
    if not isinstance(model.certificate, Certificate):
        refuse("certificate", "a Certificate", type(model.certificate).__name__)
    yield "target_range", _of_target(model)
    for name in ("constant", "norm_floor", "shrinkage"):
        number = checked_number(name, getattr(model, name), refuse)
        if number < 0:
            refuse(name, "at least 0", number)
        yield name, number
    yield "coef", checked_coef(model.coef, model.lines, refuse)
    yield "intercept", checked_intercept(model.intercept, model.lines, refuse)
    if not model.constant and np.any(model.intercept):
        refuse("intercept", "0.0 without an intercept (constant 0.0)", model.intercept)
    if model.certificate.loss != model.loss:
        refuse("certificate", f"that of a model with the loss '{model.loss}'", model.certificate.loss)
    weights = model.lines * (model.features + bool(model.constant))
    if model.certificate.d != weights:
        must_be = f"as long as the certificate says: {model.certificate.d} weights with the intercept"
        refuse("coef", must_be, weights)
    _check_names(model)
    if model.bounds is not None:
        yield "bounds", checked_bounds(model.bounds, model.inputs)
    _check_reference(model)
    check_rows(model.rows, model.features, model.certificate)
    descent = model.certificate.descent
    if descent is not None and model.constant != float(descent.constant):
        refuse("constant", f"{float(descent.constant)}, as the certificate says", model.constant)


def _of_target(model: LinearModel) -> Any:
    """Return the range of what is predicted, None for classes; they and the loss must fit."""
    if not isinstance(model.loss, str):
        refuse("loss", "the name of a loss", model.loss)
    target = loss_named(model.loss).target
    if target.ranged:
        checked = checked_range(model.target_range, _OWNER, target)
        if target.counted and model.certificate.facts.get("largest_count") != int(checked[1]):
            stated = model.certificate.facts.get("largest_count")
            refuse("target_range", f"(0, {stated}), as the certificate says", model.target_range)
        if model.classes != ():
            refuse("classes", f"empty with the loss '{model.loss}', whose target is a number", model.classes)
        return checked
    check_classes(model.classes)
    if model.target_range is not None:
        refuse("target_range", f"left out with the loss '{model.loss}', which is of classes", model.target_range)
    return None


def _check_names(model: LinearModel) -> None:
    names = model.feature_names
    if names is None:
        return
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        refuse("feature_names", "a tuple of texts, or None", names)
    if len(names) != model.inputs:
        refuse("feature_names", f"as many as there are columns, {model.inputs}", f"{len(names)} names")


def _check_reference(model: LinearModel) -> None:
    stated, reference = model.certificate.facts.get("reference"), model.reference
    if stated != (None if reference is None else reference.hash):
        refuse("reference", f"the map that the certificate names ({stated})", reference)
    if reference is not None and reference.columns != model.features:
        refuse("reference", f"a map to {model.features} columns", reference.columns)


def check_classes(classes: object) -> None:
    """Raise InvalidInputError unless these are labels that a model can have: two, or several."""
    if not isinstance(classes, tuple) or not 2 <= len(classes) <= MOST_CLASSES:
        refuse("classes", f"a tuple of 2 to {MOST_CLASSES} labels", classes)
    kinds = {type(label) for label in classes}
    if len(kinds) != 1 or kinds.pop() not in (str, int, float, bool):
        refuse("classes", "labels of one type: str, int, float or bool", classes)
    for label in classes:
        if isinstance(label, float) and not math.isfinite(label):
            refuse("classes", "finite", label)
        if isinstance(label, int) and not -(1 << 63) <= label < 1 << 63:
            refuse("classes", "integers of at most 64 bits", label)
    if len(set(classes)) != len(classes):
        refuse("classes", "all different", classes)


def refuse(name: str, must_be: str, got: object) -> NoReturn:
    """Raise InvalidInputError for a field of a model."""
    raise parameter_error(name, _OWNER, must_be, got)
