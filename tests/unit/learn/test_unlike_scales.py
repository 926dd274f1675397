"""Columns of unlike scales: who holds them is warned, by name, with a remedy that looks at no data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cofit.learn.unlike_scales import FACTOR, scale_warnings

ROWS = 4000
NAMES = ("age", "creatinine", "pressure")


def patients(rows: int = ROWS) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(1)
    age = np.clip(rng.normal(62, 14, rows), 18, 100)
    return np.column_stack([age, rng.lognormal(0, 0.4, rows), rng.normal(130, 18, rows)])


def told(*parts: np.ndarray[Any, Any], names: tuple[str, ...] | None = None, **options: Any) -> list[str]:
    return list(scale_warnings(parts, names, **options))


def test_raw_units_are_warned_of_by_the_names_of_the_columns() -> None:
    (text,) = told(patients(), names=NAMES)
    assert text.startswith(
        "The columns are of unlike scales: the values of column 'creatinine' lie so close together, beside those of "
        "column 'pressure', that the model can hardly see them."
    )
    assert "by bounds that are publicly known, as 0 to 120 for an age" in text
    assert "are outside the privacy guarantee" in text
    (text,) = told(patients())
    assert "the values of column 1 lie" in text


def test_the_remedy_takes_nothing_from_the_data() -> None:
    """The same words, whatever the values: none of them is in the text."""
    first, second = told(patients(), names=NAMES), told(patients()[::-1] * 3.7 + 11.0, names=NAMES)
    assert first == second


@pytest.mark.parametrize(
    "scaled",
    [
        lambda x: (x - x.min(axis=0)) / np.ptp(x, axis=0),
        lambda x: x / np.abs(x).max(axis=0),
        lambda x: (x - x.mean(axis=0)) / x.std(axis=0),
        lambda x: (x - np.median(x, axis=0)) / (np.quantile(x, 0.75, axis=0) - np.quantile(x, 0.25, axis=0)),
        lambda x: 2 * x / [120, 10, 300] - 1,
    ],
    ids=["min-max", "max-abs", "standard", "robust", "public bounds"],
)
def test_scaled_columns_are_not(scaled: Any) -> None:
    assert not told(scaled(patients()), names=NAMES)


def test_rare_marks_and_constants_are_not_hidden_but_are_by_large_columns() -> None:
    rare = np.zeros((ROWS, 3))
    rare[::500, 0] = 1.0
    rare[:, 1] = np.arange(ROWS) % 2
    rare[:, 2] = 7.0
    assert not told(rare)
    assert not told(np.hstack([rare, patients() / [100, 4, 200]]))
    (text,) = told(np.hstack([rare, 1000 * rare[:, 1:2]]))
    assert "the values of columns 0 and 1 lie so close together, beside those of column 3" in text


@pytest.mark.parametrize("factor", [0.9 * FACTOR, 1.1 * FACTOR])
def test_where_the_line_is(factor: float) -> None:
    x = np.random.default_rng(2).uniform(0, 1, (ROWS, 2)) * [1.0, factor]
    assert bool(told(x)) is (factor > FACTOR)


def test_owners_of_rows_and_of_columns_are_taken_together() -> None:
    x = patients()
    rows = told(x[:1000], x[1000:1000], x[1000:], names=NAMES)
    assert rows == told(x[:, :1], x[:, 1:], names=NAMES, vertical=True)
    assert rows == told(x, names=NAMES)


def test_many_columns_are_named_in_part() -> None:
    x = np.random.default_rng(2).uniform(0, 1, (100, 600))
    x[:, 400] *= 1e6
    (text,) = told(x)
    assert "columns 0, 1, 2, 3, 4 and 594 more lie so close together, beside those of column 400" in text


def test_few_rows_tell_nothing() -> None:
    assert not told(patients(19))
    assert not told(patients(19)[:, :1], patients(19)[:, 1:], vertical=True)
    assert told(patients(20) * [1, 0.1, 1])


def test_a_level_that_hides_the_rest_where_whole_rows_are_scaled() -> None:
    x = np.random.default_rng(2).uniform(-1, 1, (100, 3))
    x[:, 2] += 1000
    assert not told(x)
    (text,) = told(x, whole_rows=True)
    assert "column 2 are so much larger than the others that rows, which are scaled to length 1, show hardly" in text


def test_a_bound_far_beyond_all_values() -> None:
    x = np.random.default_rng(2).uniform(-1, 1, (100, 3))
    assert not told(x, bound=10.0)
    (text,) = told(x, bound=100.0)
    assert "a small part of the agreed range from -100 to 100" in text
    assert "not by looking at the data" in text
