"""An observer who knows both candidates and sees one release: what low-precision noise gives away, and ours does not.

The paper's noise with 16 fractional bits is s_i gamma, where s_i (a coordinate of the unit vector) and gamma have 16
fractional bits each and the product is cut to 16. In units of 2^-16 the noise of every coordinate is therefore a
multiple of gamma, k gamma with an integer k, rounded: of the integers, only one in gamma is possible when gamma > 1. An
observer takes a candidate away from the release, reads gamma off the norm of the rest, tries the values of gamma
nearby, and asks how well multiples of it explain all coordinates. The right candidate leaves a lattice; the wrong one,
which differs by about a unit in every coordinate, does not.

Guessing which of two neighbours was used is right with probability at most e^epsilon / (1 + e^epsilon) (and delta / 2
more), whatever the method, when both are as likely.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from support.chance import accept, reject
from support.training import planned, published

D, N = 1874, 1713
PAPER_BITS = 16
MECHANISMS = ("knorm", "laplace", "gaussian")
Reals = npt.NDArray[np.float64]
Attack = Callable[[Reals, Reals, Reals], bool]


# --- the attacks -----------------------------------------------------------------------------------------


def lattice_score(rest: Reals, bits: int) -> float:
    """How well coordinates are explained as rounded multiples of one gamma: the best log-likelihood over gamma.

    In units of 2^-bits, k gamma becomes the integer r with probability max(0, 1 - |r - k gamma|) where rounding is up
    or down in proportion, and with certainty for r <= k gamma < r + 1 where it is down.
    """
    r = np.rint(np.ldexp(rest, bits))
    gamma = math.ldexp(float(np.linalg.norm(rest)), bits)
    nearby = np.ldexp(np.rint(gamma) + np.arange(-24, 25), -bits)
    best = -math.inf
    for g in nearby[nearby > 2.0**-bits]:
        k = np.floor(r / g)
        gaps = [(k + j) * g - r for j in (0, 1)]  # the multiples just below and above
        in_proportion = np.maximum(0.0, 1 + gaps[0]) + np.maximum(0.0, 1 - gaps[1])
        down = ((gaps[0] >= 0) | (gaps[1] < 1)).astype(np.float64)
        best = max(best, *(float(np.log(explained + 1e-3).sum()) for explained in (in_proportion, down)))
    return best


def lattice_attack(bits: int) -> Attack:
    """Guess that the second candidate was used."""

    def guess(release: Reals, first: Reals, second: Reals) -> bool:
        return lattice_score(release - second, bits) > lattice_score(release - first, bits)

    return guess


def likelihood_attack(plan: MinimiserPlan) -> Attack:
    """The best test there is against the ideal noise."""
    name, scale = plan.mechanism.name, float(plan.mechanism.scale)

    def surprise(rest: Reals) -> float:
        if name == "knorm":
            return float(np.linalg.norm(rest)) / scale
        return float(np.abs(rest).sum()) / scale if name == "laplace" else float(rest @ rest) / (2 * scale**2)

    def guess(release: Reals, first: Reals, second: Reals) -> bool:
        return surprise(release - second) < surprise(release - first)

    return guess


# --- the releases ----------------------------------------------------------------------------------------


def candidates(d: int, sensitivity: float, bits: int, rng: np.random.Generator) -> tuple[Reals, Reals]:
    """Weights of norm 0.3 and others at the distance of the sensitivity, with ``bits`` fractional bits."""
    w = rng.normal(size=d)
    w *= 0.3 / np.linalg.norm(w)
    move = rng.choice([-1.0, 1.0], size=d) * sensitivity / d**0.5 * (1 - 1e-9)
    first, second = (np.ldexp(np.trunc(np.ldexp(v, bits)), -bits) for v in (w, w + move))
    return np.asarray(first), np.asarray(second)


def paper_release(weights: Reals, beta: float, rng: np.random.Generator, rounding: str) -> Reals:
    """pi_DP with 16 fractional bits; products are cut down, or up or down in proportion."""
    d, unit = len(weights), 2.0**-PAPER_BITS
    s = rng.normal(size=d)
    s = np.rint(s / np.linalg.norm(s) / unit)
    gamma = np.rint(rng.gamma(d, beta) / unit)
    offset = rng.random(d) if rounding == "in proportion" else 0.0
    return np.asarray(weights + np.floor(s * gamma * unit + offset) * unit)


def plan_of(mechanism: str, epsilon: float, d: int = D, scheme: str = "clear") -> MinimiserPlan:
    delta = 1e-6 if mechanism == "gaussian" else 0.0
    return planned(N, d, mechanism=mechanism, epsilon=epsilon, delta=delta, fit_intercept=False, scheme=scheme)


def right_guesses(
    plan: MinimiserPlan, attacks: dict[str, Attack], trials: int, scheme: str = "clear"
) -> dict[str, int]:
    """How often each attack names the right candidate, over releases by the mechanism's own code."""
    rng = np.random.default_rng(11)
    mechanism, bits = plan.mechanism, plan.formats.weights
    first, second = candidates(mechanism.dimension, float(mechanism.sensitivity), mechanism.weight_bits, rng)
    format = plan.formats.of(bits)
    half = trials // 2
    releases = [(r, False) for r in published(mechanism, first, format, half, scheme)]
    releases += [(r, True) for r in published(mechanism, second, format, trials - half, scheme)]
    return {name: sum(guess(r, first, second) == truth for r, truth in releases) for name, guess in attacks.items()}


