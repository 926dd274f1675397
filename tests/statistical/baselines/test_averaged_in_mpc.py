"""What the protocol of the averages publishes, less the average of the models, is the mechanism's noise over m."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cofit.baselines.averaged import Averaged, Jayaraman, Pathak
from cofit.baselines.averaged_in_mpc import average_in_mpc
from cofit.baselines.method import Reals
from support.chance import PValues, accept, reject
from support.schemes import also_slow
from unit.baselines.neighbours import random_part

SIZES = (30, 20, 25)
METHODS: list[tuple[Averaged, float]] = [
    (Jayaraman(0.5, l2=0.5), 2 / (3 * 20 * 0.5 * 0.5)),
    (Pathak(0.5, l2=0.5), 2 / (20 * 0.5 * 0.5)),
]
"""A method, and the scale of its noise on the average, as its source prints it."""


def noise_of(method: Averaged, scheme: str, columns: int, runs: int) -> Reals:
    rng = np.random.default_rng(columns)
    parts = [random_part(rng, rows, columns) for rows in SIZES]
    average = np.mean(method.models(parts), axis=0)
    noise = []
    for _ in range(runs):
        found = average_in_mpc(method, parts, scheme, timeout=120)
        middle = 2.0 ** -(found.mechanism.grid_bits + 1) / len(SIZES)  # of the cell that the sum is rounded down to
        noise.append(found.weights - average + middle)
    return np.array(noise)


def of_many_columns(noise: Reals, beta: float) -> PValues:
    """Few releases of many columns: the lengths together are Gamma, and coordinates of the direction nearly normal."""
    runs, d = noise.shape
    norms = np.linalg.norm(noise, axis=1)
    total = float(stats.gamma.cdf(norms.sum() / beta, runs * d))
    unit = noise / norms[:, None] * d**0.5
    return {"length": 2 * min(total, 1 - total), "direction": float(stats.kstest(unit.ravel(), "norm").pvalue)}


def of_few_columns(noise: Reals, beta: float) -> PValues:
    """Many releases of three columns: a coordinate of a uniform direction is itself uniform."""
    norms = np.linalg.norm(noise, axis=1)
    return {
        "length": float(stats.kstest(norms / beta, "gamma", (3,)).pvalue),
        "direction": float(stats.kstest(noise[:, 0] / norms, "uniform", (-1, 2)).pvalue),
    }


@pytest.mark.parametrize("scheme", also_slow(["clear", "rep3", "semi2k"], "rep4", "shamir", "repn", "pair"))
@pytest.mark.parametrize(("method", "beta"), METHODS, ids=str)
def test_many_columns(method: Averaged, beta: float, scheme: str) -> None:
    noise = noise_of(method, scheme, 600, 2)
    accept(of_many_columns(noise, beta))
    for wrong in (0.7, 1.4, 3.0):
        reject(of_many_columns(noise, beta * wrong))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("scheme", ["clear", "rep3", "semi2k", "rep4", "shamir", "repn", "pair"])
def test_few_columns(scheme: str) -> None:
    method, beta = METHODS[0]
    noise = noise_of(method, scheme, 3, 150)
    accept(of_few_columns(noise, beta))
    reject(of_few_columns(noise, beta * 2.0))
