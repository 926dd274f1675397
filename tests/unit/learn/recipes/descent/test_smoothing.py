"""Smoothed weights: the formula in both forms, no stretching, and what is gained where rows have few directions."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.learn.facts import training_facts
from cofit.learn.recipes.descent.many_scores import scores_of_releases, smoothed_scores_of_releases
from cofit.learn.recipes.descent.planning import plan_descent
from cofit.learn.recipes.descent.smoothing import CUT, cut_of, smoothed_weights
from cofit.learn.recipes.descent.twin import cleartext_descent

RNG = np.random.default_rng(3)


def _unit(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@pytest.mark.parametrize("shape", [(40, 200), (200, 40)], ids=["wide", "tall"])
def test_it_is_the_ridge_of_the_rows_covariance(shape: tuple[int, int]) -> None:
    rows, weights = _unit(RNG.normal(size=shape) + 0.5), RNG.normal(size=(shape[1], 2))
    n, cut = 1000, 3.0
    found = smoothed_weights(rows, weights, n, cut)
    mean = rows.mean(axis=0)
    covariance = n / len(rows) * (rows - mean).T @ (rows - mean)
    top = np.linalg.eigvalsh(covariance)[-1]
    matrix = (top + cut) / top * np.linalg.solve(covariance + cut * np.eye(shape[1]), covariance)
    np.testing.assert_allclose(found.weights, matrix @ weights, atol=1e-7)
    np.testing.assert_allclose(
        rows @ found.weights + found.offsets, mean @ weights + (rows - mean) @ matrix @ weights, atol=1e-7
    )


def test_it_never_stretches_and_keeps_the_strongest_direction() -> None:
    rows = RNG.normal(size=(300, 30)) * np.geomspace(1, 0.01, 30) / 10
    apart = rows - rows.mean(axis=0)
    directions = np.linalg.svd(apart, full_matrices=False)[2]
    found = smoothed_weights(rows, directions.T, 500, 2.0).weights
    lengths = np.linalg.norm(found, axis=0)
    assert lengths[0] == pytest.approx(1, abs=1e-7)
    assert (np.diff(lengths) < 1e-9).all() and lengths[-1] < 0.01


def test_rows_that_are_all_alike_leave_scores_as_they_are() -> None:
    rows, weights = np.full((30, 4), 0.5), np.arange(4.0)[:, np.newaxis]
    found = smoothed_weights(rows, weights, 100, 1.0)
    np.testing.assert_array_equal(found.weights, weights)
    np.testing.assert_array_equal(found.offsets, [0.0])


def test_the_cut_is_that_of_the_time_of_the_descent() -> None:
    assert cut_of(0.01, 20) == pytest.approx(CUT / 0.2)


def test_it_takes_noise_out_where_rows_have_few_directions() -> None:
    """400 columns that follow 5 factors, at epsilon = 1: noise in the other 395 directions is left out of scores."""
    rng = np.random.default_rng(8)
    factors, loadings = rng.normal(size=(1200, 5)), rng.normal(size=(5, 400))
    features = factors @ loadings + 2 * rng.normal(size=(1200, 400))
    labels = (factors[:, 0] + factors[:, 1] > 0).astype(np.int64)
    facts = training_facts(800, 400, epsilon=1.0, delta=1e-5, scheme="clear")
    plan = plan_descent(facts)
    released = cleartext_descent(plan, features[:800], labels[:800], 10, rng)
    test, truth = features[800:], labels[800:, np.newaxis] == 1
    plain = ((scores_of_releases(plan, released, test) > 0) == truth).mean(axis=0)
    smoothed = ((smoothed_scores_of_releases(plan, released, test) > 0) == truth).mean(axis=0)
    assert (smoothed - plain).mean() > 0.02
    assert (smoothed > plain).all()
