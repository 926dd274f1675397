"""A reference in experiments: owners of columns, whose rows the parties map, are as accurate as owners of rows."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.experiments.cells import Best
from cofit.experiments.datasets import load_data_set
from cofit.experiments.folds import folds
from cofit.experiments.unlabelled import COLUMNS, DIRECTIONS, referenced_accuracies


@pytest.mark.parametrize("kept", [COLUMNS, DIRECTIONS])
def test_columns_are_as_good_as_rows(kept: str) -> None:
    data = load_data_set("breast-cancer")
    fold = folds(data, 5, 1)[0]

    def measured(partition: str) -> float:
        contender = Best(1.0, 1e-5, partition, reference=kept)
        found, plan = referenced_accuracies(data, fold, contender, 20, lambda: np.random.default_rng(3))
        assert (plan.facts.partition, plan.floor is None) == (partition, partition == "horizontal")
        return float(np.mean(found))

    by_rows, by_columns = (measured(partition) for partition in ("horizontal", "vertical"))
    assert by_columns > 0.9
    assert abs(by_rows - by_columns) < 0.02
