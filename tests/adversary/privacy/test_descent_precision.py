"""An observer who knows both candidates and sees one released descent: what a lattice in the noise would give away.

First candidate: all rows are zero, so every sum of gradients is 0 and what is released is a sum of noise alone. Second:
one row is not. Were the noise on a coarser grid than the sums (multiples of 8 steps), the first candidate would leave
multiples of 8 in every weight, and the second would not: right every time, whatever epsilon says. The observer also
tries every residue class, and the size of the weights.

Guessing which of two neighbours was used is right with probability at most e^epsilon / (1 + e^epsilon) (and delta / 2
more), whatever the method, when both are as likely.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
from scipy import stats

from cofit import Party, SecretArray
from cofit.arithmetic import IntegerRing
from cofit.learn.recipes.descent import noisy
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.sampling.discrete_gaussian import discrete_gaussians
from cofit.sampling.discrete_laplace import discrete_laplace
from cofit.sampling.rounded_knorm import rounded_knorms
from support.chance import accept, reject
from support.descent import Integers, Table, opened, plan_of

COARSE = 8
EPSILON = 0.5
Attack = Callable[[Integers], bool]


def lattice(modulus: int) -> Attack:
    """Guess the second candidate unless nearly all weights are multiples."""
    return lambda weights: bool(np.mean([int(w) % modulus == 0 for w in weights]) < 0.75)


def clustered(weights: Integers) -> bool:
    """Guess the second candidate unless one residue class modulo 8 is far too common."""
    return int(np.bincount([int(w) % COARSE for w in weights]).max()) < len(weights) * 3 // 4


ATTACKS: dict[str, Attack] = {
    **{f"multiples of {m}": lattice(m) for m in (2, 4, COARSE, 16)},
    "residues": clustered,
    "size": lambda weights: bool(abs(int(weights[0])) > np.median([abs(int(w)) for w in weights])),
}


def candidates(plan: DescentPlan) -> tuple[Table, Table]:
    x, y = np.zeros((plan.facts.rows, plan.facts.cols)), np.ones(plan.facts.rows, np.int64)
    other = x.copy()
    other[0, ::2] = 1.0
    return (x, y), (other, y)


def right_guesses(plan: DescentPlan, trials: int) -> dict[str, int]:
    right = dict.fromkeys(ATTACKS, 0)
    for trial in range(trials):
        weights = opened(plan, candidates(plan)[trial % 2]) >> plan.formats.cells
        for name, attack in ATTACKS.items():
            right[name] += attack(weights) == bool(trial % 2)
    return right


def p_of(right: int, trials: int) -> float:
    """How likely so many right guesses are at the rate that epsilon allows."""
    allowed = math.exp(EPSILON) / (1 + math.exp(EPSILON)) + 1e-5
    return float(stats.binom.sf(right - 1, trials, allowed))


def plan_for(kind: str) -> DescentPlan:
    return plan_of(kind, rows=8, cols=30, epsilon=EPSILON, fit_intercept=False)


@contextmanager
def coarser_noise(factor: int = COARSE) -> Iterator[None]:
    """Noise of the same size, in multiples of ``factor`` steps."""

    def draw(party: Party, shape: Any, t: Fraction, ring: IntegerRing, *, precision: int) -> SecretArray:
        return discrete_laplace(party, shape, t / factor, ring, precision=precision) * factor

    def draws(
        party: Party, laws: Sequence[tuple[Fraction, int]], ring: IntegerRing, *, precision: int
    ) -> list[SecretArray]:
        finer = discrete_gaussians(party, [(sigma / factor, n) for sigma, n in laws], ring, precision=precision)
        return [one * factor for one in finer]

    def vectors(party: Party, count: int, d: int, scale: Fraction, ring: IntegerRing) -> SecretArray:
        return rounded_knorms(party, count, d, scale / factor, ring) * factor

    with (
        mock.patch.object(noisy, "discrete_gaussians", draws),
        mock.patch.object(noisy, "discrete_laplace", draw),
        mock.patch.object(noisy, "rounded_knorms", vectors),
    ):
        yield


@pytest.mark.parametrize(
    ("kind", "trials"), [("pure", 60), ("knorm", 60), pytest.param("owners", 40, marks=pytest.mark.slow)]
)
def test_a_released_descent_tells_candidates_apart_no_better_than_epsilon_allows(kind: str, trials: int) -> None:
    accept({attack: p_of(right, trials) for attack, right in right_guesses(plan_for(kind), trials).items()})


@pytest.mark.parametrize(
    ("kind", "trials"), [("pure", 60), ("knorm", 60), pytest.param("owners", 32, marks=pytest.mark.slow)]
)
def test_noise_on_a_coarser_grid_would_tell_them_apart(kind: str, trials: int) -> None:
    """Broken on purpose."""
    plan = plan_for(kind)
    with coarser_noise(COARSE << plan.formats.cells):
        right = right_guesses(plan, trials)
    assert right[f"multiples of {COARSE}"] == trials
    reject({"multiples": p_of(trials, trials)})
