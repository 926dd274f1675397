"""A sampled gradient step is told apart best where the two gradients are opposite and of full length (proofs.md)."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.baselines.dpsgd_accounting import delta_of
from cofit.baselines.method import Reals

_GRID = np.linspace(-8, 8, 401)


def divergence(g: Reals, other: Reals, sigma: float, q: float, epsilon: float) -> float:
    """The integral of (P - e^epsilon Q)_+ in the plane, for unit sigma after scaling."""
    x, y = np.meshgrid(_GRID, _GRID, indexing="ij")
    base = np.exp(-(x**2 + y**2) / 2) / (2 * np.pi)

    def mixture(mean: Reals) -> Reals:
        u, v = mean / sigma
        return np.asarray((1 - q) * base + q * np.exp(-((x - u) ** 2 + (y - v) ** 2) / 2) / (2 * np.pi))

    return float(np.maximum(mixture(g) - np.exp(epsilon) * mixture(other), 0).sum() * (_GRID[1] - _GRID[0]) ** 2)


@pytest.mark.parametrize(("sigma", "q", "epsilon"), [(1.0, 0.3, 0.2), (0.7, 0.05, 0.5), (2.0, 0.9, 0.1)])
def test_opposite_gradients_of_full_length_are_the_worst(sigma: float, q: float, epsilon: float) -> None:
    worst = divergence(np.array([1.0, 0.0]), np.array([-1.0, 0.0]), sigma, q, epsilon)
    assert worst == pytest.approx(delta_of(sigma, q, 1, epsilon), rel=2e-3)
    rng = np.random.default_rng(2)
    for _ in range(12):
        angle, first, second = rng.uniform(0, 2 * np.pi), rng.uniform(0.3, 1), rng.uniform(0, 1)
        other = second * np.array([np.cos(angle), np.sin(angle)])
        assert divergence(np.array([first, 0.0]), other, sigma, q, epsilon) <= worst + 1e-9
    beyond = divergence(np.array([1.2, 0.0]), np.array([-1.0, 0.0]), sigma, q, epsilon)
    assert beyond > worst * 1.01, "a gradient that is not clipped is told apart better"
