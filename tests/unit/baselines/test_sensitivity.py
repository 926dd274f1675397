"""No replaced record moves the trained weights further than the noise is for, and some come near."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.special import expit

from cofit.baselines.as_published import AsPublished, AveragedAsPublished, FederatedAsPublished
from cofit.baselines.averaged import Jayaraman, Pathak
from cofit.baselines.central import CentralNoPrivacy, CentralOutput
from cofit.baselines.federated_output import FederatedOutput
from cofit.baselines.method import Method, Part, Reals
from cofit.baselines.minimiser import minimise
from cofit.baselines.noise import GaussianNoise, KNormNoise, LaplaceNoise, Noise, gaussian_sigma
from cofit.baselines.perturbed import Perturbed
from cofit.baselines.sensitivity import gradient_constant, local
from unit.baselines.neighbours import pairs, random_part

ROWS, COLUMNS = 12, 3
METHODS: list[tuple[Method, float]] = [
    (CentralOutput(1.3), 0.45),
    (CentralOutput(1.3, l2=0.01), 0.3),
    (CentralOutput(1.3, sensitivity="tight"), 0.7),
    (CentralOutput(1.3, 1e-5, mechanism="gaussian", sensitivity="tight"), 0.7),
    (FederatedOutput(0.7), 0.45),
    (FederatedOutput(0.7, sensitivity="tight"), 0.7),
    (FederatedOutput(0.7, 1e-3, l2=0.1, mechanism="gaussian", sensitivity="tight"), 0.5),
    (Pathak(2.0, sensitivity="tight"), 0.7),
    (Jayaraman(2.0, sensitivity="tight"), 0.7),
    (Jayaraman(2.0, 1e-6, mechanism="gaussian", sensitivity="tight"), 0.7),
    (AsPublished(1.0), 0.5),
    (FederatedAsPublished(1.0), 0.5),
    (AveragedAsPublished(1.0, COLUMNS), 0.7),
    (AveragedAsPublished(1.0, COLUMNS, source="pathak"), 0.7),
]
"""A method, and how much of its sensitivity the worst neighbours here must reach."""


def covered(noise: Noise, difference: Reals, epsilon: float, delta: float) -> float:
    """How much of what this noise covers at (epsilon, delta) a difference uses up."""
    if isinstance(noise, LaplaceNoise):
        return float(np.abs(difference).sum()) / (epsilon * noise.scale)
    if isinstance(noise, GaussianNoise):
        return float(np.linalg.norm(difference)) * gaussian_sigma(epsilon, delta) / noise.sigma
    assert isinstance(noise, KNormNoise)
    return float(np.linalg.norm(difference)) / (epsilon * noise.beta)


def used(method: Method, parts: Sequence[Part], neighbours: Sequence[Part], owner: int) -> float:
    """The difference of the weights, without noise, in units of what the noise covers at the stated guarantee."""
    guarantee = method.guarantee([len(part.labels) for part in parts])
    assert guarantee.epsilon is not None
    here, there = method.train(parts), method.train(neighbours)
    assert isinstance(here, Perturbed)
    assert isinstance(there, Perturbed)
    assert here.noise == there.noise, "the noise depends on the data"
    noises = len(here.noise)  # each owner's own, averaged: the difference of the average is 1 / noises of the owner's
    noise = here.noise[owner if noises > 1 else 0]
    return covered(noise, (here.weights - there.weights) * noises, guarantee.epsilon, guarantee.delta)


@pytest.mark.parametrize(("method", "reached"), METHODS, ids=str)
def test_the_noise_covers_what_a_record_moves(method: Method, reached: float) -> None:
    rng = np.random.default_rng(7)
    worst = 0.0
    for part, other in pairs(rng, ROWS, COLUMNS, 8):
        worst = max(worst, used(method, [part], [other], 0))
        bigger = random_part(rng, ROWS + 9, COLUMNS)
        worst = max(worst, used(method, [bigger, part], [bigger, other], 1))
    assert reached <= worst <= 1


def test_the_computed_minimiser_is_within_the_tolerance_of_the_exact_one() -> None:
    rng = np.random.default_rng(3)
    for l2 in (1.0, 0.05, 1e-3):
        part = random_part(rng, 40, 5)
        facts = local(40, l2, "tight")
        exact = minimise(part, l2, tolerance=facts.tolerance / 1000).weights
        assert np.linalg.norm(facts.weights(part) - exact) <= facts.tolerance * 1.001
        assert facts.sensitivity >= facts.exact + 2 * facts.tolerance


@pytest.mark.parametrize("length", [0.0, 1.0, 1e6])
def test_the_minimiser_with_a_linear_term_is_stationary(length: float) -> None:
    part = random_part(np.random.default_rng(4), 30, 4)
    linear = np.full(4, length / 2)
    found = minimise(part, 0.02, tolerance=1e-7, linear=linear)
    residual = expit(part.features @ found.weights) - part.labels
    gradient = part.features.T @ residual / 30 + 0.02 * found.weights + linear
    assert np.linalg.norm(gradient) <= 0.02 * 1e-7 + 1e-14 * length * 30
    assert found.distance <= 1e-7


def test_the_gradient_constant() -> None:
    assert gradient_constant(1.0, "paper") == 1.0
    tight = gradient_constant(1.0, "tight")
    assert tight == pytest.approx(0.659, abs=1e-3)
    assert tight >= expit(tight)
    assert gradient_constant(1e-3, "tight") == 1.0


def test_without_privacy_all_releases_are_the_minimiser() -> None:
    part = random_part(np.random.default_rng(5), 30, 4)
    released = CentralNoPrivacy(0.3).train([part]).draws(3, np.random.default_rng(0))
    assert released.shape == (3, 4)
    assert np.abs(released - minimise(part, 0.3, tolerance=1e-10).weights).max() < 1e-6
    assert CentralNoPrivacy(0.3).guarantee([30]).epsilon is None
