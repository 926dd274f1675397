"""Read the model that a report is about: of a study, or of an estimator or the demo."""

from __future__ import annotations

import json
from pathlib import Path

from cofit.errors import CofitError, InvalidInputError, parameter_error
from cofit.models.linear_model import KIND as LINEAR
from cofit.models.linear_model import LinearModel
from cofit.models.study_model import KIND as STUDY
from cofit.models.study_model import StudyModel

_LARGEST_FILE = 1 << 30
_LARGEST = 1e100  # squares of what is shown stay finite
_LARGEST_POWER = 300


def load_any_model(path: Path) -> LinearModel | StudyModel:
    """Return the model in a file of either kind, or raise InvalidInputError with the file and the field."""
    try:
        if not path.exists():
            raise InvalidInputError(f"The model '{path}' does not exist.")
        if not path.is_file() or path.stat().st_size > _LARGEST_FILE:
            raise InvalidInputError(
                f"The model must be a file that `cofit model`, `cofit run`, `cofit demo` or an estimator's save wrote. "
                f"Got '{path}' instead."
            )
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"The model '{path}' cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InvalidInputError(f"The model '{path}' is not UTF-8 text.") from None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInputError(
            f"The model '{path}' is not valid JSON: it is no model, or damaged. Give the model.json that was written "
            f"at the release."
        ) from None
    kind = document.get("kind") if isinstance(document, dict) else None
    try:
        if kind == STUDY:
            study = StudyModel.from_json(text)
            _check_sizes(study.model)
            return study
        if kind == LINEAR:
            linear = LinearModel.from_json(text)
            _check_sizes(linear)
            return linear
    except CofitError as error:
        raise InvalidInputError(f"{path}: {error}") from None
    raise InvalidInputError(
        f"The 'kind' field of '{path}' must be '{STUDY}' or '{LINEAR}'. This file is no model: give model.json, not "
        f"the certificate or the study."
    )


def _check_sizes(model: LinearModel) -> None:
    """Refuse numbers that no training gives, and that arithmetic with floats cannot judge."""
    certificate = model.certificate
    scale = certificate.noise_expected_norm if certificate.noise_scale is None else certificate.noise_scale
    if not 1 / _LARGEST <= scale <= _LARGEST:
        name = "noise_expected_norm" if certificate.noise_scale is None else "noise_scale"
        raise parameter_error(name, "a model to report on", f"within 1e-100 and {_LARGEST:g}", "another one")
    if certificate.grid is not None and abs(int(certificate.grid.removeprefix("2^"))) > _LARGEST_POWER:
        must_be = f"from 2^-{_LARGEST_POWER} to 2^{_LARGEST_POWER}"
        raise parameter_error("grid", "a model to report on", must_be, certificate.grid)
    if certificate.descent is not None and certificate.descent.step_size > _LARGEST:
        raise parameter_error("descent.step_size", "a model to report on", f"at most {_LARGEST:g}", "more")
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
    if abs(model.intercept) > _LARGEST * min(model.constant or 1.0, 1.0) or max(map(abs, model.coef)) > _LARGEST:
        raise parameter_error("coef", "a model to report on", f"at most {_LARGEST:g}, and so the intercept", "more")