def allowed(plan: MinimiserPlan) -> float:
    epsilon = float(plan.mechanism.epsilon)
    return math.exp(epsilon) / (1 + math.exp(epsilon)) + float(plan.mechanism.total_delta) / 2


def p_of(right: int, trials: int, plan: MinimiserPlan) -> float:
    """How likely so many right guesses are at the rate that epsilon allows."""
    return float(stats.binom.sf(right - 1, trials, allowed(plan)))


# --- the tests -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounding", ["down", "in proportion"])
@pytest.mark.parametrize("epsilon", [1.0, 0.1])
def test_the_papers_noise_with_16_bits_tells_candidates_apart(epsilon: float, rounding: str) -> None:
    rng = np.random.default_rng(12)
    plan = plan_of("knorm", epsilon)
    sensitivity = float(plan.objective.sensitivity)
    guess = lattice_attack(PAPER_BITS)
    right, trials = 0, 24
    for trial in range(trials):
        pair = candidates(D, sensitivity, PAPER_BITS, rng)
        release = paper_release(pair[trial % 2], sensitivity / epsilon, rng, rounding)
        right += guess(release, *pair) == bool(trial % 2)
    assert right >= 23
    if epsilon == 0.1:
        reject({"the lattice attack": p_of(right, trials, plan)})


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("epsilon", [1.0, 0.1])
def test_our_noise_does_not(name: str, epsilon: float) -> None:
    """With the lattice of the paper, of the published grid, of the weights; and the likelihood-ratio test."""
    plan = plan_of(name, epsilon)
    trials = 30
    attacks = {f"the lattice attack with {b} bits": lattice_attack(b) for b in _precisions(plan)}
    attacks["the likelihood-ratio test"] = likelihood_attack(plan)
    accept({attack: p_of(right, trials, plan) for attack, right in right_guesses(plan, attacks, trials).items()})


@pytest.mark.slow
def test_our_noise_does_not_with_rep3() -> None:
    plan = plan_of("knorm", 0.1, scheme="rep3")
    attacks = {f"the lattice attack with {b} bits": lattice_attack(b) for b in _precisions(plan)}
    accept({attack: p_of(right, 24, plan) for attack, right in right_guesses(plan, attacks, 24, "rep3").items()})


def _precisions(plan: MinimiserPlan) -> set[int]:
    return {PAPER_BITS, plan.mechanism.grid_bits, plan.mechanism.weight_bits}


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_likelihood_ratio_test_has_power_and_respects_epsilon(name: str) -> None:
    """In one dimension at epsilon = 5 it is right far more often than not: the bound is no empty one."""
    trials = 4_000
    plan = plan_of(name, 5.0, d=1)
    right = right_guesses(plan, {"test": likelihood_attack(plan)}, trials)["test"]
    assert right > 0.6 * trials
    accept({"the likelihood-ratio test": p_of(right, trials, plan)})
    plan = plan_of(name, 0.1, d=1)
    right = right_guesses(plan, {"test": likelihood_attack(plan)}, trials)["test"]
    accept({"the likelihood-ratio test": p_of(right, trials, plan)})
