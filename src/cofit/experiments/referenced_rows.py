"""Rows for the forecast of a study with a public reference, and what the same study has without it.

Without a labelled public sample, rows are made up that vary as the reference says, with made-up labels: a line through
them, in directions that the reference shows, with some labels wrong. Such rows are as the reference says by
construction, so that they flatter it: they show what it can bring, and a reference that is unlike the owners' rows
brings less, or harms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cofit.experiments.public_rows import PublicRows
from cofit.experiments.simulation import Simulation
from cofit.learn.recipes.descent.reference import ReferenceMap

_SEED, _HELD_OUT, _WRONG, _DRAWS = 1, 1000, 0.1, 12


def rows_of_reference(reference: ReferenceMap) -> PublicRows:
    """Return made-up rows with made-up labels that vary as the reference does."""
    rng = np.random.default_rng(_SEED)
    count = reference.records + _HELD_OUT
    variances = reference.variances.astype(np.float64)
    along = rng.standard_normal((count, len(variances))) * np.sqrt(variances)
    rest = max(reference.isotropic * reference.inputs - float(variances.sum()), 0.0) / reference.inputs
    features = (
        reference.mean + along @ reference.directions + rng.standard_normal((count, reference.inputs)) * rest**0.5
    )
    line = rng.standard_normal(len(variances))
    labels = (along @ line > 0) ^ (rng.random(count) < _WRONG)  # of the first two classes, where there are several
    origin = (
        "made-up rows that vary as the reference says, with made-up labels, which flatters it (no --sample was given)"
    )
    return PublicRows(features, labels.astype(np.int64), origin, given=False)


def mapped_rows(
    rows: PublicRows, reference: ReferenceMap, facts: Mapping[str, Any]
) -> tuple[PublicRows, dict[str, Any]]:
    """Return rows as the study's map makes them, and the facts of training on them. facts: with partition, and where
    owners hold columns feature_bound and norm_floor; those without a reference."""
    if facts["partition"] == "horizontal":
        return replace(rows, features=reference(rows.features)), {**facts, "reference": reference.hash}
    bound, floor = float(facts.get("feature_bound", 1.0)), float(facts["norm_floor"])
    mapped = reference.by_parties(rows.features, bound, floor)
    return replace(rows, features=mapped), {**facts, "reference": reference.hash, "reference_inputs": reference.inputs}


def within(rows: PublicRows, bound: float) -> PublicRows:
    """Return made-up rows shorter, where a value is beyond the bound of owners who hold columns."""
    return replace(rows, features=rows.features * min(1.0, bound / float(np.abs(rows.features).max())))


def compared_with_none(
    asked: float | None, rows: PublicRows, given: Mapping[str, Any], records: int, largest: int
) -> list[str]:
    """Return what the study would have without its reference, on the same rows. asked: its own forecast."""
    settings = {name: value for name, value in given.items() if name != "epsilon"}
    simulation = Simulation(records, rows.features.shape[1], rows.split(records), _DRAWS, largest)
    found = simulation.accuracies(float(given["epsilon"]), settings)
    if asked is None or isinstance(found, str):
        return []
    without = float(np.median(found))
    return [
        f"The reference: {100 * asked:.1f}% with it, {100 * without:.1f}% without, at this epsilon on the rows named "
        f"above. If the owners' rows are unlike the reference it brings less or harms, and no public fact can tell."
    ]
