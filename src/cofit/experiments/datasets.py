"""Data sets of experiments: built-in, made up, or from a file.

    breast-cancer                          scikit-learn's, 569 x 30, scaled by public ranges
    claims                                 made-up sparse Boolean data, 1713 x 1874 (``claims``); settings follow a
    claims:rows=2000,cols=500,seed=3       colon, by the names of the generator's arguments
    FILE.npz                               arrays X (rows x columns) or indptr, indices, shape (and data): CSR; y: two
                                           classes; patient, group or groups, if there: rows of one person
    FILE.csv .tsv .parquet .arrow          a table; the column ``label`` holds two classes, the column ``group``,
                                           if any, says whose row it is; all others are features, and numbers

Ranges of features that are declared, as recipe "best" can use them: those of breast-cancer, and 0 to 1 wherever all
values are 0 or 1.

A data set in an experiment is public: its accuracy is measured in the clear.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cofit.errors import InvalidInputError, parameter_error
from cofit.experiments.breast_cancer import breast_cancer
from cofit.experiments.claims import claims
from cofit.experiments.coordinates import UnitRows, in_coordinates
from cofit.roles.files.plain_arrays import plain_arrays
from cofit.roles.files.tables import read_table

BREAST_CANCER = "breast-cancer"
CLAIMS = "claims"
CLAIMS_SIZE = {"rows": 1713, "cols": 1874}
_GROUPS = ("patient", "group", "groups")
_MOST_CELLS = 1 << 31
_LONGEST_NAME = 50


@dataclass(frozen=True, repr=False)
class DataSet:
    """``labels``: 0 and 1. ``groups``: rows with the same number are of one person; None: every row is a person's own.

    ``spec``: what was asked for; ``about``: one sentence for the tables. ``declared``: the public range of all
    features, None where nothing is known beside their values.
    """

    name: str
    spec: str
    about: str
    features: npt.NDArray[Any]
    labels: npt.NDArray[np.int64]
    groups: npt.NDArray[np.int64] | None = None
    declared: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        x, y = self.features, self.labels
        if x.ndim != 2 or y.shape != x.shape[:1] or not x.shape[1]:
            raise InvalidInputError(
                f"Data set '{self.name}': features must be a table with a label for each row. Got shapes {x.shape} and "
                f"{y.shape} instead."
            )
        if x.dtype.kind not in "biuf":
            raise InvalidInputError(f"Data set '{self.name}': features must be numbers. Got {x.dtype} instead.")
        if x.dtype.kind == "f" and not np.isfinite(x).all():
            raise InvalidInputError(
                f"Data set '{self.name}': features must be finite. Remove or impute what is missing."
            )
        if self.groups is not None and self.groups.shape != y.shape:
            raise InvalidInputError(f"Data set '{self.name}': there must be one group for each row.")

    def __repr__(self) -> str:
        return f"<DataSet '{self.name}', {self.features.shape[0]} rows, {self.features.shape[1]} columns>"

    @cached_property
    def ranges(self) -> tuple[float, float] | None:
        """The least and the largest value that a feature can have: as declared, or 0 and 1 for Boolean columns."""
        if self.declared is not None:
            return self.declared
        x = self.features
        return (0.0, 1.0) if bool(((x == 0) | (x == 1)).all()) else None

    @cached_property
    def unit(self) -> UnitRows:
        """All rows at length 1: what the methods of the comparison train on, and are scored on."""
        return in_coordinates(self.features)

    @cached_property
    def centred(self) -> UnitRows:
        """The same of rows less half of their own mean, as in recipe best without a level."""
        return in_coordinates(self.features - self.features.mean(axis=1, keepdims=True, dtype=np.float64) / 2)

    @property
    def digest(self) -> str:
        """SHA-256 of the data: what results belong to."""
        digest = hashlib.sha256()
        for array in (self.features, self.labels, np.zeros(0) if self.groups is None else self.groups):
            digest.update(f"{array.dtype.str} {array.shape} ".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(b"" if self.declared is None else repr(self.declared).encode())
        return digest.hexdigest()


def load_data_set(spec: str, *, label: str | None = None, group: str | None = None) -> DataSet:
    """Return the data set that ``spec`` names, as the module says; InvalidInputError with the reason otherwise."""
    if spec == BREAST_CANCER:
        features, labels = breast_cancer()
        about = "breast cancer, benign or malignant (scikit-learn), scaled by public ranges"
        return DataSet(BREAST_CANCER, spec, about, features, labels, declared=(-1.0, 1.0))
    if spec == CLAIMS or spec.startswith(f"{CLAIMS}:"):
        return _claims(spec)
    path = Path(spec)
    if not path.is_file():
        raise parameter_error(
            "data",
            "cofit experiment",
            f"'{BREAST_CANCER}', '{CLAIMS}', '{CLAIMS}:rows=...' or a file that exists",
            spec,
        )
    if path.suffix.lower() == ".npz":
        return _npz(path)
    if label is None:
        raise InvalidInputError(f"'{path}' is a table: name the column with the classes (--label).")
    return _table(path, label, group)


def _claims(spec: str) -> DataSet:
    known = {name: parameter.default for name, parameter in inspect.signature(claims).parameters.items()}
    settings: dict[str, Any] = dict(CLAIMS_SIZE)
    for item in filter(None, spec.partition(":")[2].split(",")):
        name, _, text = item.partition("=")
        if name not in known:
            raise parameter_error("data", "cofit experiment", f"'{CLAIMS}:' with settings of {list(known)}", spec)
        kind = float if isinstance(known[name], float) else int
        try:
            settings[name] = kind(text)
        except ValueError:
            raise parameter_error(name, f"'{CLAIMS}:'", f"a number ({kind.__name__})", text) from None
    made = claims(**settings)
    rest = [f"{name} {value}" for name, value in settings.items() if name not in CLAIMS_SIZE]
    about = "made-up sparse Boolean data like medical claims" + (f" ({', '.join(rest)})" if rest else "")
    name = CLAIMS if spec == CLAIMS else f"{CLAIMS}-" + "-".join(f"{k}{v}" for k, v in settings.items())
    return DataSet(name, spec, about, made.features, made.labels)


def _npz(path: Path) -> DataSet:
    found = plain_arrays(path)
    groups = next((found[name] for name in _GROUPS if name in found), None)
    if "y" not in found or not ("X" in found or {"indptr", "indices", "shape"} <= set(found)):
        raise InvalidInputError(
            f"'{path}' must hold y, and X or indptr, indices and shape (CSR). Got {sorted(found)} instead."
        )
    features = found["X"] if "X" in found else _dense(path, found)
    return DataSet(
        _name(path),
        str(path.name),
        f"the file {path.name}",
        features,
        _two_classes(path, found["y"]),
        None if groups is None else _numbered(path, groups),
    )


def _name(path: Path) -> str:
    """Return a name for a file that other files can be named after, and that a table shows as it is."""
    return re.sub(r"[^\w.+-]", "-", path.stem)[:_LONGEST_NAME]


def _dense(path: Path, found: dict[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return a table from compressed sparse rows; entries without ``data`` are 1."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - only for such files

    try:
        if any(found[name].ndim != 1 or found[name].dtype.kind not in "iu" for name in ("indptr", "indices", "shape")):
            raise ValueError("indptr, indices and shape must be lists of integers")
        indices = found["indices"]
        data = found.get("data", np.ones(len(indices), dtype=np.uint8))
        rows, cols = (int(size) for size in found["shape"])
        if rows * cols > _MOST_CELLS:
            raise ValueError(f"{rows} x {cols} is more than {_MOST_CELLS} cells")
        matrix = csr_matrix((data, indices, found["indptr"]), shape=(rows, cols))
        matrix.check_format(full_check=True)
        return np.asarray(matrix.toarray())
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"The sparse rows of '{path}' do not fit together: {error}.") from None


def _table(path: Path, label: str, group: str | None) -> DataSet:
    table = read_table(path)
    for option, name in (("--label", label), ("--group", group)):
        if name is not None and name not in table.column_names:
            raise parameter_error(option, "cofit experiment", f"a column of {path.name}", name)
    if repeated := sorted({name for name in table.column_names if table.column_names.count(name) > 1}):
        raise InvalidInputError(f"The columns of '{path}' must have different names. Rename one of each: {repeated}.")
    names = [name for name in table.column_names if name not in (label, group)]
    columns = []
    for name in names:
        try:
            columns.append(table[name].cast(pa.float64()).to_numpy())
        except pa.ArrowException:
            raise InvalidInputError(
                f"Column '{name}' of '{path}' must hold numbers. If it says whose row it is, name it with --group; "
                "otherwise encode it as numbers, or leave it out."
            ) from None
    features = np.column_stack(columns) if columns else np.zeros((table.num_rows, 0))
    groups = None if group is None else _numbered(path, _complete(path, table, group))
    labels = _two_classes(path, _complete(path, table, label))
    return DataSet(_name(path), path.name, f"the file {path.name}", features, labels, groups)


def _complete(path: Path, table: pa.Table, name: str) -> npt.NDArray[Any]:
    """Return a column, or refuse one with gaps."""
    if table[name].null_count:
        raise InvalidInputError(f"Column '{name}' of '{path}' must have no gaps. Fill them, or leave these rows out.")
    return np.asarray(table[name].to_pylist())


def _two_classes(path: Path, labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    _refuse_nan(path, "labels", labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) != 2:
        raise InvalidInputError(f"The labels of '{path}' must be of two classes. Got {len(classes)} instead.")
    return np.asarray(codes.reshape(labels.shape), dtype=np.int64)


def _numbered(path: Path, groups: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    _refuse_nan(path, "groups", groups)
    return np.asarray(np.unique(groups, return_inverse=True)[1].reshape(groups.shape), dtype=np.int64)


def _refuse_nan(path: Path, what: str, values: npt.NDArray[Any]) -> None:
    """NaN is no class and no person: rows without one would count as those of one."""
    if values.dtype.kind in "fc" and np.isnan(values).any():
        raise InvalidInputError(f"The {what} of '{path}' must not be NaN. Fill them, or leave these rows out.")
