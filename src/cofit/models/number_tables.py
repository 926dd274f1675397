"""From what ``fit`` of a regressor is given to the owners' tables: targets scaled from their range to [-1, 1]."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError, RangeError
from cofit.learn.bounds import beyond, scaled_by_bounds
from cofit.learn.sparse_rows import FeatureTable
from cofit.learn.targets import Target
from cofit.models.tables import Tables, read_tables, target_column
from cofit.models.target_range import TargetRange

_NUMBERS = "numbers"


def number_tables(
    owners: Any, y: Any, partition: str, estimator: str, target_range: TargetRange, target: Target
) -> Tables:
    """Read the arguments of ``fit``, or raise InvalidInputError with the owner and what is wrong."""
    return read_tables(owners, y, partition, estimator, partial(_read, target_range=target_range, target=target))


def _read(
    given: Mapping[str, Any], features: Mapping[str, FeatureTable], target_range: TargetRange, target: Target
) -> tuple[dict[str, npt.NDArray[Any]], npt.NDArray[Any]]:
    return {name: _scaled(name, y, features[name], target_range, target) for name, y in given.items()}, np.array([])


def _scaled(
    owner: str, y: Any, features: FeatureTable, target_range: TargetRange, target: Target
) -> npt.NDArray[np.float64]:
    """Return targets from -1 to 1; refuse those beyond the range by more than rounding, and those that are no whole
    numbers where they should be, without showing one."""
    column = target_column(owner, y, features, _NUMBERS)
    if column.dtype.kind == "O" and all(isinstance(value, Real) for value in column):
        column = column.astype(np.float64)
    if column.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"Unknown label type: owner '{owner}' has {column.dtype}, and the targets must be {_NUMBERS}."
        )
    values = column.astype(np.float64)
    lower, upper = target_range
    wrong = beyond(values, lower, upper)
    if wrong.any():
        raise RangeError(
            f"Owner '{owner}': {int(wrong.sum()):,} of {len(values):,} targets are beyond the agreed target_range, "
            f"{lower:g} to {upper:g} (the first in row {int(np.argmax(wrong))}, counted from 0). Clip them, or agree "
            f"on a wider range."
        )
    if (broken := target.not_whole(values)).any():
        raise RangeError(
            f"Owner '{owner}': {int(broken.sum()):,} of {len(values):,} targets are no whole numbers, as counts are "
            f"(the first in row {int(np.argmax(broken))}, counted from 0). Give counts, or use RidgeRegression."
        )
    return scaled_by_bounds(values, lower, upper)
