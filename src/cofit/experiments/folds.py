"""Cross-validation folds, and the division of rows or columns among owners: from a seed, persons kept together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError, parameter_error
from cofit.experiments.datasets import DataSet

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Fold:
    """The rows to train on and the rows to test on."""

    train: Places
    test: Places


def folds(data: DataSet, count: int, seed: int) -> tuple[Fold, ...]:
    """Return ``count`` folds with the classes in proportion; the rows of one person are all in one of them."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold  # noqa: PLC0415 - a second to import

    persons = len(data.labels) if data.groups is None else len(np.unique(data.groups))
    rarest = int(np.bincount(data.labels, minlength=2).min())
    most = min(persons, rarest)
    if most < 2:
        raise InvalidInputError(
            f"Data set '{data.name}' has {persons} persons and {rarest} rows of its rarer class: there must be at "
            "least two of each to train on some and test on others."
        )
    if not 2 <= count <= most:
        must_be = f"from 2 to {most} for '{data.name}', as many as it has persons and rows of the rarer class"
        raise parameter_error("folds", "an experiment", must_be, count)
    kind = StratifiedKFold if data.groups is None else StratifiedGroupKFold
    splitter = kind(n_splits=count, shuffle=True, random_state=seed)
    try:
        pairs = list(splitter.split(np.zeros(len(data.labels)), data.labels, data.groups))
    except ValueError as error:
        raise InvalidInputError(f"Data set '{data.name}' cannot be divided into {count} folds: {error}.") from None
    return tuple(Fold(np.sort(train).astype(np.int64), np.sort(test).astype(np.int64)) for train, test in pairs)


def among_owners(data: DataSet, rows: Places, owners: int, seed: int) -> list[Places]:
    """Return the rows of each owner, about equally many; the rows of one person are with one owner."""
    persons = rows if data.groups is None else data.groups[rows]
    different = np.unique(persons)
    if not 1 <= owners <= len(different):
        raise parameter_error("owners", "an experiment", f"from 1 to {len(different)}, the number of persons", owners)
    shuffled = np.random.default_rng(seed).permutation(different)
    return [rows[np.isin(persons, block)] for block in np.array_split(shuffled, owners)]
