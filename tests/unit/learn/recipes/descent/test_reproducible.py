"""The map of a table is the same to the last digit on every machine, and that of the usual decomposition but for it."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from cofit.learn.recipes.descent import reproducible
from cofit.learn.recipes.descent.reference import prepared, reference_map

RNG = np.random.default_rng(21)
SHAPES = [(40, 90), (41, 7), (21, 21), (60, 300)]
SCRIPT = """
import numpy as np
from cofit.learn.recipes.descent.reference import reference_map
rows = np.random.default_rng(3).normal(size=(61, 130)) * np.geomspace(3, 0.01, 130) + 0.3
print(reference_map(rows, 500, epsilon=1.0, delta=1e-5, reproducible=True).hash)
print(reference_map(rows[:, :13], 500, epsilon=1.0, delta=1e-5, directions_only=True, reproducible=True).hash)
"""
MACHINES: tuple[dict[str, str], ...] = (
    {},
    {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3", "OPENBLAS_NUM_THREADS": "1"},
)
STORED = (
    "2ae0908f3449dbf90d9e1b4825fa5a8c202e8fe2018897cbd59d2cb91149d92f",
    "86f175d25af85fba17309d5e6071792d5e4f73f5c828e122c3fbd4b0087ea7a5",
)
"""Of maps that were made when this was written: studies with tables rest on them."""


def rows_of(shape: tuple[int, int]) -> np.ndarray:
    return RNG.normal(size=shape) * np.geomspace(3, 0.1, shape[1]) + 1


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_it_is_the_usual_map(shape: tuple[int, int]) -> None:
    rows = rows_of(shape)
    usual, made = (reference_map(rows, 500, epsilon=1.0, delta=1e-5, reproducible=one) for one in (False, True))
    assert made.columns == usual.columns
    others = RNG.normal(size=(9, shape[1]))
    np.testing.assert_allclose(made(others), usual(others), atol=1e-6)
    directions = made.directions.astype(np.float64)
    np.testing.assert_allclose(directions @ directions.T, np.eye(len(directions)), atol=1e-6)


def test_prepared_rows_are_the_usual_ones() -> None:
    rows = np.vstack([rows_of((30, 11)) * 1e200, np.zeros((1, 11)), rows_of((3, 11)) * 1e-200])
    np.testing.assert_allclose(reproducible.prepared_exactly(rows), prepared(rows), atol=1e-12)


def test_a_decomposition_that_has_converged_is_one() -> None:
    z = prepared(rows_of((50, 33)))
    mean, variances, directions = reproducible.decomposed(z)
    np.testing.assert_allclose(mean, z.mean(axis=0), atol=1e-7)
    covariance = (z - z.mean(axis=0)).T @ (z - z.mean(axis=0)) / 50
    np.testing.assert_allclose(covariance @ directions.T, directions.T * variances, atol=1e-6)
    assert (np.diff(variances) <= 0).all()


def test_of_large_tables_some_rows_are_taken() -> None:
    tall, wide = np.arange(10_000.0)[:, np.newaxis] * np.ones(3), np.arange(700.0)[:, np.newaxis] * np.ones(300)
    assert len(reproducible.spread_rows(tall)) == 4096
    taken = reproducible.spread_rows(wide)[:, 0]
    assert (len(taken), taken[0], taken[-1]) == (256, 0.0, 697.0)
    assert np.array_equal(reproducible.spread_rows(wide[:256]), wide[:256])


@pytest.mark.parametrize("machine", MACHINES, ids=["this", "an old one"])
def test_every_machine_makes_the_same_map(machine: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **machine},
    )
    assert tuple(done.stdout.split()) == STORED
