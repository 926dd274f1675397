"""The protocol of the averages: every scheme, one opening, and nothing in the result but models and noise."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from cofit import Party, SecretArray
from cofit.baselines.averaged import Averaged, Jayaraman, Pathak
from cofit.baselines.averaged_in_mpc import FORMAT, REASON, average_in_mpc, sum_mechanism
from cofit.baselines.method import Part
from cofit.errors import InvalidInputError, PartyFailedError
from cofit.privacy.mechanisms import Gaussian, KNorm
from unit.baselines.neighbours import random_part

SCHEMES = ("clear", "rep3", "semi2k", "rep4", "repn")
METHODS: list[Averaged] = [
    Jayaraman(1.0),
    Pathak(1.0, sensitivity="tight"),
    Jayaraman(1.0, 1e-5, mechanism="gaussian"),
]


def parts(columns: int = 4) -> list[Part]:
    rng = np.random.default_rng(8)
    return [random_part(rng, rows, columns) for rows in (30, 20, 25)]


def without_noise(self: object, party: Party, weights: SecretArray) -> SecretArray:
    return weights


@pytest.mark.parametrize("scheme", SCHEMES)
def test_without_noise_it_is_the_average_of_the_models(scheme: str) -> None:
    method, owners = Jayaraman(1.0), parts()
    with mock.patch.object(KNorm, "perturb", without_noise):
        found = average_in_mpc(method, owners, scheme)
    exact = np.mean(method.models(owners), axis=0)
    assert np.abs(found.weights - exact).max() <= 2.0 ** -(FORMAT.fraction_bits + 1)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_one_opening_of_noisy_weights(scheme: str, method: Averaged) -> None:
    owners = parts()
    found = average_in_mpc(method, owners, scheme)
    assert [opening.reason for opening in found.run.openings] == [REASON]
    error = found.weights - np.mean(method.models(owners), axis=0)
    assert 0 < np.linalg.norm(error) < 60 * found.mechanism.expected_norm / len(owners)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_noise_is_that_of_the_method_and_a_little_for_the_encoding(method: Averaged) -> None:
    sizes, columns = [30, 20, 25], 7
    mechanism = sum_mechanism(method, sizes, columns)
    moved = method.local(sizes).sensitivity
    assert moved + columns**0.5 * 2.0**-FORMAT.fraction_bits <= float(mechanism.sensitivity) < moved * 1.001
    budget = method.budget(3)
    assert (float(mechanism.epsilon), float(mechanism.delta)) == (budget.epsilon, budget.delta)
    guarantee = method.guarantee(sizes)
    assert (guarantee.epsilon, guarantee.delta) == (budget.epsilon, budget.delta)
    if isinstance(mechanism, Gaussian):
        assert method.local(sizes).sensitivity < float(mechanism.scale)
    else:
        assert float(mechanism.scale) == pytest.approx(float(mechanism.sensitivity) / budget.epsilon, rel=1e-6)


def test_the_smallest_owner_decides() -> None:
    assert sum_mechanism(Jayaraman(1.0), [30, 20, 25], 3).scale == sum_mechanism(Jayaraman(1.0), [20] * 3, 3).scale


def test_owners_with_other_columns_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="columns"):
        average_in_mpc(Jayaraman(1.0), [*parts(4), *parts(3)])


def test_a_model_beyond_the_public_bound_is_refused() -> None:
    with (
        mock.patch.object(Jayaraman, "models", lambda self, parts: [np.full(4, 9.0)] * 3),
        pytest.raises(PartyFailedError, match="public bound"),
    ):
        average_in_mpc(Jayaraman(1.0), parts())
