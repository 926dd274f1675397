"""Features in words: ranges, categories, what is clipped and what a missing value stands for."""

from __future__ import annotations

import pytest

from cofit.study.document import Feature
from cofit.study.in_words import feature_in_words, features_in_words


@pytest.mark.parametrize(
    ("feature", "words"),
    [
        (Feature("x", "number", -1.5, 1e6), "number from -1.5 to 1000000"),
        (Feature("x", "number", 0.1, 0.3, clip=True), "number from 0.1 to 0.3, values beyond are clipped"),
        (Feature("x", "number", 0.0, 1.0, missing=0.5), "number from 0 to 1; a missing value counts as 0.5"),
        (Feature("x", "boolean"), "yes or no"),
        (Feature("x", "boolean", missing=False), "yes or no; a missing value counts as false"),
        (Feature("x", "category", values=("a", "b")), "one of a, b"),
        (Feature("x", "category", values=(1, 2), missing=2), "one of 1, 2; a missing value counts as 2"),
    ],
)
def test_one_feature(feature: Feature, words: str) -> None:
    assert feature_in_words(feature) == words


def test_neighbours_that_differ_in_their_names_alone_are_together() -> None:
    genes = [Feature(f"gene{i}", "number", 0.0, 1.0) for i in range(1500)]
    features = [Feature("a", "boolean"), Feature("b", "boolean"), *genes, Feature("c", "boolean")]
    assert features_in_words(features) == [
        ("a, b", "yes or no"),
        ("gene0 to gene1499 (1,500 columns)", "number from 0 to 1"),
        ("c", "yes or no"),
    ]
