"""The noise of every baseline has the law that its guarantee rests on; a scale that is a little off is noticed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from cofit.baselines.as_published import AsPublished
from cofit.baselines.averaged import Jayaraman, Pathak
from cofit.baselines.central import CentralOutput
from cofit.baselines.central_objective import CentralObjective
from cofit.baselines.federated_dpsgd import Schedule, descend
from cofit.baselines.federated_objective import perturbation
from cofit.baselines.federated_output import FederatedOutput
from cofit.baselines.method import Method, Part, Reals
from cofit.baselines.noise import GaussianNoise, KNormNoise, LaplaceNoise, gaussian_sigma
from cofit.baselines.perturbed import Perturbed
from statistical.sampling.checks import unrelated
from support.chance import PValues, accept, reject
from unit.baselines.neighbours import random_part

COUNT = 30_000


def of_knorm(noise: Reals, beta: float) -> PValues:
    d = noise.shape[1]
    norms = np.linalg.norm(noise, axis=1)
    unit = noise / norms[:, None]
    half = (d - 1) / 2
    return {
        "norm": float(stats.kstest(norms / beta, "gamma", (d,)).pvalue),
        "a coordinate": float(stats.kstest((unit[:, 0] + 1) / 2, "beta", (half, half)).pvalue),
        "a projection": float(stats.kstest((unit @ np.full(d, d**-0.5) + 1) / 2, "beta", (half, half)).pvalue),
        "norm and direction": unrelated(norms, unit[:, -1]),
        "draws": unrelated(norms[:-1], norms[1:]),
    }


def of_gaussian(noise: Reals, sigma: float) -> PValues:
    d = noise.shape[1]
    return {
        "a coordinate": float(stats.kstest(noise[:, 0] / sigma, "norm").pvalue),
        "a projection": float(stats.kstest(noise @ np.full(d, d**-0.5) / sigma, "norm").pvalue),
        "norm": float(stats.kstest(np.sum((noise / sigma) ** 2, axis=1), "chi2", (d,)).pvalue),
        "two coordinates": unrelated(noise[:, 0], noise[:, 1]),
        "draws": unrelated(noise[:-1, 0], noise[1:, 0]),
    }


@pytest.mark.parametrize("d", [2, 7, 40])
def test_knorm(d: int) -> None:
    noise = KNormNoise(0.3).sample(COUNT, d, np.random.default_rng(d))
    accept(of_knorm(noise, 0.3))
    reject(of_knorm(noise, 0.3 * 1.05))


@pytest.mark.parametrize("d", [2, 40])
def test_gaussian(d: int) -> None:
    noise = GaussianNoise(0.3).sample(COUNT, d, np.random.default_rng(d))
    accept(of_gaussian(noise, 0.3))
    reject(of_gaussian(noise, 0.3 * 1.05))


def test_laplace() -> None:
    noise = LaplaceNoise(0.3).sample(COUNT, 3, np.random.default_rng(1))
    accept({"a coordinate": float(stats.kstest(noise[:, 1], "laplace", (0, 0.3)).pvalue)})
    accept({"two coordinates": unrelated(noise[:, 0], noise[:, 1])})
    reject({"scale": float(stats.kstest(noise[:, 1], "laplace", (0, 0.3 * 1.15)).pvalue)})


SIZES = (50, 20)
ONE_NOISE: list[tuple[Method, float]] = [
    (CentralOutput(0.5, l2=0.1), 2 / (70 * 0.1 * 0.5)),
    (Pathak(0.5, l2=0.1), 2 / (20 * 0.1 * 0.5)),
    (Jayaraman(0.5, l2=0.1), 2 / (2 * 20 * 0.1 * 0.5)),
    (AsPublished(0.5), 2 / (70 * 0.5)),
]
"""A method with one noise vector, and its scale, as its source prints it."""


def without_weights(method: Method) -> Reals:
    rng = np.random.default_rng(17)
    trained = method.train([random_part(rng, rows, 5) for rows in SIZES])
    assert isinstance(trained, Perturbed)
    return np.asarray(trained.draws(COUNT, rng) - trained.weights)


@pytest.mark.parametrize(("method", "beta"), ONE_NOISE, ids=str)
def test_a_method_draws_the_noise_of_its_source(method: Method, beta: float) -> None:
    noise = without_weights(method)
    accept(of_knorm(noise, beta * (1 + 1e-6)))
    reject(of_knorm(noise, beta * 0.95))


def test_owners_average_independent_noise_of_their_own_scales() -> None:
    noise = without_weights(FederatedOutput(0.5, 1e-4, l2=0.1, mechanism="gaussian"))
    sigma = gaussian_sigma(0.5, 1e-4) * math.hypot(*(2 / (rows * 0.1) for rows in SIZES)) / 2
    accept(of_gaussian(noise, sigma * (1 + 1e-6)))
    reject(of_gaussian(noise, sigma * 0.95))
    knorm = np.var(without_weights(FederatedOutput(0.5, l2=0.1)), axis=0)
    one = [6 * (2 / (rows * 0.1 * 0.5)) ** 2 / 4 for rows in SIZES]  # d + 1 = 6 times beta^2 is a coordinate's variance
    assert knorm == pytest.approx(sum(one), rel=0.06)


def test_the_noise_inside_the_objective() -> None:
    """Rows of zeros: the weights are -b / (n L), and nothing else, but for the little noise in the end."""
    part, how = Part(np.zeros((30, 3)), np.zeros(30, np.int64)), perturbation(30, 0.5, 1.0, "paper")
    rng = np.random.default_rng(5)
    released = np.array([how.release(part, rng) for _ in range(1500)])
    accept(of_knorm(released * 30 * 0.5, how.linear.beta))
    reject(of_knorm(released * 30 * 0.5, how.linear.beta * 1.3))


@pytest.mark.parametrize("loss", ["logistic", "margin"])
def test_the_normal_noise_inside_the_objective(loss: str) -> None:
    """Rows of zeros: the weights are -b / (n Lambda), of standard deviation pace in every direction."""
    part, method = Part(np.zeros((30, 3)), np.zeros(30, np.int64)), CentralObjective(1.0, 1e-5, loss=loss, pace=0.7)
    released = method.train([part]).draws(COUNT, np.random.default_rng(5))
    accept(of_gaussian(released, 0.7))
    reject(of_gaussian(released, 0.7 * 1.05))


DESCENTS: dict[str, Callable[[float], Schedule]] = {
    "plain": lambda sigma: Schedule(12, 40, 3, 0.5, 0.2, 0.0, sigma),
    "with a penalty": lambda sigma: Schedule(12, 40, 3, 0.5, 0.2, 0.8, sigma),
    "everything in every step": lambda sigma: Schedule(12, 40, 12, 0.5, 0.2, 0.8, sigma),
}


@pytest.mark.parametrize("columns", [3, 20], ids=["fewer columns than rows", "more columns than rows"])
@pytest.mark.parametrize("kind", DESCENTS)
def test_the_noise_of_all_steps(kind: str, columns: int) -> None:
    """Rows of zeros have no gradient: what is left is the noise of every step, shrunk by the penalty of later ones."""
    part, schedule = Part(np.zeros((12, columns)), np.zeros(12, np.int64)), DESCENTS[kind](1.7)
    step = schedule.learning_rate * 1.7 * schedule.clip / schedule.lot
    shrinkage = 1 - schedule.learning_rate * schedule.l2
    sigma = step * math.sqrt(sum(shrinkage ** (2 * later) for later in range(schedule.steps)))
    drawn = descend(schedule, part, 6000, np.random.default_rng(23))
    accept(of_gaussian(drawn, sigma))
    reject(of_gaussian(drawn, sigma * 1.12))


def test_in_the_span_of_the_rows_the_law_is_the_same() -> None:
    """More columns than rows: against the same rows with so many copies that nothing is reduced, lots adapted."""
    rng = np.random.default_rng(31)
    part = random_part(rng, 4, 6)
    copied = Part(np.tile(part.features, (2, 1)), np.tile(part.labels, 2))
    schedule = Schedule(4, 30, 4, 1.0, 0.5, 0.1, 0.6)
    reduced = descend(schedule, part, 20_000, rng)
    full = descend(replace(schedule, rows=8, lot=8, sigma=1.2), copied, 20_000, rng)
    for direction in (part.features[0], rng.standard_normal(6), np.linalg.svd(part.features)[2][-1]):
        accept({"projection": float(stats.ks_2samp(reduced @ direction, full @ direction).pvalue)})
    wrong = descend(replace(schedule, rows=8, lot=8, sigma=1.5), copied, 20_000, rng)
    outside = np.linalg.svd(part.features)[2][-1]
    reject({"outside": float(stats.ks_2samp(reduced @ outside, wrong @ outside).pvalue)})
