"""Noise of the noisy descent as its program draws it: the stated law for every release; and the whole of it, audited.

Audit: two or three records and one or two columns, thousands of releases from each of two neighbours, and the outcomes
in cells. For every cell S, P(S) <= e^epsilon P'(S) + delta up to sampling error (Clopper-Pearson, alpha = 1e-6 for all
cells together); half the noise violates it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
from scipy import stats

from cofit import Party, SecretArray, run_local
from cofit.arithmetic import FixedPoint, IntegerRing
from cofit.learn.recipes.descent import noisy
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.program import descend
from cofit.sampling import discrete_gaussian, discrete_laplace, rounded_knorm
from statistical.sampling.checks import Values, mean_of, unrelated, variance_of
from statistical.sampling.test_knorm import battery as of_vectors
from support.chance import ALPHA, PValues, accept, believe, reject, shared
from support.descent import Table, contributed, plan_of
from support.releases import certified, drawn, first_steps
from support.training import COIN

DRAWS = 3_000
LONG = [DRAWS, pytest.param(100_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]


# --- the law of every release ----------------------------------------------------------------------------


def of_law(values: Values, kind: str, scale: float) -> dict[str, float]:
    """Scales are hundreds of steps: P(X <= x) is that of the continuous law at x + 1/2, up to 1e-6."""
    laplace = kind == "laplace"
    variance, fourth = (2 * scale**2, 24 * scale**4) if laplace else (scale**2, 3 * scale**4)
    law = stats.laplace(scale=scale) if laplace else stats.norm(scale=scale)
    edges = np.unique(np.rint(law.ppf(np.arange(1, 40) / 40)))
    counts = np.bincount(np.searchsorted(edges, values, side="left"), minlength=len(edges) + 1)
    shares = np.diff(np.concatenate([[0.0], law.cdf(edges + 0.5), [1.0]]))
    low = np.bincount(np.mod(values, 8).astype(np.int64), minlength=8)
    return {
        "mean": mean_of(values, 0.0, variance**0.5),
        "variance": variance_of(values, 0.0, variance, fourth),
        "distribution": float(stats.chisquare(counts, shares * len(values)).pvalue),
        "low bits": float(stats.chisquare(low).pvalue),
        "coordinates": unrelated(values[:-1], values[1:]),
    }


def battery(plan: DescentPlan, noise: dict[str, Values]) -> PValues:
    p_values: dict[str, float] = {}
    for event in plan.events:
        tests = of_law(noise[event.name], event.kind, float(event.scale))
        p_values |= {f"{event.name}: {name}": p for name, p in tests.items()}
    names = [event.name for event in plan.events]
    for first, second in itertools.pairwise(names):
        p_values[f"{first} and {second}"] = unrelated(noise[first], noise[second])
        p_values[f"sizes of {first} and {second}"] = unrelated(np.abs(noise[first]), np.abs(noise[second]))
    p_values["first and last"] = unrelated(noise[names[0]], noise[names[-1]]) if len(names) > 2 else 1.0
    return p_values


@pytest.mark.parametrize("count", LONG)
@pytest.mark.parametrize("kind", ["owners", "parties, level, centred", "calibrated", "pure"])
def test_every_release_has_noise_of_the_stated_law(kind: str, count: int) -> None:
    plan = plan_of(kind)
    assert min(float(event.scale) for event in plan.events) > 300
    accept(battery(plan, drawn(plan, count)))


def test_every_release_has_noise_of_the_stated_law_with_rep3() -> None:
    plan = plan_of("pure", scheme="rep3")
    accept(battery(plan, drawn(plan, DRAWS, "rep3")))


WRONG: dict[str, Callable[[Values], Values]] = {
    "too small": lambda noise: np.rint(noise * 0.75),
    "coarse": lambda noise: np.rint(noise / 8) * 8,
    "of one sign": np.abs,
    "seldom odd": lambda noise: noise - noise % 2 * (np.arange(len(noise)) % 4 == 0),
}
EACH = [("calibrated", name) for name in ("level", "centre", "step 2", "intercept 1", "intercept 3")]


@shared
def right_noise(kind: str) -> dict[str, Values]:
    return dict(drawn(first_steps(plan_of(kind)), DRAWS))


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize(("kind", "name"), [*EACH, ("pure", "step 1")])
def test_wrong_noise_of_any_one_release_is_noticed(kind: str, name: str, wrong: str) -> None:
    """By the tests of this release alone, against the scale that the certificate states."""
    (stated,) = (release for release in certified(plan_of(kind)) if release.name == name)
    noise = right_noise(kind)[name]
    accept(of_law(noise, stated.noise, float(stated.scale)))
    reject(of_law(WRONG[wrong](noise), stated.noise, float(stated.scale)))


@pytest.mark.parametrize("kind", ["calibrated", "pure"])
def test_noise_that_is_used_again_is_noticed(kind: str) -> None:
    plan = first_steps(plan_of(kind))
    noise = right_noise(kind)
    for before, after in itertools.pairwise(plan.events):
        again = np.rint(noise[before.name] * float(after.scale / before.scale))
        reject(battery(plan, noise | {after.name: again}))


# --- K-norm noise: vectors -------------------------------------------------------------------------------


def vectors(plan: DescentPlan, count: int, scheme: str = "clear") -> Values:
    """The noise of so many steps as the program draws it, one in a row, in units of its scale."""
    (event,) = {replace(event, name="step") for event in plan.events}
    many = replace(plan, events=tuple(replace(event, name=f"step {i + 1}") for i in range(count)))

    def draw(party: Party) -> list[Values]:
        noise = noisy.Noise(party, many)
        return [party.open(noise.of_step(i), reason="a test of noise") for i in range(count)]

    results = run_local(draw, scheme=scheme, parties=1 if scheme == "clear" else None, timeout=600).results
    steps = np.asarray(next(iter(results.values())), dtype=np.float64) * 2.0**plan.formats.grid
    assert (steps == np.rint(steps)).all(), "noise is whole steps of the grid"
    return np.asarray(steps / float(event.scale))


@shared
def right_vectors() -> Values:
    return vectors(plan_of("knorm"), 2_000)


@pytest.mark.parametrize(("scheme", "count"), [("clear", 2_000), pytest.param("rep3", 600, marks=pytest.mark.slow)])
def test_steps_have_k_norm_noise_of_the_stated_scale(scheme: str, count: int) -> None:
    accept(
        of_vectors(right_vectors() if scheme == "clear" else vectors(plan_of("knorm", scheme=scheme), count, scheme))
    )


WRONG_VECTORS: dict[str, Callable[[Values], Values]] = {
    "too short": lambda noise: 0.9 * noise,
    "of one sign": np.abs,
    "of independent coordinates": lambda noise: noise[np.argsort(np.random.default_rng(1).random(noise.shape), axis=0),
                                                      np.arange(noise.shape[1])],
    "one length": lambda noise: noise / np.linalg.norm(noise, axis=1, keepdims=True) * noise.shape[1],
    "used twice": lambda noise: np.repeat(noise[::2], 2, axis=0),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG_VECTORS)
def test_wrong_k_norm_noise_is_noticed(wrong: str) -> None:
    reject(of_vectors(WRONG_VECTORS[wrong](right_vectors())))


def test_a_release_uses_its_noise_once() -> None:
    plan = plan_of("parties, level, centred")

    def program(party: Party) -> None:
        noise = noisy.Noise(party, plan)
        assert plan.level is not None
        noise.of(plan.level.name)
        with pytest.raises(KeyError):
            noise.of(plan.level.name)

    run_local(program, scheme="clear", parties=1)


# --- the whole mechanism ---------------------------------------------------------------------------------


@contextmanager
def quick_noise(factor: float) -> Iterator[None]:
    """Noise of the same laws times ``factor``, from NumPy: the law of the real one is tested above."""
    rng = np.random.default_rng(71)

    def draw(party: Party, shape: tuple[int, ...], t: Fraction, ring: IntegerRing, *, precision: int) -> SecretArray:
        values = np.rint(rng.laplace(scale=float(t) * factor, size=shape)).astype(np.int64)
        return party.constant(values, FixedPoint(0, ring)).loosened(
            discrete_laplace.largest_draw(t, precision=precision)
        )

    def draws(
        party: Party, laws: list[tuple[Fraction, int]], ring: IntegerRing, *, precision: int
    ) -> list[SecretArray]:
        drawn = []
        for sigma, size in laws:
            values = np.rint(rng.normal(scale=float(sigma) * factor, size=size)).astype(np.int64)
            largest = discrete_gaussian.largest_draw(sigma, precision=precision)
            drawn.append(party.constant(values, FixedPoint(0, ring)).loosened(largest))
        return drawn

    def vectors(party: Party, count: int, d: int, scale: Fraction, ring: IntegerRing) -> SecretArray:
        drawn = rng.normal(size=(count, d))
        lengths = rng.gamma(d, float(scale) * factor, size=(count, 1))
        values = np.floor(drawn * lengths / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.int64)
        return party.constant(values, FixedPoint(0, ring)).loosened(rounded_knorm.largest_draw(d, scale))

    with (
        mock.patch.object(noisy, "discrete_gaussians", draws),
        mock.patch.object(noisy, "discrete_laplace", draw),
        mock.patch.object(noisy, "rounded_knorms", vectors),
        mock.patch.object(Party, "forget_inputs", lambda self: None),  # so that one run descends many times
    ):
        yield


def releases(plan: DescentPlan, table: Table, count: int) -> Values:
    owners, holders = contributed(plan, table)

    def program(party: Party) -> Values:
        opened = [party.open(descend(party, plan, holders, COIN), reason="a test of the noise") for _ in range(count)]
        return np.asarray(opened).astype(np.float64)

    return next(iter(run_local(program, scheme="clear", parties=1, owners=owners, timeout=600).results.values()))


def largest_excess(plan: DescentPlan, neighbours: tuple[Table, Table], count: int, factor: float) -> float:
    """The largest proven value of P(S) - e^epsilon P'(S) - delta over all cells, both ways round."""
    with quick_noise(factor):
        here, there = (releases(plan, table, count) for table in neighbours)
    both = np.concatenate([here, there])
    line = here.mean(axis=0) - there.mean(axis=0)  # where the neighbours differ most
    events = [both @ line / np.linalg.norm(line), *both.T]
    inside = []
    for values in events:
        for quantile in (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98):
            edge = np.quantile(values, quantile)
            inside += [values > edge, values <= edge]
    counts = np.array([[event[:count].sum(), event[count:].sum()] for event in inside])
    level = ALPHA / (4 * len(counts))
    excess = []
    for p, q in (counts.T, counts.T[::-1]):
        lower = np.where(p > 0, stats.beta.ppf(level, np.maximum(p, 1), count - np.maximum(p, 1) + 1), 0.0)
        most = np.minimum(q, count - 1)
        upper = np.where(q < count, stats.beta.isf(level, most + 1, count - most), 1.0)
        excess.append(lower - math.exp(plan.facts.epsilon) * upper - float(plan.facts.delta))
    return float(np.max(excess))


