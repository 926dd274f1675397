"""Studies, keys and tables on disk.

A study is one TOML file; certificates and the schema file that it names are read relative to it. Tables are CSV, TSV,
Parquet, Arrow or .npz files of one owner: they are read as they are, and checked by ``cofit.study.encode``.
"""

from __future__ import annotations

import contextlib
import os
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from cryptography import x509

from cofit.errors import InvalidInputError
from cofit.roles.key_files import load_key
from cofit.roles.plain_arrays import plain_arrays
from cofit.roles.text_tables import ANY_LAYOUT, TextLayout, no_rows, read_text_table
from cofit.study.document import Feature, Study
from cofit.study.encode import owner_named
from cofit.study.parse import parse_study
from cofit.study.problems import TableError
from cofit.transport import Identity

_LARGEST_TOML = 64 << 20
_LARGEST_CERTIFICATE = 1 << 16
_ROLES = ("parties", "owners", "analysts", "dealer")
_USUAL_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_SUFFIXES = ".csv, .tsv, .parquet, .arrow, .feather or .npz"


# --- the study -------------------------------------------------------------------------------------------


def load_study(path: str | Path) -> Study:
    """Read a study, its schema file and its certificates; raise InvalidInputError with the place of what is wrong."""
    file = Path(path)
    document = _toml(file, "study")
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
        return parse_study(document, dict(_certificates(file, document)))
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
        raise InvalidInputError(f"{path} is not valid TOML: {error}.") from None


def _bytes(path: Path, what: str, largest: int) -> bytes:
    try:
        if not path.is_file():
            raise InvalidInputError(f"{what} must be a file that exists. Got '{path}' instead.")
        if path.stat().st_size > largest:
            raise InvalidInputError(f"{what} must have at most {largest} bytes. Got '{path}' instead.")
        return path.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"{what} cannot be read: '{path}': {error.strerror}.") from None


# --- keys ------------------------------------------------------------------------------------------------


