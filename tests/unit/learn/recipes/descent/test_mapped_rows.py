"""Rows that parties map by a public reference: the integers of the map, lengths, the twin, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from cofit.arithmetic.narrow import narrow_bytes
from cofit.errors import InvalidInputError
from cofit.learn.certify import certify
from cofit.learn.forecast import forecast
from cofit.learn.rebuild import rebuilt_plan
from cofit.learn.recipes.descent import mapped_rows as module
from cofit.learn.recipes.descent.many_scores import scores_of_releases
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.public_map import LARGEST_MATRIX, LARGEST_SHIFT, MAP_FLOOR, MATRIX_BITS, PublicMap
from cofit.learn.recipes.descent.reference import ReferenceMap, reference_map
from cofit.learn.recipes.descent.rows import Rows
from cofit.learn.recipes.descent.twin import descended
from support.descent import (
    MAPS,
    TABLES,
    Table,
    fixed_noise,
    integers,
    map_of,
    masked_truncation,
    noise_of,
    opened,
    plan_of,
    seen,
    table_of,
)

RNG = np.random.default_rng(16)
ROWS = RNG.normal(size=(40, 90)) * np.geomspace(3, 0.1, 90) + 1
WHOLE = reference_map(ROWS, 500, epsilon=1.0, delta=1e-5)
BOTH = [WHOLE, replace(WHOLE, only=True)]
KINDS = ("mapped by parties", "mapped by parties, directions", "three classes, mapped by parties")


@pytest.mark.parametrize("found", BOTH, ids=repr)
def test_the_integers_are_the_map(found: ReferenceMap) -> None:
    x = RNG.uniform(-1, 1, (20, 90))
    lengths = np.linalg.norm(x - x.mean(axis=1, keepdims=True) / 2, axis=1, keepdims=True)
    y = x @ (found.public.matrix / 2.0**20) / lengths - found.public.shift / 2.0**16
    np.testing.assert_allclose(y, found.by_parties(x, 1.0, 1e-3), atol=2.0**-15)
    np.testing.assert_allclose(y * found.factors[0].max(), found(x), atol=2.0**-15)
    assert np.linalg.norm(found.public.matrix / 2.0**20, 2) <= LARGEST_MATRIX
    assert np.linalg.norm(found.public.shift / 2.0**16) <= LARGEST_SHIFT
    assert float(found.public.squared_shift) == pytest.approx(np.square(found.public.shift / 2.0**16).sum())


def test_short_rows_are_not_stretched_before_the_map() -> None:
    x = np.full((1, 90), 0.0)
    x[0, 0] = 2.0 / 64
    z = (x - x.mean() / 2) / 2 * 16  # of a bound of 2, at a floor of 1/16
    factors, others = WHOLE.factors
    directions = WHOLE.directions.astype(np.float64)
    ridge = others * np.eye(90) + (directions.T * (factors - others)) @ directions
    np.testing.assert_allclose(WHOLE.by_parties(x, 2.0, 1 / 16), (z - WHOLE.mean) @ ridge / factors.max(), atol=1e-9)


def test_every_machine_has_the_same_integers() -> None:
    """Sums are exact, in whatever order: the same product in Python's integers, and of columns in another order."""
    v = [[int(value) for value in row] for row in np.rint(np.ldexp(WHOLE.directions.astype(np.float64), 24))]
    factors, others = WHOLE.factors
    kept = ((factors - others) / factors.max())[:, np.newaxis]
    weighted = np.rint(np.ldexp(np.ldexp(np.array(v, dtype=np.float64), -24) * kept, 24)).astype(np.int64).tolist()
    product = np.array(v, dtype=object).T @ np.array(weighted, dtype=object)
    own = float(others / factors.max())
    entries = product.astype(np.float64) / 2.0**48 + own * np.eye(90)
    sums = product.sum(axis=0).astype(np.float64) / 2.0**48 + own
    assert np.array_equal(WHOLE.public.matrix, np.rint((entries - sums / 180) * 2.0**20).astype(np.int64))
    order = RNG.permutation(90)
    moved = replace(WHOLE, mean=WHOLE.mean[order], directions=WHOLE.directions[:, order])
    assert np.array_equal(moved.public.matrix, WHOLE.public.matrix[np.ix_(order, order)])
    assert np.array_equal(moved.public.shift, WHOLE.public.shift[order])


def test_maps_whose_ranges_are_not_proven_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="orthonormal directions"):
        _ = replace(WHOLE, directions=WHOLE.directions * np.float32(1.02)).public
    with pytest.raises(InvalidInputError, match="a mean no longer than 1"):
        _ = replace(WHOLE, mean=WHOLE.mean * np.float32(4 / np.linalg.norm(WHOLE.mean))).public
    wide = ReferenceMap(
        np.zeros(3000, np.float32), np.eye(2, 3000, dtype=np.float32), WHOLE.variances[:2], 0.1, 500, 1.0
    )
    with pytest.raises(InvalidInputError, match="keep its directions alone"):
        _ = wide.public
    assert replace(wide, only=True).public.matrix.shape == (3000, 2)


