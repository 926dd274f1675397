"""The features of a study in words, as people compare them with their tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from cofit.study.document import Feature, value_text

_MOST_NAMES = 3


def features_in_words(features: Sequence[Feature]) -> list[tuple[str, str]]:
    """Return names and what the columns hold; neighbours that differ in their names alone are together."""
    groups = [list(group) for _, group in groupby(features, lambda feature: replace(feature, name=""))]
    return [(_names(group), feature_in_words(group[0])) for group in groups]


def feature_in_words(feature: Feature) -> str:
    """Return the range or the categories of a feature, and what becomes of values that do not fit."""
    if feature.type == "number":
        held = f"number from {feature.lower:.15g} to {feature.upper:.15g}"
        held += ", values beyond are clipped" if feature.clip else ""
    elif feature.type == "category":
        held = f"one of {', '.join(map(value_text, feature.values))}"
    else:
        held = "yes or no"
    if feature.missing is None:
        return held
    if isinstance(feature.missing, float):
        return f"{held}; a missing value counts as {feature.missing:.15g}"
    return f"{held}; a missing value counts as {value_text(feature.missing)}"


def _names(group: Sequence[Feature]) -> str:
    if len(group) <= _MOST_NAMES:
        return ", ".join(feature.name for feature in group)
    return f"{group[0].name} to {group[-1].name} ({len(group):,} columns)"
