"""Normal noise inside the objective: its budget adds up, and what is published is stationary for the noise drawn."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from scipy.special import expit

from cofit.baselines.central_objective import LOSSES, SHARE, CentralObjective
from cofit.baselines.many_minimisers import Residual, minimise_many
from cofit.baselines.method import Part, Reals
from cofit.baselines.minimiser import minimise
from cofit.baselines.noise import GaussianNoise, KNormNoise
from cofit.baselines.objective_profile import objective_delta
from cofit.errors import CofitError, InvalidInputError
from unit.baselines.neighbours import random_part

METHODS = [
    CentralObjective(1.0, 1e-5),
    CentralObjective(0.5, 1e-6, loss="margin", pace=1.6),
    CentralObjective(8.0, 1e-3, loss="margin", pace=4.0),
]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_budget_is_spent_and_not_more(method: CentralObjective) -> None:
    noise, steepness = method.noise(50), LOSSES[method.loss].steepness
    inexact = 2 * noise.tolerance / noise.final.beta
    assert inexact == pytest.approx(SHARE * method.epsilon)

    def delta(sigma: float) -> float:
        return objective_delta(sigma, steepness / noise.strength, method.epsilon - inexact)

    assert delta(noise.inside.sigma) <= method.delta < delta(noise.inside.sigma * (1 - 1e-6))


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_penalty_follows_from_the_noise_and_the_rest_is_a_trifle(method: CentralObjective) -> None:
    noise = method.noise(50)
    assert noise.inside.sigma / noise.strength == pytest.approx(method.pace)
    assert noise.final.beta * 51**0.5 == pytest.approx(1e-3 * method.pace), "a coordinate's standard deviation"


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_what_is_published_is_stationary_for_the_noise_that_was_drawn(method: CentralObjective) -> None:
    rng = np.random.default_rng(11)
    owners = [random_part(rng, rows, 6) for rows in (30, 20)]
    drawn: dict[type, Reals] = {}

    def noted(kind: type[GaussianNoise] | type[KNormNoise]) -> mock._patch[object]:
        original = kind.sample

        def sample(self: GaussianNoise | KNormNoise, *args: object) -> Reals:
            drawn[kind] = original(self, *args)  # type: ignore[arg-type]
            return drawn[kind]

        return mock.patch.object(kind, "sample", sample)

    with noted(GaussianNoise), noted(KNormNoise):
        released = method.train(owners).draws(3, rng)
    x, y = np.vstack([part.features for part in owners]), np.concatenate([part.labels for part in owners])
    signs, residual, noise = 2 * y - 1, LOSSES[method.loss], method.noise(6)
    for b, final, one in zip(drawn[GaussianNoise], drawn[KNormNoise], released, strict=True):
        w = one - final
        r = expit(residual.steepness * (residual.centre - signs * (x @ w)))
        gradient = -x.T @ (signs * r) + b + noise.strength * w
        assert np.linalg.norm(gradient) <= noise.strength * noise.tolerance * 1.01 + 1e-12 * np.linalg.norm(b)
        assert np.linalg.norm(final) > 0


def test_many_minimisers_are_those_of_the_one_by_one_solver() -> None:
    rng = np.random.default_rng(3)
    part = random_part(rng, 40, 7)
    linear = 5 * rng.standard_normal((7, 4))
    found = minimise_many(part, Residual(1.0, 0.0), 0.4, linear, tolerance=1e-10)
    for column, b in zip(found.T, linear.T, strict=True):
        expected = minimise(part, 0.01, tolerance=1e-10, linear=b / 40).weights
        assert np.linalg.norm(column - expected) < 3e-10


def test_a_minimiser_that_is_not_reached_is_an_error() -> None:
    part = random_part(np.random.default_rng(3), 40, 7)
    with pytest.raises(CofitError, match="not reached"), mock.patch("cofit.baselines.many_minimisers._ITERATIONS", 2):
        minimise_many(part, Residual(1.0, 0.0), 0.4, np.ones((7, 1)), tolerance=1e-10)


def test_columns_that_are_not_there_count_for_the_noise_at_the_end() -> None:
    part = Part(np.zeros((5, 4)), np.zeros(5, np.int64))
    for unseen in (0, 96):
        trained = METHODS[0].train([replace(part, unseen=unseen)])
        assert trained.noise == METHODS[0].noise(4 + unseen)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"loss": "hinge"}, "'loss'"),
        ({"rows": "raw"}, "'rows'"),
        ({"pace": 0.0}, "'pace'"),
        ({"delta": 0.0}, "'delta'"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidInputError, match=named):
        replace(METHODS[0], **wrong)  # type: ignore[arg-type]


def test_it_asks_for_the_rows_that_it_is_said_to_take() -> None:
    assert METHODS[0].prepared == "unit"
    assert CentralObjective(1.0, 1e-5, rows="centred").prepared == "centred"
