"""From what ``fit`` is given to the owners' tables: names, features, and labels as places among the classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from cofit.errors import InvalidInputError, RangeError, ShapeError, parameter_error
from cofit.learn.bounds import beyond
from cofit.learn.facts import PARTITIONS
from cofit.learn.recipes.descent.reference import ReferenceMap
from cofit.learn.sparse_rows import FeatureTable, SparseRows, first_wrong, is_sparse
from cofit.learn.targets import MOST_CLASSES
from cofit.models.feature_columns import (
    column_names,
    missing_objects,
    refuse_missing,
    refuse_other_than_numbers,
    sparse_features,
    without_values,
)
from cofit.models.model_fields import check_classes
from cofit.roles.local.tables import OwnerTable

LABEL_OWNER = "label-owner"
ONLY_OWNER = "owner"
_PAIRS = "a list of (X, y) pairs, or a mapping from owner to (X, y)"
_BLOCKS = "a list of column blocks, or a mapping from owner to its block"


@dataclass(frozen=True)
class Tables:
    """Every owner's table, the shape of the joint data, the two classes, and the columns' names, if they have any.
    reference: the public map that the owners have applied to their rows, if any; names are of the columns before."""

    owners: dict[str, OwnerTable]
    rows: int
    cols: int
    classes: npt.NDArray[Any]
    feature_names: tuple[str, ...] | None
    reference: ReferenceMap | None = None

    @property
    def features(self) -> list[FeatureTable]:
        """The features of every owner that has some."""
        return [table.features for table in self.owners.values() if table.features is not None]


Read = Callable[[Mapping[str, Any], Mapping[str, FeatureTable]], tuple[dict[str, npt.NDArray[Any]], npt.NDArray[Any]]]
"""From the labels that each owner gave, and features of the same rows, to those of ``OwnerTable``, and the classes."""


def tables(owners: Any, y: Any, partition: str, estimator: str, classes: Any = None) -> Tables:
    """Read the arguments of ``fit``, or raise InvalidInputError with the owner and what is wrong.

    ``classes``: the labels that were agreed on, two or several; None takes them from the labels.
    """
    agreed = None if classes is None else _agreed(classes, estimator)
    return read_tables(owners, y, partition, estimator, partial(_read_classes, agreed=agreed))


def read_tables(owners: Any, y: Any, partition: str, estimator: str, read: Read) -> Tables:
    """The same, for any target."""
    if partition not in PARTITIONS:
        raise parameter_error("partition", f"{estimator}.fit", f"one of {list(PARTITIONS)}", partition)
    if partition == "vertical":
        return _vertical(owners, y, estimator, read)
    if y is not None:
        return _horizontal(_paired(owners, y, estimator), read)
    pairs = _named(owners, estimator, _PAIRS)
    for name, pair in pairs.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InvalidInputError(
                f"{estimator}.fit requires y to be passed, but the target y is None: give fit(X, y) for one owner, or "
                f"{_PAIRS}. Owner '{name}' has no such pair."
            )
    return _horizontal(pairs, read)


def _paired(owners: Any, y: Any, estimator: str) -> dict[str, Any]:
    """Return each owner's (X, y), where features and labels were given apart: by many owners, or by one."""
    if isinstance(owners, Mapping) and not hasattr(owners, "shape"):  # some sparse matrices are mappings
        if not isinstance(y, Mapping) or set(y) != set(owners):
            must_be = f"a mapping with the same owners, or left out: give {_PAIRS}"
            raise parameter_error("y", f"{estimator}.fit", must_be, type(y).__name__)
        return {name: (x, y[name]) for name, x in owners.items()}
    if isinstance(owners, list | tuple) and owners and _dimensions(owners[0]) == 2:
        if not isinstance(y, list | tuple) or len(y) != len(owners) or any(_dimensions(part) != 1 for part in y):
            raise InvalidInputError(
                f"{estimator}.fit got {len(owners)} tables, and not a list of as many labels. Give fit([(X1, y1), "
                f"(X2, y2)]), or fit([X1, X2], [y1, y2]) with one y for each X; for one owner fit(X, y)."
            )
        return _named(list(zip(owners, y, strict=True)), estimator, _PAIRS)
    return {ONLY_OWNER: (owners, y)}


def _dimensions(data: Any) -> int:
    """Return 2 for a table, 1 for a list of values, 0 for a value."""
    shape = getattr(data, "shape", None)
    if shape is not None:
        return len(shape)
    if isinstance(data, list | tuple):
        return 1 + (_dimensions(data[0]) if data else 0)
    return 0 if isinstance(data, str | bytes) or not hasattr(data, "__len__") else 1


