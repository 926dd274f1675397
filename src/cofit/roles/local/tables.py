"""Owners' tables in the clear, as one machine that rehearses a study holds them, and what each owner shares of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Shape
from cofit.errors import InvalidInputError, parameter_error
from cofit.learn.contribution import Features, clipped_from_below, prepared_blocks, prepared_features
from cofit.learn.inputs import FEATURES, LABELS, WEIGHTS, Holders
from cofit.learn.plan import Plan
from cofit.learn.recipes.descent.public_map import PublicMap
from cofit.learn.sparse_rows import FeatureTable, SparseRows
from cofit.learn.weights import encoded_weights, weight_facts
from cofit.roles.local.member import Contribution


@dataclass(frozen=True, repr=False)
class OwnerTable:
    """What one owner holds, in the clear: features (rows x columns), labels (0 and 1, or numbers from -1 to 1), or
    both; with labels perhaps weights of the records."""

    features: FeatureTable | None = None
    labels: npt.NDArray[Any] | None = None
    weights: npt.NDArray[Any] | None = None

    def __post_init__(self) -> None:
        for name, dimensions in (("features", 2), ("labels", 1), ("weights", 1)):
            array = getattr(self, name)
            kinds = (np.ndarray, SparseRows) if dimensions == 2 else (np.ndarray,)
            if array is not None and (not isinstance(array, kinds) or array.ndim != dimensions):
                kind = type(array).__name__ if not isinstance(array, kinds) else f"shape {array.shape}"
                raise parameter_error(name, "OwnerTable", f"a NumPy array of {dimensions} dimensions, or None", kind)

    def __repr__(self) -> str:
        return f"<OwnerTable, features {_shape(self.features)}, labels {_shape(self.labels)}>"


def holders_of(plan: Plan, owners: Mapping[str, OwnerTable], reference: PublicMap | None = None) -> Holders:
    """Return who holds what, or refuse tables that do not make up the plan's. reference: as in ``Holders``."""
    facts = plan.facts
    features = {name: table.features.shape for name, table in owners.items() if table.features is not None}
    labels = {name: len(table.labels) for name, table in owners.items() if table.labels is not None}
    if not features or not labels:
        raise parameter_error("owners", "run_training", "with features and with labels", list(owners.values()))
    joined, common = (1, 0) if facts.partition == "vertical" else (0, 1)
    total = sum(shape[joined] for shape in features.values())
    widths = {shape[common] for shape in features.values()}
    wanted = (facts.rows, facts.input_cols)
    if total != wanted[joined] or widths != {wanted[common]} or sum(labels.values()) != facts.rows:
        raise InvalidInputError(
            f"The owners' tables do not make up the {wanted[0]} rows, {wanted[1]} columns and {facts.rows} labels of "
            f"the plan ({facts.partition}). Features: {features}; labels: {labels}."
        )
    if facts.partition == "horizontal" and labels != {name: shape[0] for name, shape in features.items()}:
        raise InvalidInputError(
            f"Every owner of rows must bring a label for each of them. Features: {features}; labels: {labels}."
        )
    weights = {name: len(table.weights) for name, table in owners.items() if table.weights is not None}
    if weights != ({} if facts.weight_bound is None else labels):
        must_be = "none without weight_bound" if facts.weight_bound is None else "one for each label, of the same owner"
        raise InvalidInputError(f"The weights of records must be {must_be}. Labels: {labels}; weights: {weights}.")
    return Holders(tuple(features), tuple(labels), reference)


def contributions_of(plan: Plan, owner: str, table: OwnerTable) -> dict[str, Contribution]:
    """Return what an owner shares for this plan, or refuse a table that does not fit, with its owner's name."""
    formats = plan.formats
    result = {}
    if table.features is not None:
        try:
            values = _prepared(plan, table.features)
        except InvalidInputError as error:
            raise type(error)(f"Owner '{owner}': {error}") from None
        result[FEATURES] = Contribution(values, 1.0, formats.of(formats.data))
    if table.labels is not None:
        try:
            labels = plan.target.encoded(table.labels)
        except InvalidInputError as error:
            raise type(error)(f"Owner '{owner}': {error}") from None
        result[LABELS] = Contribution(labels, plan.target.bound, plan.target.format(formats.ring))
    if table.weights is not None and plan.facts.weight_bound is not None:
        try:
            weights = encoded_weights(table.weights, plan.facts.weight_bound)
        except InvalidInputError as error:
            raise type(error)(f"Owner '{owner}': {error}") from None
        facts = weight_facts(len(weights), formats.ring)
        result[WEIGHTS] = Contribution(weights, facts.bound, facts.format)
    return result


def _prepared(plan: Plan, features: FeatureTable) -> Features:
    if isinstance(features, np.ndarray):
        return prepared_features(plan, clipped_from_below(plan, features))
    prepared = prepared_blocks(plan, features.then(partial(clipped_from_below, plan)))
    for _ in prepared.blocks():  # what is wrong is refused before anything is computed
        pass
    return prepared


def _shape(array: FeatureTable | None) -> Shape | None:
    return None if array is None else array.shape
