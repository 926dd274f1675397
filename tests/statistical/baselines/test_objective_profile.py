"""Normal noise inside the objective: no neighbours are told apart better than its profile says, and some nearly so.

Exact densities of the minimiser on a grid of the plane, for a record replaced among many equal ones that drag the
weights along the second axis (proofs.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from cofit.baselines.method import Reals
from cofit.baselines.noise import gaussian_sigma
from cofit.baselines.objective_profile import objective_delta, objective_sigma
from support.schemes import also_slow

REACH = 6.0  # standard deviations: beyond them there is less than 1e-8
Vector = tuple[float, float]


@dataclass(frozen=True)
class Pair:
    """p = -s x and q = s' x', of a record and of the one in its place, and so many others with s x = e_2."""

    p: Vector
    q: Vector
    others: float = 0.0
    steepness: float = 1.0
    centre: float = 0.0
    points: int = 401

    def residual(self, margins: Reals | float) -> Reals:
        return np.asarray(expit(self.steepness * (self.centre - margins)))

    def density(self, w: Reals, pull: Vector, sign: float, strength: float, sigma: float) -> Reals:
        """Of the minimiser at w, with a record s x = sign * pull: that of b, times the determinant of db / dw."""
        row = np.array(pull)
        own, theirs = self.residual(sign * (w @ row)), self.residual(w[..., 1])
        b = sign * own[..., np.newaxis] * row - strength * w
        b[..., 1] += self.others * theirs
        bent = self.steepness * own * (1 - own)
        along = strength + self.others * self.steepness * theirs * (1 - theirs)
        determinant = strength * along + bent * (row[0] ** 2 * along + row[1] ** 2 * strength)
        return np.asarray(np.exp(-np.square(b).sum(axis=-1) / (2 * sigma**2)) * determinant / (2 * np.pi * sigma**2))

    def divergence(self, strength: float, sigma: float, epsilon: float) -> float:
        """The larger of the integrals of (P - e^epsilon Q)_+ and (Q - e^epsilon P)_+."""
        most = REACH * sigma + 1

        def edge(value: float) -> float:
            return float(brentq(lambda v: self.others * self.residual(v) - strength * v - value, -1e4, 1e4, xtol=1e-12))

        first = np.linspace(-most / strength, most / strength, self.points)
        second = np.linspace(edge(most), edge(-most), self.points)
        w = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1)
        area = (first[1] - first[0]) * (second[1] - second[0])
        laws = [self.density(w, self.p, -1.0, strength, sigma), self.density(w, self.q, 1.0, strength, sigma)]
        assert [law.sum() * area for law in laws] == pytest.approx([1, 1], abs=1e-5), "the grid is too coarse"
        return float(max(np.maximum(a - math.exp(epsilon) * b, 0).sum() * area for a, b in (laws, laws[::-1])))


def turned(angle: float, length: float = 1.0) -> Vector:
    return length * math.cos(angle), length * math.sin(angle)


FAR = Pair(turned(0.1), turned(-0.1), others=1e40)
"""The others drag the weights so far that both records are misclassified, though they pull the same way."""
ACROSS = Pair(turned(0.0), turned(math.pi / 2))


def neighbours() -> list[Pair]:
    rng = np.random.default_rng(5)
    named = [Pair(turned(0.0), (0.0, 0.0)), Pair(turned(0.0), turned(0.0)), Pair(turned(0.0), turned(math.pi)), ACROSS]
    dragged = [Pair(turned(angle), turned(-angle), others) for angle in (0.2, 0.5) for others in (30.0, 1e4)]
    chance = [
        Pair(turned(a, r), turned(b, s), 10**k)
        for a, b, r, s, k in rng.uniform([0, 0, 0.5, 0.5, 0], [6.3, 6.3, 1, 1, 8], (4, 5))
    ]
    return [*named, *dragged, FAR, *chance]


LOSSES = {"logistic": (1.0, 0.0), "margin": (2.0, 2.0)}


SETTINGS = ((1.0, 1e-3, 1.0), (3.0, 1e-2, 1.6), (0.2, 1e-2, 0.5), (1.0, 0.1, 3.0))


@pytest.mark.parametrize(
    ("loss", "epsilon", "delta", "pace"),
    also_slow(
        [(loss, *one) for i, loss in enumerate(LOSSES) for one in SETTINGS[i::2]],
        *((loss, *one) for i, loss in enumerate(LOSSES) for one in SETTINGS[1 - i :: 2]),
    ),
)
def test_no_neighbours_are_told_apart_better_than_stated(loss: str, epsilon: float, delta: float, pace: float) -> None:
    steepness, centre = LOSSES[loss]
    sigma = objective_sigma(lambda sigma: steepness * pace / sigma, epsilon, delta)
    assert sigma is not None
    found = [
        replace(pair, steepness=steepness, centre=centre).divergence(sigma / pace, sigma, epsilon)
        for pair in neighbours()
    ]
    assert max(found) <= delta
    assert max(found) > 0.1 * delta


@pytest.mark.parametrize("epsilon", [1.0, *(pytest.param(e, marks=pytest.mark.slow) for e in (0.5, 3.0))])
def test_some_neighbours_allow_no_noise_that_is_two_percent_smaller(epsilon: float) -> None:
    delta, pace = 1e-3, 1.6
    sigma = objective_sigma(lambda sigma: pace / sigma, epsilon, delta)
    assert sigma is not None
    pair = replace(FAR, points=1201)
    assert 0.75 * delta < pair.divergence(sigma / pace, sigma, epsilon) <= delta
    assert pair.divergence(sigma / pace * 0.98, sigma * 0.98, epsilon) > delta
    assert pair.divergence(sigma / pace * 0.8, sigma * 0.8, epsilon) > 4 * delta


def test_the_determinant_is_not_always_free() -> None:
    """Where n Lambda is small, normal noise for the sensitivity 2 alone is too little."""
    epsilon, delta, strength = 0.1, 1e-4, 1.0
    plain = 2 * gaussian_sigma(epsilon, delta)
    told = replace(ACROSS, points=1201).divergence(strength, plain, epsilon)
    assert 20 * delta < told <= objective_delta(plain, 1 / strength, epsilon)


def test_the_determinant_is_free_where_the_penalty_follows_from_the_noise() -> None:
    for epsilon in (0.5, 1.0, 3.0, 8.0):
        sigma = objective_sigma(lambda sigma: 1.0 / sigma, epsilon, 1e-5)
        assert sigma is not None
        assert sigma == pytest.approx(2 * gaussian_sigma(epsilon, 1e-5), rel=1e-3)
        assert sigma >= 2 * gaussian_sigma(epsilon, 1e-5) * (1 - 1e-8)


def test_delta_falls_with_noise_and_grows_with_bend() -> None:
    sigmas, bends = np.geomspace(0.5, 50, 40), np.geomspace(1e-3, 10, 30)
    for epsilon in (0.1, 1.0, 5.0):
        deltas = np.array([[objective_delta(sigma, bend, epsilon) for bend in bends] for sigma in sigmas])
        assert (np.diff(deltas, axis=0) <= 1e-12).all()
        assert (np.diff(deltas, axis=1) >= -1e-12).all()
    assert objective_sigma(lambda _: 10.0, 0.1, 1e-5) is None
