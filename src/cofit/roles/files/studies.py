"""Studies on disk: one TOML file; certificates, schema and reference that it names are read relative to
it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cofit.errors import InvalidInputError
from cofit.roles.files.references import DIRECTIONS, REFERENCE, named_reference
from cofit.study.document import Study
from cofit.study.parse import parse_study
from cofit.study.parse_program import parse_program_study
from cofit.study.program import ProgramStudy

_LARGEST_TOML = 64 << 20
_LARGEST_CERTIFICATE = 1 << 16
_JOB = "job"
_ROLES = ("parties", "owners", "analysts", "clients", "dealer")


def load_study(path: str | Path) -> Study:
    """Read a study of training, its schema file and its certificates; raise InvalidInputError with the place of what is
    wrong."""
    file = Path(path)
    return _training(file, _toml(file, "study"))


def load_agreement(path: str | Path) -> Study | ProgramStudy:
    """The same for a study of any kind: of training, or of a program."""
    file = Path(path)
    document = _toml(file, "study")
    return _program(file, document) if _JOB in document else _training(file, document)


def load_program_study(path: str | Path) -> ProgramStudy:
    """The same for a study of a program; one of training is refused."""
    file = Path(path)
    document = _toml(file, "study")
    if _JOB not in document:
        raise InvalidInputError(f"{file}: this study trains a model. A study of a program has a table [job].")
    return _program(file, document)


def _program(file: Path, document: Mapping[str, Any]) -> ProgramStudy:
    try:
        return parse_program_study(document, dict(_certificates(file, document)))
    except InvalidInputError as error:
        raise type(error)(f"{file}: {error}") from None


def load_study_without_reference(path: str | Path) -> Study:
    """The same as ``load_study``, but for the reference that the study names, whose file may not be there yet."""
    file = Path(path)
    return _training(file, _without_reference(_toml(file, "study")))


def _without_reference(document: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(data := document.get("data"), dict):
        return dict(document)
    return {**document, "data": {name: value for name, value in data.items() if name not in (REFERENCE, DIRECTIONS)}}


def _training(file: Path, document: dict[str, Any]) -> Study:
    if _JOB in document:
        raise InvalidInputError(
            f"{file}: this study runs a program and trains no model, so this command has nothing to do. Its results "
            "come with `cofit result`; `cofit run-program` rehearses it."
        )
    data = document.get("data")
    if isinstance(data, dict) and "schema" in data:
        data = dict(data)
        name = data.pop("schema")
        if "features" in data or not isinstance(name, str):
            raise InvalidInputError(
                f"{file}: give the features either in [[data.features]] or in a file, as data.schema = 'schema.toml'."
            )
        schema = _toml(file.parent / name, "schema")
        if set(schema) != {"features"}:
            raise InvalidInputError(
                f"{file.parent / name}: a schema file holds tables [[features]] and nothing else. Got {sorted(schema)}."
            )
        document["data"] = data | schema
    try:
        certificates = dict(_certificates(file, document))
        found = named_reference(
            file.parent, document.get("data"), lambda: parse_study(_without_reference(document), certificates)
        )
        return parse_study(document, certificates, found)
    except InvalidInputError as error:
        raise type(error)(f"{file}: {error}") from None


def _certificates(study: Path, document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield every certificate that the document names; what is malformed is left to ``parse_study``."""
    for role in _ROLES:
        entries = document.get(role)
        single = isinstance(entries, dict)
        for i, entry in enumerate([entries] if single else entries if isinstance(entries, list) else []):
            name = entry.get("certificate") if isinstance(entry, dict) else None
            if isinstance(name, str) and name:
                field = f"{role}.certificate" if single else f"{role}[{i}].certificate"
                raw = _bytes(study.parent / name, f"The file of {field}", _LARGEST_CERTIFICATE)
                yield name, raw.decode("ascii", errors="replace")


def _toml(path: Path, what: str) -> dict[str, Any]:
    raw = _bytes(path, f"The {what}", _LARGEST_TOML)
    try:
        return tomllib.loads(raw.decode())
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InvalidInputError(f"{path}: line {line} is not UTF-8 text. Save the file as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"{path} is not valid TOML: {error}.{_comma(str(error), raw.decode())}") from None


def _comma(error: str, text: str) -> str:
    """Return what to write, if the line that the error names has a decimal comma; the line itself is not shown."""
    found = re.search(r"at line (\d+)", error)
    line = text.split("\n")[int(found[1]) - 1] if found else ""
    return " Write numbers with a decimal point, as in 1.5." if re.search(r"=\s*[+-]?\d+,\d", line) else ""


def _bytes(path: Path, what: str, largest: int) -> bytes:
    try:
        if not path.is_file():
            raise InvalidInputError(f"{what} must be a file that exists. Got '{path}' instead.")
        if path.stat().st_size > largest:
            raise InvalidInputError(f"{what} must have at most {largest} bytes. Got '{path}' instead.")
        return path.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"{what} cannot be read: '{path}': {error.strerror}.") from None
