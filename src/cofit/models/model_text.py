"""The text of a file that holds a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from cofit.errors import CofitError, InvalidInputError

Model = TypeVar("Model")

CUT_OFF = "This is not a model, or it was cut off: copy it again, or fetch it again (`cofit model`)."
_LARGEST_FILE = 1 << 30
_WRITERS = "a file that `cofit model`, `cofit run`, `cofit demo` or an estimator's save wrote"


def written_by(model: Any) -> str:
    """Return the remedy for a model in a format that is not read here, with the release of cofit that wrote it."""
    certificate = model.get("certificate") if isinstance(model, dict) else None
    release = certificate.get("cofit_version") if isinstance(certificate, dict) else None
    which = f", cofit {release}" if isinstance(release, str) and release.isprintable() else ""
    return f"; use the release that wrote it{which}"


class MissingModelError(InvalidInputError, FileNotFoundError):
    """There is no such file."""


def model_text(path: str | Path) -> str:
    """Return the text of a model's file, or raise InvalidInputError that names the file."""
    file = Path(path)
    if not file.exists():
        raise MissingModelError(f"The model '{file}' does not exist. Give {_WRITERS}.")
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST_FILE:
            raise InvalidInputError(f"The model must be {_WRITERS}. Got '{file}' instead.")
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"The model '{file}' cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InvalidInputError(f"The model '{file}' is not UTF-8 text. {CUT_OFF}") from None


def loaded(path: str | Path, from_json: Callable[[str], Model]) -> Model:
    """Return the model of a file, or raise InvalidInputError that names the file."""
    text = model_text(path)
    try:
        return from_json(text)
    except CofitError as error:
        raise InvalidInputError(f"{path}: {error}") from None