def _named(owners: Any, estimator: str, must_be: str) -> dict[str, Any]:
    if isinstance(owners, Mapping):
        named = dict(owners)
    elif isinstance(owners, list | tuple):
        named = {f"owner-{i}": item for i, item in enumerate(owners, 1)}
    else:
        raise InvalidInputError(
            f"{estimator}.fit requires y to be passed, but the target y is None: give fit(X, y) for one owner. For "
            f"several, the 'owners' parameter must be {must_be}. Got {type(owners).__name__} instead."
        )
    if not named:
        raise parameter_error("owners", f"{estimator}.fit", f"{must_be}, with at least one owner", owners)
    return named


def _horizontal(pairs: Mapping[str, Any], read: Read) -> Tables:
    features = {name: _features(name, x) for name, (x, _) in pairs.items()}
    if sum(map(len, features.values())) == 1:
        raise InvalidInputError(
            "All owners together must have two records or more, or none could hide among others. Got n_samples = 1."
        )
    first, *others = features
    for name in others:
        counts = features[first].shape[1], features[name].shape[1]
        if counts[0] != counts[1]:
            raise ShapeError(
                f"All owners must have the same columns. Owner '{first}' has {counts[0]} columns, and owner '{name}' "
                f"has {counts[1]}."
            )
    names = {owner: column_names(x) for owner, (x, _) in pairs.items()}
    for name in others:
        if names[name] != names[first]:
            raise ShapeError(
                f"All owners must have the same columns in the same order. Owner '{first}' has {names[first]}, and "
                f"owner '{name}' has {names[name]}."
            )
    labels, classes = read({name: y for name, (_, y) in pairs.items()}, features)
    owners = {name: OwnerTable(features[name], labels[name]) for name in pairs}
    return Tables(owners, sum(map(len, features.values())), features[first].shape[1], classes, names[first])


def _vertical(owners: Any, y: Any, estimator: str, read: Read) -> Tables:
    if y is None:
        raise InvalidInputError(
            f"{estimator}.fit requires y to be passed, but the target y is None: with partition='vertical' the labels "
            f"come from an owner of their own."
        )
    if not isinstance(owners, Mapping | list | tuple):
        raise parameter_error("owners", f"{estimator}.fit", _BLOCKS, type(owners).__name__)
    blocks = _named(owners, estimator, _BLOCKS)
    if LABEL_OWNER in blocks:
        raise parameter_error("owners", f"{estimator}.fit", f"without the name '{LABEL_OWNER}'", LABEL_OWNER)
    features = {name: _features(name, block) for name, block in blocks.items()}
    first, *others = features
    for name in others:
        counts = len(features[first]), len(features[name])
        if counts[0] != counts[1]:
            raise ShapeError(
                f"All owners must have the same rows. Owner '{first}' has {counts[0]} rows, and owner '{name}' has "
                f"{counts[1]}."
            )
    labels, classes = read({LABEL_OWNER: y}, {LABEL_OWNER: features[first]})
    result = {name: OwnerTable(features=block) for name, block in features.items()}
    result[LABEL_OWNER] = OwnerTable(labels=labels[LABEL_OWNER])
    names = [column_names(block) for block in blocks.values()]
    joint = None if any(n is None for n in names) else tuple(name for n in names for name in n or ())
    return Tables(result, len(features[first]), sum(x.shape[1] for x in features.values()), classes, joint)


def _features(owner: str, x: Any) -> FeatureTable:
    whose = f"Owner '{owner}'"
    if is_sparse(x):
        return sparse_features(x, whose)
    refuse_other_than_numbers(x, whose)
    array = without_values(whose, lambda: np.asarray(check_array(x, ensure_all_finite=False, input_name="X")))
    refuse_missing(array, column_names(x), whose)
    return array


def _read_classes(
    given: Mapping[str, Any], features: Mapping[str, FeatureTable], agreed: npt.NDArray[Any] | None
) -> tuple[dict[str, npt.NDArray[Any]], npt.NDArray[Any]]:
    labels = {name: _labels(name, y, features[name]) for name, y in given.items()}
    classes = _classes(labels, agreed)
    return {name: _encoded(own, classes) for name, own in labels.items()}, classes


def target_column(owner: str, y: Any, features: FeatureTable, must_be: str) -> npt.NDArray[Any]:
    """Return labels or targets, one for each row, of which none is missing. must_be: what they must be."""
    whose = f"Owner '{owner}'"
    labels = without_values(whose, lambda: np.asarray(column_or_1d(y, warn=True)))
    without_values(whose, lambda: check_consistent_length(range(len(features)), labels))
    if labels.dtype.kind in "mM":
        raise InvalidInputError(f"{whose}: the labels are dates or times. They must be {must_be}.")
    missing = np.isnan(labels) if labels.dtype.kind == "f" else missing_objects(labels)
    if missing.any():
        raise InvalidInputError(
            f"{whose}: {int(missing.sum())} of {len(labels)} labels are missing, first in row "
            f"{int(np.argmax(missing))} (counted from 0). Remove these rows: every record needs a label."
        )
    without_values(whose, lambda: assert_all_finite(labels, input_name="y"))
    return labels


