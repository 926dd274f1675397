"""A public reference for estimators: its map, from rows or as it was agreed on, and the owners' rows mapped by it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cofit.errors import InvalidInputError
from cofit.learn.facts import DEFAULT_DELTA
from cofit.learn.recipes.descent.reference import ReferenceMap, reference_map
from cofit.learn.sparse_rows import is_sparse
from cofit.models.tables import Tables


def estimator_reference(given: Any, tables: Tables, epsilon: float, delta: float | None) -> ReferenceMap | None:
    """Return the map that the parameter ``reference`` of an estimator means, for these tables."""
    if given is None:
        return None
    budget = DEFAULT_DELTA if delta is None else delta
    if not budget > 0:
        raise InvalidInputError("The 'reference' parameter must be left out with delta=0.")
    made = given
    if not isinstance(given, ReferenceMap):
        rows = given.toarray() if is_sparse(given) else np.asarray(given)
        made = reference_map(rows, tables.rows, epsilon=epsilon, delta=budget)
    found: ReferenceMap = made
    if found.inputs != tables.cols:
        raise InvalidInputError(
            f"The reference must have the {tables.cols} columns of the owners' tables. Got {found.inputs} instead."
        )
    if found.records != tables.rows:
        raise InvalidInputError(
            f"The reference map must be made for the {tables.rows} records of all owners together. Got one for "
            f"{found.records} instead."
        )
    return found


def mapped_tables(tables: Tables, reference: ReferenceMap, partition: str) -> Tables:
    """Return the tables with all rows mapped, as every owner of rows does for itself; where owners hold columns the
    tables stay, because the parties map the rows."""
    if partition == "vertical":
        return replace(tables, cols=reference.columns, reference=reference)
    owners = {
        name: table if table.features is None else replace(table, features=reference.in_blocks(table.features))
        for name, table in tables.owners.items()
    }
    return replace(tables, owners=owners, cols=reference.columns, reference=reference)
