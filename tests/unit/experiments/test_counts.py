"""The evidence on counts: made-up data, the figure of merit, and that the simulated descent learns."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from cofit.experiments.counts import KINDS, METHODS, count_rows, deviance_explained, made_up

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "regression.md"


@pytest.mark.parametrize("name", KINDS)
def test_counts_keep_to_their_public_most(name: str) -> None:
    kind = KINDS[name]
    x, y = made_up(kind, 3000, 0)
    assert np.abs(x).max() <= 1 and y.min() >= 0 and y.max() <= kind.most and (y == np.rint(y)).all()
    assert 0.5 * kind.mean < y.mean() < 2 * kind.mean


def test_deviance_by_hand() -> None:
    counts = np.array([0.0, 2.0])
    rates = np.column_stack([counts, [1.0, 1.0]])
    perfect, constant = deviance_explained(counts, rates, 1.0)
    assert perfect > 0.999 and constant == 0
    assert deviance_explained(counts, np.array([[2.0], [0.5]]), 1.0)[0] < 0


def test_poisson_regression_is_better_than_what_there_was() -> None:
    rows = {row.label: row.figures[0].value or 0.0 for row in count_rows("visits", 2000, (3.0,), instances=1, draws=4)}
    others = [value for label, value in rows.items() if not label.startswith("Poisson")]
    assert max(others) + 0.01 < rows["Poisson"] < rows["Poisson regression, no privacy"]
    assert len(rows) == len(METHODS) + 1


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_page_says_what_is_measured() -> None:
    found = re.search(r"\| Poisson \| ([0-9.]+), ([0-9.]+)", PAGE.read_text())
    assert found is not None
    (row,) = (row for row in count_rows("visits", 2000) if row.label == "Poisson")
    for stated, figure in zip(found.groups(), row.figures, strict=True):
        assert abs(100 * (figure.value or 0.0) - float(stated)) < 0.2
