"""Differential privacy, directly: the probabilities of all outcomes under two neighbours, at the full sensitivity.

Outcomes are put into cells. For every cell S, P(S) <= e^epsilon P'(S) + delta up to sampling error (Clopper-Pearson,
alpha = 1e-6 for all cells together); and half the noise violates it.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.privacy.mechanisms import Mechanism
from statistical.sampling.checks import Values
from support.chance import ALPHA, believe
from support.training import planned, published

EPSILON = 1.0
DELTA = 0.02  # large, so that a sample can see it
DRAWS = 60_000


def plan_of(mechanism: str, d: int) -> MinimiserPlan:
    delta = DELTA if mechanism == "gaussian" else 0.0
    return planned(500, d, mechanism=mechanism, epsilon=EPSILON, delta=delta, fit_intercept=False)


def neighbours(mechanism: Mechanism, direction: str) -> tuple[Values, Values]:
    """Two weight vectors on the grid, as far apart as the sensitivity allows, in one coordinate or in all."""
    d = mechanism.dimension
    steps = float(mechanism.sensitivity) * 2.0**mechanism.weight_bits
    share = math.floor(steps) if direction == "axis" else math.floor(steps / d**0.5)
    moved = np.zeros(d) if direction == "axis" else np.full(d, float(share))
    moved[0] = share
    return np.zeros(d), np.ldexp(moved, -mechanism.weight_bits)


def cells(outcomes: Values, others: Values, center: Values, scale: float) -> tuple[Values, Values]:
    """Counts in quantile cells of each coordinate (and of both together), and in cells along the line of both."""
    d = outcomes.shape[1]
    line = center / np.linalg.norm(center)
    both = np.concatenate([outcomes, others])
    first: list[Values] = []
    second: list[Values] = []
    for values in [both @ line, *both.T]:
        edges = np.unique(np.quantile(values, np.linspace(0, 1, 41)[1:-1]))
        place = np.searchsorted(edges, values, side="right")
        for part, into in ((place[: len(outcomes)], first), (place[len(outcomes) :], second)):
            into.append(np.bincount(part, minlength=len(edges) + 1))
    if d == 2:
        edges = np.array([-2.0, -0.8, 0.0, 0.8, 2.0]) * scale
        grid = [np.digitize(values, edges) for values in both.T]
        place = grid[0] * (len(edges) + 1) + grid[1]
        size = (len(edges) + 1) ** 2
        first.append(np.bincount(place[: len(outcomes)], minlength=size))
        second.append(np.bincount(place[len(outcomes) :], minlength=size))
    # the two events that a likelihood-ratio test would choose
    for values in (both @ line, -(both @ line)):
        for quantile in (0.5, 0.8, 0.9, 0.97):
            event = values > np.quantile(values, quantile)
            first.append(np.array([event[: len(outcomes)].sum()]))
            second.append(np.array([event[len(outcomes) :].sum()]))
    return np.concatenate(first), np.concatenate(second)


def largest_excess(mechanism: Mechanism, plan: MinimiserPlan, direction: str, stated: Mechanism) -> float:
    """The largest proven value of P(S) - e^epsilon P'(S) - delta over all cells, both ways round."""
    zero, moved = neighbours(stated, direction)
    format = plan.formats.of(plan.formats.weights)
    here, there = (published(mechanism, w, format, DRAWS) for w in (zero, moved))
    a, b = cells(here, there, moved, float(stated.scale))
    level = ALPHA / (4 * len(a))
    excess = []
    for p, q in ((a, b), (b, a)):
        lower = np.where(p > 0, stats.beta.ppf(level, np.maximum(p, 1), DRAWS - np.maximum(p, 1) + 1), 0.0)
        upper = np.where(
            q < DRAWS, stats.beta.isf(level, np.minimum(q, DRAWS - 1) + 1, DRAWS - np.minimum(q, DRAWS - 1)), 1.0
        )
        excess.append(lower - math.exp(float(stated.epsilon)) * upper - float(stated.delta))
    return float(np.max(excess))


@pytest.mark.parametrize(("d", "direction"), [(1, "axis"), pytest.param(2, "axis", marks=pytest.mark.slow), (2, "all")])
@pytest.mark.parametrize("name", ["knorm", "laplace", "gaussian"])
def test_no_outcome_tells_neighbours_apart_beyond_epsilon(name: str, d: int, direction: str) -> None:
    plan = plan_of(name, d)
    believe(largest_excess(plan.mechanism, plan, direction, plan.mechanism) <= 0, "less privacy than stated")


@pytest.mark.parametrize("d", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["knorm", "laplace", "gaussian"])
def test_half_the_noise_violates_epsilon(name: str, d: int) -> None:
    plan = plan_of(name, d)
    half = replace(plan.mechanism, scale=plan.mechanism.scale / 2)
    direction = "all" if name == "laplace" else "axis"
    assert largest_excess(half, plan, direction, plan.mechanism) > 0
