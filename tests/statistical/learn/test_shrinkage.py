"""The claims of ``learn/shrinkage.py``: estimates without bias, errors of the stated size, and few false alarms."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.learn.shrinkage import Reals, believed_shrinkage, gain_of, shrunk_weights, soft_threshold

DRAWS = 1500
Z = 5.0  # two-sided, alpha below 1e-6

DENSE = np.random.default_rng(5).standard_normal(600) * 0.8
SPARSE = np.where(np.arange(600) < 12, 6.0, 0.0)


def draws(w: Reals, seed: int, count: int = DRAWS) -> Reals:
    return np.asarray(w + np.random.default_rng(seed).standard_normal((count, len(w))))


@pytest.mark.parametrize("w", [DENSE, SPARSE, np.zeros(600)], ids=["dense", "sparse", "nothing"])
@pytest.mark.parametrize("threshold", [0.25, 1.0, 2.0])
def test_steins_estimate_has_no_bias(w: Reals, threshold: float) -> None:
    errors = []
    for y in draws(w, 1):
        kept = soft_threshold(y, threshold)
        errors.append(kept @ y - np.count_nonzero(kept) - kept @ w)
    deviation = np.std(errors) / np.sqrt(len(errors))
    assert abs(np.mean(errors)) < Z * deviation


@pytest.mark.parametrize("w", [DENSE, SPARSE], ids=["dense", "sparse"])
@pytest.mark.parametrize("threshold", [0.5, 1.5, 2.5])
def test_the_error_is_as_large_as_stated(w: Reals, threshold: float) -> None:
    """Root mean squares over draws; lengths are taken as given, which they nearly are in 600 dimensions."""
    squares, stated = [], []
    for y in draws(w, 2):
        gain, error = gain_of(y, threshold)
        kept = soft_threshold(y, threshold)
        truth = kept @ w / np.linalg.norm(kept) - y @ w / np.linalg.norm(y)
        squares.append((gain - truth) ** 2)
        stated.append(error**2)
    assert np.sqrt(np.mean(squares) / np.mean(stated)) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("cols", [20, 200, 5000])
@pytest.mark.parametrize("size", [0.0, 0.1, 1.0])
def test_false_alarms_are_rare(cols: int, size: float) -> None:
    """Weights of one size or none: nothing is to be gained, and in less than 2 % of releases something is changed."""
    w = size * np.random.default_rng(3).choice([-1.0, 1.0], cols)
    alarms = sum(believed_shrinkage(y, 1.0) > 0 for y in draws(w, 4, 500))
    assert alarms <= 10


def test_where_few_columns_matter_the_direction_gets_better() -> None:
    better = []
    for y in draws(SPARSE, 6, 300):
        shrunk = shrunk_weights(y, believed_shrinkage(y, 1.0))
        cosines = [v @ SPARSE / np.linalg.norm(v) / np.linalg.norm(SPARSE) for v in (y, shrunk)]
        better.append(cosines[1] - cosines[0])
    assert np.mean(better) > 0.05
    assert np.mean(np.array(better) < -1e-12) < 0.01