def rows_of(plan: DescentPlan, rows: Rows) -> np.ndarray:
    """Rows as the steps see them, formed: their exact lengths but for floating point."""
    unit = 2.0**-plan.formats.inverse_norm
    assert rows.scale is not None
    assert rows.tilt is not None
    assert rows.centre is not None
    scale, tilt = (
        np.abs(integers(one).reshape(len(rows.x), -1)[:, :1].astype(float)) * unit for one in (rows.scale, rows.tilt)
    )
    y, b = (integers(one).astype(float) * 2.0**-plan.formats.data for one in (rows.x, rows.centre))
    return np.asarray(scale * y - tilt * b)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("table", TABLES)
def test_no_row_is_longer_than_proven_and_those_above_the_floor_are_as_long(kind: str, table: str) -> None:
    plan = plan_of(kind)
    data = table_of(table, plan, np.random.default_rng(17))
    with fixed_noise(), masked_truncation(18):
        lengths = np.linalg.norm(rows_of(plan, seen(plan, data).rows[0]), axis=1)
    assert lengths.max() <= 1 + float(plan.formats.eta)
    found = MAPS[plan.facts.reference or ""]
    before = found.by_parties(data[0], float(plan.facts.feature_bound), float(plan.facts.norm_floor))
    long = np.linalg.norm(before, axis=1) > 1.05 * MAP_FLOOR
    assert (lengths[long] > 0.995).all()


def test_a_row_that_is_divided_by_a_coarse_length_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken on purpose: without the shift in the squared length."""
    plan = plan_of(KINDS[0])
    monkeypatch.setattr(PublicMap, "squared_shift", Fraction(0))
    with fixed_noise():
        found = seen(plan, table_of("random", plan, np.random.default_rng(17)))
    assert np.linalg.norm(rows_of(plan, found.rows[0]), axis=1).max() > 1 + float(plan.formats.eta)


def in_the_clear(plan: DescentPlan, table: Table) -> tuple[np.ndarray, ReferenceMap]:
    found = MAPS[plan.facts.reference or ""]
    rows = found.by_parties(table[0], float(plan.facts.feature_bound), float(plan.facts.norm_floor))
    return rows, found


@pytest.mark.parametrize("kind", KINDS)
def test_the_twin_releases_the_same(kind: str) -> None:
    plan = plan_of(kind)
    table = table_of("random", plan, np.random.default_rng(19))
    with fixed_noise(20):
        released = plan.opened.in_units(opened(plan, table))
    noise = noise_of(plan, 20)
    rows, _ = in_the_clear(plan, table)
    counts = table[2] if len(table) > 2 else None
    twin = descended(plan, rows, table[1], lambda event: noise[event.name].astype(float)[:, np.newaxis], counts)[0]
    np.testing.assert_allclose(twin, released, atol=0.002 * plan.noise_of_weights)
    map_and_scores = scores_of_releases(plan, twin[np.newaxis], rows)
    assert np.isfinite(map_and_scores).all()


def test_parties_refuse_another_map() -> None:
    plan = plan_of(KINDS[0])
    right, other = map_of(5, False).public, map_of(5, True).public
    assert module.checked_map(plan, right) is right
    for wrong in (None, other, replace(other, hash=right.hash)):
        with pytest.raises(InvalidInputError, match="must hold the reference map"):
            module.checked_map(plan, wrong)


def test_plan_and_certificate_know_it() -> None:
    plan = plan_of(KINDS[1])
    assert (plan.facts.normalised_by, plan.level, plan.centre) == ("parties", None, None)
    assert "the parties apply to shared rows" in str(plan.sections())
    owners: dict[str, dict[str, tuple[int, ...]]] = {
        "a": {"features": (60, 2), "labels": (60,), "weights": (60,)},
        "b": {"features": (60, 3)},
    }
    certificate = certify(plan, parties=["one"], owners=owners, openings=(), created="2026-01-01T00:00:00+00:00")
    assert certificate.facts["reference_inputs"] == 5
    assert rebuilt_plan(certificate) == plan
    assert len(plan_of(KINDS[1]).events) == plan.epochs + 3
    assert replace(plan.facts, reference_inputs=None) != plan.facts


def test_what_a_map_costs_is_the_truncation_of_mapped_values() -> None:
    """Every step is that of centred rows of k columns; once, n k values are truncated: with rep3 two rounds, and bytes
    in proportion."""
    costs, fewer = (
        forecast(plan_of(KINDS[0], scheme="rep3", rows=640, directions_only=only)) for only in (False, True)
    )
    assert costs.epoch.rounds == fewer.epoch.rounds == 12
    assert costs.train.rounds == fewer.train.rounds
    epochs = 20 * (costs.epoch.bytes - fewer.epoch.bytes)
    of_values = 640 * 3 * 8 + 3 * narrow_bytes(640, MATRIX_BITS)
    assert costs.train.bytes - fewer.train.bytes - epochs == of_values, "elements and narrow numbers, three a value"


def test_memory_counts_rows_before_and_after_the_map() -> None:
    wide, narrow = (forecast(plan_of(KINDS[0], scheme="rep3", rows=640, cols=cols)).memory for cols in (400, 40))
    assert wide.matrix == 2 * 640 * 400 * 8, "two parts of every shared value"
    assert wide.held - narrow.held >= 2 * 640 * (400 - 2 * 40) * 8
