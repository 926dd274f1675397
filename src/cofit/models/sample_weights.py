"""The weights of records as ``fit`` is given them, put into the owners' tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError, parameter_error
from cofit.models.tables import Tables

_PARAMETER = "sample_weight"


def with_sample_weights(given: Tables, weights: Any, bound: float | None, estimator: str) -> Tables:
    """Return the tables with the weights of their records, or raise InvalidInputError with what does not fit.

    Their bound is public and agreed on, so that it is a parameter of the estimator: neither goes without the other.
    """
    fit = f"{estimator}.fit"
    if weights is None and bound is None:
        return given
    if bound is None:
        must_be = "left out unless weight_bound, a public bound of all weights, is set: the noise depends on it"
        raise parameter_error(_PARAMETER, fit, must_be, "weights")
    if weights is None:
        raise parameter_error(_PARAMETER, fit, "given, because weight_bound is set", None)
    holders = [name for name, table in given.owners.items() if table.labels is not None]
    owners = dict(given.owners)
    for name, own in _by_owner(weights, holders, fit).items():
        labels = owners[name].labels
        owners[name] = replace(owners[name], weights=_checked(name, own, 0 if labels is None else len(labels)))
    return replace(given, owners=owners)


def _by_owner(weights: Any, holders: list[str], fit: str) -> dict[str, Any]:
    """Return the weights of each owner of labels."""
    if isinstance(weights, Mapping) and not hasattr(weights, "shape"):
        if set(weights) != set(holders):
            raise parameter_error(_PARAMETER, fit, f"a mapping with the owners {holders}", sorted(map(str, weights)))
        return dict(weights)
    if len(holders) == 1:
        return {holders[0]: weights}
    if not isinstance(weights, list | tuple) or len(weights) != len(holders):
        must_be = f"a list or mapping with weights for each of the {len(holders)} owners"
        raise parameter_error(_PARAMETER, fit, must_be, type(weights).__name__)
    return dict(zip(holders, weights, strict=True))


def _checked(owner: str, weights: Any, rows: int) -> npt.NDArray[np.float64]:
    """Return an owner's weights as an array of numbers, one for each of its records."""
    array = np.asarray(weights)
    if array.ndim != 1 or array.dtype.kind not in "biuf" or len(array) != rows:
        raise InvalidInputError(
            f"Owner '{owner}': the weights must be numbers, one for each of the {rows} records. Got {array.dtype} of "
            f"shape {array.shape} instead."
        )
    return array.astype(np.float64)