SEEN = {"one step, pure": (1 / 3, 500), "two steps, pure": (1 / 6, 500), "one step, K-norm": (1 / 8, 500)}
"""What part of the noise is certain to be found too little, and by how many draws; elsewhere a third, by 600."""
AUDITS: dict[str, tuple[dict[str, Any], int]] = {
    "one step, pure": ({"kind": "pure", "rows": 2, "cols": 3, "row_nonzeros": 1, "epsilon": 1.0}, 4_000),
    "two steps, pure": ({"kind": "pure", "rows": 3, "cols": 3, "row_nonzeros": 1, "epsilon": 2.0}, 4_000),
    "one step, K-norm": ({"kind": "knorm", "rows": 2, "cols": 3, "epsilon": 1.0}, 4_000),
    "two steps, K-norm": ({"kind": "knorm", "rows": 30, "cols": 1, "epsilon": 1.9, "fit_intercept": False}, 2_000),
    "twenty steps": ({"kind": "owners", "rows": 2, "cols": 2, "epsilon": 1.0, "delta": 0.02}, 600),
    "twenty steps, parties": (
        {"kind": "parties", "rows": 3, "cols": 1, "epsilon": 1.0, "delta": 0.02, "fit_intercept": False},
        600,
    ),
}


def audited(name: str) -> tuple[DescentPlan, tuple[Table, Table], int]:
    facts, count = AUDITS[name]
    plan = plan_of(**facts)
    x = np.zeros((plan.facts.rows, plan.facts.cols))
    y = np.ones(plan.facts.rows, np.int64)
    x[0, 0] = 1.0
    flipped = y.copy()
    flipped[0] = 0
    return plan, ((x, y), (x, flipped)), count


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", AUDITS)
def test_the_whole_descent_is_as_private_as_stated(name: str) -> None:
    plan, neighbours, count = audited(name)
    believe(largest_excess(plan, neighbours, count, 1.0) <= 0, "less privacy than stated")


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("one step, pure", "one step, K-norm") else pytest.param(name, marks=pytest.mark.slow)
        for name in AUDITS
    ],
)
@pytest.mark.timeout(600)
def test_too_little_noise_violates_it(name: str) -> None:
    plan, neighbours, _ = audited(name)
    factor, count = SEEN.get(name, (1 / 3, 600))
    assert largest_excess(plan, neighbours, count, factor) > 0
