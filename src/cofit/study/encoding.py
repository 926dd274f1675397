"""What the columns of a table mean to a model: the part of a study that a model's file carries, and that is signed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from cofit.study.document import Feature, Study


def study_encoding(study: Study) -> dict[str, Any]:
    """Return the encoding of a study's tables, in JSON's types."""
    data = study.data
    return encoding(
        study.name,
        data.label,
        data.row_key,
        data.label_values,
        data.features,
        study.weight_names,
        data.label_range,
        None if data.reference is None else data.reference.hash,
    )


def encoding(
    name: str,
    label: str,
    row_key: str | None,
    classes: Sequence[object],
    features: Sequence[Feature],
    weights: Sequence[str],
    target_range: tuple[float, float] | None = None,
    reference: str | None = None,
) -> dict[str, Any]:
    """Return the same from its parts. weights: the encoded columns in the order of the weights. target_range: of a
    label that is a number; left out where it has classes. reference: the hash of the map that rows go through; left
    out where there is none."""
    ranged: dict[str, Any] = {} if target_range is None else {"range": list(target_range)}
    if reference is not None:
        ranged["reference"] = reference
    return {
        **ranged,
        "study": name,
        "label": label,
        "row_key": row_key,
        "classes": list(classes),
        "features": [asdict(feature) for feature in features],
        "weights": list(weights),
    }