def _labels(owner: str, y: Any, features: FeatureTable) -> npt.NDArray[Any]:
    labels = target_column(owner, y, features, "classes")
    without_values(f"Owner '{owner}'", lambda: check_classification_targets(labels))
    return labels


def _agreed(classes: Any, estimator: str) -> npt.NDArray[Any]:
    """Return the classes that were agreed on, sorted, or refuse them."""
    array = np.unique(np.asarray(classes)) if isinstance(classes, list | tuple | np.ndarray) else None
    if array is None or not 2 <= len(array) <= MOST_CLASSES or np.shape(classes) != array.shape:
        raise parameter_error("classes", estimator, f"2 to {MOST_CLASSES} different labels, or None", classes)
    check_classes(tuple(array.tolist()))
    return array


def _classes(labels: Mapping[str, npt.NDArray[Any]], agreed: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    """Return the classes, sorted: those agreed on, or those of all owners together."""
    if agreed is not None:
        for owner, own in labels.items():
            if not np.isin(own, agreed).all():
                row = int(np.argwhere(~np.isin(own, agreed))[0][0])
                raise InvalidInputError(
                    f"Owner '{owner}': the label of row {row} is none of the agreed classes {agreed.tolist()}."
                )
        return agreed
    try:
        unique_labels(*labels.values())
    except ValueError as error:
        raise InvalidInputError(f"The labels of the owners do not fit together: {error}") from None
    classes = np.unique(np.concatenate(list(labels.values())))
    if len(classes) == 1:
        raise InvalidInputError(
            "The labels of all owners together must have two classes or more. Got one class instead. If others may be "
            "absent, agree on all of them: classes=(...)."
        )
    if len(classes) > MOST_CLASSES:
        raise InvalidInputError(
            f"The labels of all owners together must have at most {MOST_CLASSES} classes. Got {len(classes):,} classes "
            f"instead: are they numbers that RidgeRegression should predict?"
        )
    check_classes(tuple(classes.tolist()))
    return classes


def _encoded(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the place of every label among the classes, which are sorted."""
    return np.asarray(np.searchsorted(classes, labels), dtype=np.int64)


def refuse_beyond(given: Tables, bound: float, *, vertical: bool) -> None:
    """Refuse values beyond the agreed bound by more than rounding, by the names of columns and without a value."""
    first = 0
    for owner, table in given.owners.items():
        if table.features is None:
            continue
        found = _first_outside(table.features, -bound, bound)
        if found is not None:
            column, count, row = found
            raise RangeError(
                f"Owner '{owner}': {count:,} of {len(table.features):,} values of column "
                f"{_column(given, first + column)} are larger in magnitude than the agreed feature_bound, {bound:g} "
                f"(the first in row {row}, counted from 0). Map the column to [-{bound:g}, {bound:g}] by public bounds "
                f"(cofit.PublicScaler), or agree on a larger feature_bound."
            )
        first += table.features.shape[1] if vertical else 0


def refuse_below(given: Tables, lower: float, bound: float) -> None:
    """The same for values of owners of columns below the agreed ``feature_lower``."""
    first = 0
    for owner, table in given.owners.items():
        if table.features is None:
            continue
        found = _first_outside(table.features, lower, bound)
        if found is not None:
            column, count, row = found
            raise RangeError(
                f"Owner '{owner}': {count:,} of {len(table.features):,} values of column "
                f"{_column(given, first + column)} are below the agreed feature_lower, {lower:g} (the first in row "
                f"{row}, counted from 0). Agree on a smaller feature_lower (minus feature_bound is always right)."
            )
        first += table.features.shape[1]


def _column(given: Tables, place: int) -> str:
    """Return what to call a column: by its name, or by its place from 0 where columns have none."""
    return str(place) if given.feature_names is None else f"'{given.feature_names[place]}'"


def _first_outside(features: FeatureTable, lower: float, upper: float) -> tuple[int, int, int] | None:
    """Return a column with values beyond a bound, how many, and the first row of them; None without any.

    Of a sparse matrix, among the values that it stores.
    """
    if isinstance(features, SparseRows):
        matrix = features.matrix
        return first_wrong(matrix, beyond(matrix.data.astype(np.float64), lower, upper))
    wrong = beyond(np.asarray(features, dtype=np.float64), lower, upper)
    if not wrong.any():
        return None
    row, column = (int(i) for i in np.argwhere(wrong)[0])
    return column, int(wrong[:, column].sum()), row
