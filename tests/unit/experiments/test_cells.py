"""Cells are found again by everything that they depend on, and by nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cofit.baselines.central import CentralOutput
from cofit.baselines.federated_output import FederatedOutput
from cofit.errors import InvalidInputError
from cofit.experiments.cells import AccuracyCell, CellStore, Cofit, TimingCell, key_of

CELL = AccuracyCell("name", Cofit(1.0), 2, 5, 0, 10, 1)
RUN = TimingCell("name", "rep3", 3, "horizontal", 2, None, 1.0, 1.0, 3)


def test_what_is_kept_is_found(tmp_path: Path) -> None:
    store = CellStore(tmp_path / "new" / "cells")
    assert store.load(key_of(CELL, "d")) is None
    store.save(key_of(CELL, "d"), {"accuracies": [0.25]})
    assert CellStore(tmp_path / "new" / "cells").load(key_of(CELL, "d")) == {"accuracies": [0.25]}
    assert store.load(key_of(replace(CELL, data="renamed"), "d")) == {"accuracies": [0.25]}


@pytest.mark.parametrize(
    "change",
    [
        {"contender": Cofit(2.0)},
        {"contender": Cofit(1.0, delta=1e-5)},
        {"contender": Cofit(1.0, partition="vertical")},
        {"contender": FederatedOutput(1.0)},
        {"owners": 4},
        {"folds": 6},
        {"fold": 1},
        {"draws": 11},
        {"seed": 2},
    ],
)
def test_whatever_changes_the_result_changes_the_key(change: dict[str, Any]) -> None:
    assert key_of(replace(CELL, **change), "d") != key_of(CELL, "d")


def test_methods_with_equal_settings_differ() -> None:
    first, second = (replace(CELL, contender=method(1.0)) for method in (FederatedOutput, CentralOutput))
    assert key_of(first, "d") != key_of(second, "d")


def test_other_data_and_other_kinds_differ() -> None:
    assert key_of(CELL, "d") != key_of(CELL, "e")
    assert key_of(replace(RUN, epochs=1000), "d") != key_of(RUN, "d")
    assert key_of(replace(RUN, scheme="rep4"), "d") != key_of(RUN, "d")


def test_a_damaged_file_counts_as_missing(tmp_path: Path) -> None:
    store = CellStore(tmp_path)
    store.save(key_of(CELL, "d"), {"accuracies": [0.25]})
    (file,) = tmp_path.iterdir()
    for text in ("", "[]", '{"key": 3, "result": {}}', file.read_text()[:-5]):
        file.write_text(text)
        assert store.load(key_of(CELL, "d")) is None


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="--out"):
        CellStore(tmp_path / "file" / "cells")
