"""Draws on two neighbours never show more than the stated epsilon, and do so where the noise is too small."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from cofit.baselines import central_objective, federated_dpsgd, federated_objective
from cofit.baselines.as_published import AsPublished, AveragedAsPublished, FederatedAsPublished
from cofit.baselines.averaged import Jayaraman, Pathak
from cofit.baselines.central import CentralOutput
from cofit.baselines.central_objective import CentralObjective
from cofit.baselines.federated_dpsgd import FederatedDPSGD
from cofit.baselines.federated_objective import FederatedObjective
from cofit.baselines.federated_output import FederatedOutput
from cofit.baselines.method import Method, Part, Trained
from cofit.baselines.noise import GaussianNoise, KNormNoise, Noise
from cofit.baselines.perturbed import Perturbed
from statistical.baselines.audit import epsilon_shown, one_record_apart

ROWS = 6


def less(noise: Noise, factor: float) -> Noise:
    if isinstance(noise, GaussianNoise):
        return GaussianNoise(noise.sigma / factor)
    assert isinstance(noise, KNormNoise)
    return KNormNoise(noise.beta / factor)


def weakened(trained: Trained, factor: float) -> Trained:
    """The same with so many times less noise."""
    if isinstance(trained, Perturbed):
        return replace(trained, noise=[less(noise, factor) for noise in trained.noise])
    if isinstance(trained, federated_objective._Perturbing):
        how = [replace(how, linear=KNormNoise(how.linear.beta / factor)) for how in trained.perturbations]
        return replace(trained, perturbations=how)
    if isinstance(trained, central_objective._Perturbing):
        inside = GaussianNoise(trained.noise.inside.sigma / factor)
        return replace(trained, noise=replace(trained.noise, inside=inside))
    assert isinstance(trained, federated_dpsgd._Descending)
    return replace(trained, schedules=[replace(s, sigma=s.sigma / factor) for s in trained.schedules])


@dataclass(frozen=True)
class Case:
    """A method, how many draws, what they must show at least, and how much less noise they must find out."""

    method: Method
    draws: int
    shown: float
    factor: float

    def __str__(self) -> str:
        return str(self.method)


CASES = [
    Case(CentralOutput(1.0, sensitivity="tight"), 40_000, 0.6, 1.7),
    Case(CentralOutput(1.0, 0.01, mechanism="gaussian", sensitivity="tight"), 60_000, 0.3, 1.8),
    Case(FederatedOutput(1.0, sensitivity="tight"), 40_000, 0.6, 1.7),
    Case(FederatedOutput(0.5), 40_000, 0.15, 3.0),
    Case(Pathak(1.0, sensitivity="tight"), 40_000, 0.6, 1.7),
    Case(Jayaraman(1.0, sensitivity="tight"), 40_000, 0.6, 1.7),
    Case(FederatedObjective(3.0, l2=1.0), 1_000, 0.1, 10.0),
    pytest.param(
        Case(FederatedObjective(1.5, l2=1.0), 10_000, 0.3, 3.0), marks=[pytest.mark.slow, pytest.mark.timeout(600)]
    ),
    Case(CentralObjective(1.0, 0.01, loss="margin", pace=0.5), 60_000, 0.1, 4.0),
    Case(FederatedDPSGD(1.0, 0.01, lot=2, epochs=3, clip=0.3), 60_000, 0.4, 1.7),
    Case(FederatedDPSGD(1.0, 0.01, lot=6, epochs=1, clip=0.3), 60_000, 0.5, 1.5),
]


def drawn(method: Method, count: int, factor: float = 1.0) -> float:
    here, there = one_record_apart(ROWS)
    first, second = (
        weakened(method.train([part]), factor).draws(count, np.random.default_rng(seed))
        for seed, part in enumerate((here, there))
    )
    return epsilon_shown(first, second, method.guarantee([ROWS]).delta)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_draws_show_less_than_the_stated_epsilon(case: Case) -> None:
    epsilon = case.method.guarantee([ROWS]).epsilon
    assert epsilon is not None
    assert case.shown * epsilon <= drawn(case.method, case.draws) <= epsilon


@pytest.mark.parametrize("case", CASES, ids=str)
def test_draws_show_more_where_the_noise_is_too_small(case: Case) -> None:
    epsilon = case.method.guarantee([ROWS]).epsilon
    assert epsilon is not None
    assert drawn(case.method, case.draws, case.factor) > epsilon


@pytest.mark.parametrize("method", [Pathak(2.0, sensitivity="tight"), Jayaraman(1.0, sensitivity="tight")], ids=str)
def test_with_two_owners(method: Pathak | Jayaraman) -> None:
    """One of two models moves; the noise of Pathak's method then spends half of what its source says."""
    here, there = one_record_apart(ROWS)
    epsilon = method.guarantee([ROWS, ROWS]).epsilon
    assert epsilon == 1.0

    def shown(factor: float) -> float:
        parts = ([here, here], [here, there])
        draws = [
            weakened(method.train(both), factor).draws(40_000, np.random.default_rng(i)) for i, both in enumerate(parts)
        ]
        return epsilon_shown(draws[0], draws[1], 0.0)

    assert 0.6 < shown(1.0) <= 1.0 < shown(1.7)


@pytest.mark.parametrize("method", [AsPublished(1.0), FederatedAsPublished(1.0)], ids=str)
def test_what_was_published_shows_more_than_it_says(method: AsPublished) -> None:
    here, there = one_record_apart(40)
    draws = [method.train([part]).draws(20_000, np.random.default_rng(i)) for i, part in enumerate((here, there))]
    epsilon = method.guarantee([40]).epsilon
    assert epsilon is not None
    assert 5 * method.epsilon < epsilon_shown(draws[0], draws[1], 0.0) <= epsilon


def test_laplace_noise_for_the_wrong_norm_shows_more_than_it_says() -> None:
    """The record pulls to either side along (0, 1, ..., 1), where the 1-norm is sqrt(d) times the Euclidean one."""
    rows, columns = 1713, 51
    method = AveragedAsPublished(1.0, columns, l2=1 / rows)
    parts = []
    for side in (1, -1):
        features = np.tile(np.eye(1, columns), (rows, 1))
        features[-1] = [0.5, *np.full(columns - 1, side * (0.75 / (columns - 1)) ** 0.5)]
        parts.append(Part(features, (np.arange(rows) == rows - 1).astype(np.int64)))
    trained = [method.train([part]) for part in parts]
    weights = [one.weights for one in trained if isinstance(one, Perturbed)]
    ratios = []
    for seed, one in enumerate(trained):
        released = one.draws(60_000, np.random.default_rng(seed))
        ratios.append(np.abs(released - weights[0]).sum(axis=1) - np.abs(released - weights[1]).sum(axis=1))
    pure = method.guarantee([rows]).epsilon
    assert pure is not None
    assert 1.2 * method.epsilon < epsilon_shown(ratios[0], ratios[1], 0.0) <= pure
    with_delta = replace(method, delta=0.01).guarantee([rows])
    assert with_delta.epsilon is not None
    assert epsilon_shown(ratios[0], ratios[1], 0.01) <= with_delta.epsilon < pure
