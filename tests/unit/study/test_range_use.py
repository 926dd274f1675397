"""Numbers that use hardly any of their agreed range: told to their owner, for its own columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cofit.study import Study
from cofit.study.encode import EncodedTable
from cofit.study.range_use import range_warning
from unit.study.studies import VERTICAL, study_of

ROWS = 600
WIDTHS = {"age": 1, "dose": 1, "smoker": 1, "treated": 1, "group": 3, "w": 3}


def encoded(**spans: float) -> np.ndarray[Any, Any]:
    """A table of the test study in its encoded columns: numbers over their whole range, or over parts of it."""
    rng = np.random.default_rng(3)
    parts = []
    for name, width in WIDTHS.items():
        if name in ("smoker", "treated", "group"):
            parts.append((rng.uniform(0, 1, (ROWS, width)) < 0.002).astype(np.float64))
        else:
            parts.append(0.3 + spans.get(name, 1.0) * (rng.uniform(0, 1, (ROWS, width)) - 0.5))
    return np.hstack(parts)


def warned(
    study: Study, table: np.ndarray[Any, Any] | None, owner: str = "owner-a", moved: dict[str, int] | None = None
) -> str:
    return range_warning(study, owner, EncodedTable(table, None, None, moved or {})) or ""


def test_columns_are_named_with_their_agreed_ranges() -> None:
    text = warned(study_of(), encoded(age=0.01, dose=0.03))
    assert text.startswith(
        "In your table the values of 'age' (0 to 100), 'dose' (-1.5 to 2.5) lie close together within"
    )
    assert "If narrower bounds are publicly known of the field, propose a study with these." in text
    assert "Do not take them from the data" in text
    assert "nobody else is told" in text


@pytest.mark.parametrize(("span", "is_told"), [(0.045, True), (0.06, False)])
def test_beside_other_columns_the_line_is_a_twentieth_of_the_widest(span: float, is_told: bool) -> None:
    assert ("'age'" in warned(study_of(), encoded(age=span))) is is_told


@pytest.mark.parametrize(("span", "is_told"), [(0.038, True), (0.044, False)])
def test_alone_the_line_is_a_fiftieth_of_the_range(span: float, is_told: bool) -> None:
    assert bool(warned(study_of(), encoded(age=span, dose=span, w=span))) is is_told


def test_values_that_were_moved_to_a_bound_are_told() -> None:
    text = warned(study_of(), encoded(), moved={"dose": 500, "age": 60})
    assert text.startswith("In your table 500 of 600 values of 'dose' (-1.5 to 2.5) are beyond the agreed bounds and")
    assert "another unit?" in text
    assert "age" not in text
    assert not warned(study_of(), encoded(), moved={"dose": 60})


def test_values_that_are_all_the_same_are_told() -> None:
    table = encoded()
    table[:, 0] = -1.0
    text = warned(study_of(), table)
    assert text.startswith("In your table the values of 'age' (0 to 100) are the same in every row.")
    assert "close together" not in text


@pytest.mark.parametrize("features", [encoded(), None], ids=["with features", "alone"])
def test_a_label_that_is_the_same_in_every_row_is_told(features: np.ndarray[Any, Any] | None) -> None:
    labels = np.ones(ROWS, dtype=np.int64)
    text = range_warning(study_of(), "owner-a", EncodedTable(features, labels, None)) or ""
    assert text.startswith("In your table the label, 'ill', is the same in every row.")
    assert "nobody else is told" in text
    labels[7] = 0
    assert range_warning(study_of(), "owner-a", EncodedTable(features, labels, None)) is None


def test_what_uses_its_range_or_is_rare_or_short_is_not_told() -> None:
    table = encoded()
    assert not warned(study_of(), table)
    table[:, 1] = np.where(np.arange(ROWS) == 5, 1.0, -1.0)
    assert not warned(study_of(), table)
    assert not warned(study_of(), encoded(age=0.01)[:19])
    assert not warned(study_of(), None)


def test_an_owner_of_columns_is_told_of_its_own() -> None:
    study = study_of(VERTICAL)
    own = encoded(age=0.01, w=0.01)
    assert "'w0' (-1 to 1), 'w1' (-1 to 1), 'w2' (-1 to 1) lie" in warned(study, own[:, 4:])
    assert "age" not in warned(study, own[:, 4:])
    assert warned(study, own[:, :4], "owner-b").startswith("In your table the values of 'age' (0 to 100) lie")