def write_identity(identity: Identity, directory: str | Path) -> tuple[Path, Path]:
    """Write NAME.key (mode 0600) and NAME.pem; return both paths. Existing files are never replaced."""
    folder = Path(directory)
    key, certificate = folder / f"{identity.name}.key", folder / f"{identity.name}.pem"
    for path in (key, certificate):
        if path.exists() or path.is_symlink():
            raise InvalidInputError(
                f"'{path}' exists, and a key is never overwritten. Choose another name or directory, or remove it "
                "yourself if no study uses it any more."
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_new(key, identity.private_key_pem, 0o600)
        try:
            _write_new(certificate, identity.certificate_pem, 0o644)
        except OSError:
            key.unlink()
            raise
    except OSError as error:
        raise InvalidInputError(f"The key cannot be written to '{folder}': {error.strerror}.") from None
    return key, certificate


def load_identity_for(study: Study, key_path: str | Path, name: str | None = None) -> Identity:
    """Return who the key makes us in the study, as ``load_key`` does; a certificate out of its dates is refused."""
    identity = load_key(study, key_path, name)
    certificate = x509.load_pem_x509_certificate(identity.certificate_pem.encode())
    first, last, now = certificate.not_valid_before_utc, certificate.not_valid_after_utc, datetime.now(UTC)
    if not first <= now <= last:
        raise InvalidInputError(
            f"The certificate of '{identity.name}' is valid from {first:%Y-%m-%d} to {last:%Y-%m-%d}, and here it is "
            f"{now:%Y-%m-%d}. Correct the clock of this machine, or make a new key and agree on a new study."
        )
    return identity


def _write_new(path: Path, text: str, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)


# --- tables ----------------------------------------------------------------------------------------------


def read_owner_table(study: Study, owner: str, path: str | Path, layout: TextLayout = ANY_LAYOUT) -> pa.Table:
    """Read the table of one owner of a study; in an .npz file X and y are its features, in order, and the label."""
    entry = owner_named(study, owner)
    data = study.data
    values = data.label_values if entry.holds_label else None
    return read_study_table(path, study.features_of(entry), data.label if values else None, values or (), layout)


def read_study_table(
    path: str | Path,
    features: Sequence[Feature],
    label: str | None = None,
    label_values: Sequence[object] = (),
    layout: TextLayout = ANY_LAYOUT,
) -> pa.Table:
    """Read a table in the columns of a study, whose types say which columns hold numbers."""
    numbers = {feature.name for feature in features if feature.type == "number" or _whole(feature.values)}
    if label is not None and _whole(label_values):
        numbers.add(label)
    return read_table(
        path, features=[feature.name for feature in features], label=label, numbers=numbers, layout=layout
    )


def read_table(
    path: str | Path,
    *,
    features: Sequence[str] = (),
    label: str | None = None,
    numbers: Collection[str] | None = None,
    layout: TextLayout = ANY_LAYOUT,
) -> pa.Table:
    """Read a table by the ending of its name; raise InvalidInputError with what is wrong and where.

    .csv, .tsv: the first line names the columns; all values stay text, so that nothing is guessed. ``layout`` says what
    stands between columns, the decimal mark of the columns ``numbers``, and the encoding; see
    ``cofit.roles.text_tables`` for what is found out where it does not. .parquet, .arrow, .feather: with their types.
    .npz: one-dimensional arrays are columns under their names; an array X of two dimensions holds the columns
    ``features`` and y is the column ``label``. Pickled arrays are refused.
    """
    file = Path(path)
    if not file.is_file():
        raise InvalidInputError(f"The table must be a file that exists. Got '{file}' instead.")
    table = _read_by_ending(file, features, label, numbers, layout)
    if not table.num_rows:
        raise no_rows(file)
    return table


def _read_by_ending(
    file: Path, features: Sequence[str], label: str | None, numbers: Collection[str] | None, layout: TextLayout
) -> pa.Table:
    suffix = file.suffix.lower()
    if suffix not in _USUAL_SEPARATORS and layout != ANY_LAYOUT:
        raise InvalidInputError(
            f"{', '.join(layout.options[::2])}: only .csv and .tsv files have such. Got '{file}' instead."
        )
    try:
        if suffix in _USUAL_SEPARATORS:
            expected = {*features, *(() if label is None else (label,))}
            return read_text_table(file, layout, usual=_USUAL_SEPARATORS[suffix], expected=expected, numbers=numbers)
        if suffix == ".parquet":
            with pa.parquet.ParquetFile(file) as parquet:
                return parquet.read()
        if suffix in (".arrow", ".feather"):
            return _arrow(file)
        if suffix == ".npz":
            return _npz(file, features, label)
    except pa.ArrowException as error:
        raise TableError(f"'{file}' is not a readable {suffix} file: {str(error).splitlines()[0]}") from None
    except OSError as error:
        raise InvalidInputError(f"'{file}' cannot be read: {error.strerror or error}.") from None
    raise InvalidInputError(f"The name of a table must end in {_SUFFIXES}. Got '{file}' instead.")


def _whole(values: Sequence[object]) -> bool:
    """Whether these categories or classes are whole numbers."""
    return bool(values) and type(values[0]) is int


def _arrow(path: Path) -> pa.Table:
    """Read an Arrow file, or an Arrow stream; values stay in the mapped file where they are not compressed."""
    source = pa.memory_map(str(path))
    with contextlib.suppress(pa.ArrowInvalid):
        return pa.ipc.open_file(source).read_all()
    source.seek(0)
    return pa.ipc.open_stream(source).read_all()


def _npz(path: Path, features: Sequence[str], label: str | None) -> pa.Table:
    columns: dict[str, Any] = {}
    for name, array in plain_arrays(path).items():
        columns |= _npz_columns(path, name, array, features, label)
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InvalidInputError(f"The arrays of '{path}' must have one length. Got {lengths} instead.")
    return pa.table(columns)


def _npz_columns(
    path: Path, name: str, array: np.ndarray[Any, Any], features: Sequence[str], label: str | None
) -> dict[str, Any]:
    if name == "X" and array.ndim == 2:
        if array.shape[1] != len(features):
            raise InvalidInputError(
                f"The array X of '{path}' must have {len(features)} columns, one for each feature of this owner. Got "
                f"{array.shape[1]} instead."
            )
        by_column = np.asfortranarray(array)
        return {feature: pa.array(by_column[:, i]) for i, feature in enumerate(features)}
    if array.ndim != 1:
        raise InvalidInputError(
            f"The array '{name}' of '{path}' must have one dimension (or be X, with two). Got {array.shape} instead."
        )
    return {label if name == "y" and label is not None else name: pa.array(array)}
