"""Read the model that a report is about: of a study, or of an estimator or the demo."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np

from cofit.errors import CofitError, InvalidInputError, parameter_error
from cofit.models.linear_model import LinearModel
from cofit.models.model_files import read_model
from cofit.models.study_model import StudyModel

_LARGEST = 1e100  # squares of what is shown stay finite
_LARGEST_POWER = 300


def load_any_model(path: Path) -> LinearModel | StudyModel:
    """Return the model in a file of either kind, or raise InvalidInputError with the file and the field."""
    model = read_model(path)
    try:
        _check_sizes(linear(model))
    except CofitError as error:
        raise InvalidInputError(f"{path}: {error}") from None
    return model


def linear(model: LinearModel | StudyModel) -> LinearModel:
    """Return the linear model of either kind."""
    return model.model if isinstance(model, StudyModel) else model


def _check_sizes(model: LinearModel) -> None:
    """Refuse numbers that no training gives, and that arithmetic with floats cannot judge."""
    certificate = model.certificate
    name, scale = "noise_expected_norm", Fraction(certificate.noise_expected_norm)
    if certificate.minimiser is not None:
        name, scale = "statement.noise_scale", certificate.minimiser.noise_scale
        grid = certificate.minimiser.grid
        if abs(int(grid.removeprefix("2^"))) > _LARGEST_POWER:
            must_be = f"from 2^-{_LARGEST_POWER} to 2^{_LARGEST_POWER}"
            raise parameter_error("statement.grid", "a model to report on", must_be, grid)
    if not 1 / _LARGEST <= scale <= _LARGEST:
        raise parameter_error(name, "a model to report on", f"within 1e-100 and {_LARGEST:g}", "another one")
    if certificate.descent is not None and certificate.descent.step_size > _LARGEST:
        raise parameter_error("statement.step_size", "a model to report on", f"at most {_LARGEST:g}", "more")
    rows = model.rows
    extras: tuple[float, ...] = ()
    if rows is not None:
        extras = (
            rows.level or 0.0,
            rows.radius or 0.0,
            *(rows.centre or ()),
            *(rows.mean or ()),
            *(rows.stretch or ()),
        )
    if any(abs(value) > _LARGEST for value in extras):
        raise parameter_error("rows", "a model to report on", f"numbers of at most {_LARGEST:g}", "more")
    largest = np.abs(model.intercept).max(), np.abs(model.coef).max()
    if largest[0] > _LARGEST * min(model.constant or 1.0, 1.0) or largest[1] > _LARGEST:
        raise parameter_error("coef", "a model to report on", f"at most {_LARGEST:g}, and so the intercept", "more")
