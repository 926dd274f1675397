"""The evidence of regression: its data keep to their ranges, and together owners do better than each alone."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from cofit.experiments.real_targets import SETS, california, diabetes, r_squared, regression_rows

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "regression.md"


@pytest.mark.parametrize("name", SETS)
def test_columns_and_targets_are_within_their_ranges(name: str) -> None:
    data = SETS[name]()
    assert np.abs(data.features).max() <= 1
    assert np.abs(data.targets).max() <= 1
    assert len(data.features) == len(data.targets)
    assert 0.1 < data.targets.std() < 0.6


def test_r_squared_by_hand() -> None:
    targets = np.array([-1.0, 0.0, 1.0])
    scores = np.array([[-1.0, 0.0, -5.0], [0.0, 0.0, 0.0], [1.0, 0.0, 5.0]])
    assert r_squared(targets, scores).tolist() == [1.0, 0.0, 1.0]


def test_together_is_better_than_alone_and_privacy_costs_something() -> None:
    rows = {row.label: row.figures[0].value for row in regression_rows(california(1500), (1.0,), splits=1, draws=4)}
    together, alone = rows["cofit, least squares (recipe best)"], rows["every owner alone (recipe best)"]
    plain = rows["ridge regression, no privacy"]
    assert together is not None
    assert alone is not None
    assert plain is not None
    assert 0 < alone < together < plain


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_page_says_what_is_measured() -> None:
    text = PAGE.read_text()
    found = re.search(r"\| least squares, recipe best \| ([0-9.]+) ± [0-9.]+ \| ([0-9.]+)", text)
    assert found is not None
    first = next(row for row in regression_rows(diabetes(), (0.5, 1.0), splits=20, draws=10))
    for stated, figure in zip(found.groups(), first.figures, strict=True):
        assert figure.value is not None
        assert abs(100 * figure.value - float(stated)) < 0.2
