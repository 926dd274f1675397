"""Objective perturbation: its constants add up to epsilon, and what it publishes is stationary for its noise."""

from __future__ import annotations

import math
from unittest import mock

import numpy as np
import pytest
from scipy.special import expit

from cofit.baselines.federated_objective import SHARE, FederatedObjective, perturbation
from cofit.baselines.method import Part
from cofit.baselines.noise import KNormNoise
from unit.baselines.neighbours import random_part

CASES = [(856, 1.0, 1.0), (100, 0.01, 1.0), (50, 1e-3, 0.1), (10, 0.1, 4.0), (856, 1e-4, 1.0)]


@pytest.mark.parametrize(("rows", "l2", "epsilon"), CASES)
@pytest.mark.parametrize(("sensitivity", "power"), [("paper", 2), ("tight", 1)])
def test_the_parts_of_epsilon_add_up(rows: int, l2: float, epsilon: float, sensitivity: str, power: int) -> None:
    """The noise on the gradient, which one record moves by 2; the determinants; and the inexact minimiser."""
    how = perturbation(rows, l2, epsilon, sensitivity)
    noise = 2 / how.linear.beta
    determinants = power * math.log(1 + 0.25 / (rows * (l2 + how.extra)))
    inexact = 2 * how.tolerance / how.final.beta
    assert noise + determinants + inexact == pytest.approx(epsilon, rel=1e-6)
    assert noise + determinants + inexact <= epsilon * (1 + 1e-12)
    assert inexact == pytest.approx(SHARE * epsilon)
    assert how.final.beta * rows * (l2 + how.extra) <= SHARE * how.linear.beta * 1.001, "more noise than it is worth"


@pytest.mark.parametrize(("rows", "l2", "epsilon"), CASES)
def test_the_constants_are_those_of_the_source(rows: int, l2: float, epsilon: float) -> None:
    """Algorithm 2, as it is printed, with epsilon less what is kept for the minimiser."""
    how = perturbation(rows, l2, epsilon, "paper")
    spent, c = epsilon * (1 - SHARE), 0.25
    left = spent - math.log(1 + 2 * c / (rows * l2) + c**2 / (rows * l2) ** 2)
    extra = 0.0
    if left <= 0:
        extra, left = c / (rows * (math.exp(spent / 4) - 1)) - l2, spent / 2
    assert (how.extra, how.linear.beta) == pytest.approx((extra, 2 / left), rel=1e-6)
    assert how.extra >= 0


def test_both_branches_are_among_the_cases() -> None:
    assert {perturbation(*case, "paper").extra > 0 for case in CASES} == {True, False}


def test_the_tight_constants_need_less_noise() -> None:
    paper, tight = (perturbation(10, 0.1, 4.0, sensitivity) for sensitivity in ("paper", "tight"))
    assert tight.linear.beta < paper.linear.beta


@pytest.mark.parametrize(("rows", "l2", "epsilon"), CASES[:4])
def test_what_is_published_is_stationary_for_the_noise_that_was_drawn(rows: int, l2: float, epsilon: float) -> None:
    rng = np.random.default_rng(11)
    part, how = random_part(rng, rows, 6), perturbation(rows, l2, epsilon, "paper")
    drawn: list[np.ndarray] = []
    original = KNormNoise.sample

    def noted(self: KNormNoise, count: int, dimension: int, rng: np.random.Generator, unseen: int) -> np.ndarray:
        drawn.append(original(self, count, dimension, rng, unseen))
        return drawn[-1]

    with mock.patch.object(KNormNoise, "sample", noted):
        released = how.release(part, rng)
    b, final = drawn[0][0], drawn[1][0]
    w = released - final
    loss = part.features.T @ (expit(part.features @ w) - part.labels) / rows
    gradient = loss + (l2 + how.extra) * w + b / rows
    assert np.linalg.norm(gradient) <= (l2 + how.extra) * how.tolerance * 1.01 + 1e-13 * np.linalg.norm(b)
    assert np.linalg.norm(final) > 0


def test_owners_draw_their_own_noise() -> None:
    part = Part(np.zeros((20, 2)), np.zeros(20, np.int64))
    method = FederatedObjective(1.0)
    one, four = method.train([part]), method.train([part] * 4)
    single = one.draws(200, np.random.default_rng(1))
    average = four.draws(200, np.random.default_rng(2))
    assert single.shape == average.shape == (200, 2)
    ratio = float(np.var(single) / np.var(average))
    assert 2.5 < ratio < 6, "independent noise of four owners averages to a quarter of the variance"
