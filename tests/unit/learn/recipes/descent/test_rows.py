"""Rows before their scores: as owners encode them no row is longer than 1, exactly; and the map in the clear."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cofit.learn.contribution import prepared_features
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.row_map import RowMap
from support.descent import plan_of

Reals = npt.NDArray[np.float64]


def hard_rows(d: int) -> Reals:
    """Rows of all sizes, of equal values, of one value, and of values that make sums in floating point go wrong."""
    rng = np.random.default_rng(81)
    rows = [
        rng.normal(size=d),
        np.ones(d),
        np.full(d, 1e300),
        np.full(d, 5e-324),
        np.where(np.arange(d) == 0, 1.0, 0.0),
        rng.choice([-1.0, 1.0], d) * 2.0 ** rng.integers(-60, 60, d),
        np.concatenate([[1.0], np.full(d - 1, 2.0**-26.4)]),
        np.where(np.arange(d) % 2 == 0, 1.7e308, -1.7e308),
        np.where(np.arange(d) == 0, -1.7e308, 1.7e308),
        np.zeros(d),
    ]
    return np.array(rows)


def exact_lengths(plan: DescentPlan, encoded: Reals) -> list[Fraction]:
    """The square of the length, or the sum of absolute values, of rows of integers."""
    unit = Fraction(1, 1 << plan.formats.data)
    whole = [[int(value) for value in row[row != 0]] for row in np.ldexp(encoded, plan.formats.data)]
    if plan.layout.norm == "l1":
        return [unit * sum(abs(value) for value in row) for row in whole]
    return [unit**2 * sum(value * value for value in row) for row in whole]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("cols", [3, 1000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["owners", "clipped", "clipped, bounds", "pure"])
def test_no_encoded_row_is_longer_than_one(kind: str, cols: int, order: str) -> None:
    facts: dict[str, Any] = {"pure": {"row_nonzeros": 1}, "owners": {}}.get(kind, {"clip_rows": True})
    plan = plan_of(kind, rows=60 if cols < 10 else 10**6, cols=cols, **facts)
    x = hard_rows(cols)
    if plan.clipped and plan.facts.normalised_by == "parties":
        x = np.clip(x, -2.0, 2.0)
        x[2] = 2.0  # as long as can be
    encoded = prepared_features(plan, np.asfortranarray(x) if order == "F" else x)
    assert np.isfinite(encoded).all()
    assert (np.ldexp(encoded, plan.formats.data) % 1 == 0).all(), "encoding would round again"
    lengths = exact_lengths(plan, encoded)
    assert max(lengths) <= 1
    if kind == "owners":  # with delta = 0 rows are said to be sparse, and these are not
        assert min(lengths[:2]) > Fraction(99, 100), "rounding took more than it may"
    if plan.clipped:  # a row beyond the limit is as long as can be, too
        assert lengths[2] > Fraction(99, 100)
        assert lengths[0] < Fraction(99, 100)
    assert lengths[-1] == 0


def by_hand(row: Reals, floor: float, level: float | None, centre: Reals | None) -> Reals:
    apart = row - (row.mean() / 2 if level is None else 0.375 * row.mean() + 0.625 * level)
    z = apart / max(float(np.linalg.norm(apart)), floor)
    if centre is None:
        return np.asarray(z)
    return np.asarray((z - centre) / max(float(np.linalg.norm(z - centre)), 0.25))


@pytest.mark.parametrize("level", [None, 0.0, -0.3])
@pytest.mark.parametrize("centre", [None, (0.1, -0.2, 0.05), (0.9, 0.0, 0.0)])
def test_the_map_is_its_formula(level: float | None, centre: tuple[float, ...] | None) -> None:
    rng = np.random.default_rng(82)
    x = rng.uniform(-2, 2, (50, 3)) * rng.choice([1e-9, 0.01, 1.0], (50, 1))
    mapped = RowMap("l2", 2.0, 0.1, level, centre)(x)
    middle = None if centre is None else np.array(centre)
    expected = [by_hand(row / 2, 0.1, level, middle) for row in x]
    np.testing.assert_allclose(mapped, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        RowMap("l1", 1.0, 0.0)(x), x / np.abs(x).sum(axis=1, keepdims=True), rtol=1e-12, atol=1e-15
    )


def test_the_map_of_clipped_rows_is_its_formula() -> None:
    rng = np.random.default_rng(7)
    mean, stretch, radius, bound = rng.normal(size=3) / 9, rng.uniform(1, 16, 3), 0.05, 4.0
    rows = RowMap("l2", bound, 0.0, mean=tuple(mean), stretch=tuple(stretch), radius=radius)
    x = np.array([[0.5, -0.3, 0.2], [40.0, 1.0, -7.0], [0.0, 0.0, 0.0], [1e300, -1e300, 0.0], 4.0 * mean])
    for row, found in zip(x, rows(x), strict=True):
        y = np.array([float(value) for value in row]) / bound
        y = y / max(1.0, math.hypot(*y))
        b = stretch * (y - mean)
        b = b - b.mean() / 2
        np.testing.assert_allclose(found, b / max(float(np.linalg.norm(b)), 0.75 * 3**0.5 * radius), atol=1e-12)
    assert np.linalg.norm(rows(x), axis=1).max() <= 1 + 1e-12
    assert rows(x[:0]).shape == (0, 3)


def test_the_map_of_the_largest_and_smallest_floats_is_finite() -> None:
    x = hard_rows(4)
    for rows in (RowMap("l2", 1.0, 0.0), RowMap("l2", 1.0, 0.1, 0.2), RowMap("l1", 1.0, 0.0)):
        mapped = rows(x)
        order = 1 if rows.norm == "l1" else 2
        assert np.isfinite(mapped).all()
        assert np.linalg.norm(mapped, ord=order, axis=1).max() <= 1 + 1e-12
    assert RowMap("l2", 1.0, 0.0)(np.zeros((0, 3))).shape == (0, 3)
