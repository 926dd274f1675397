"""Noise of density exp(-||x||): the norm is Gamma(d), the direction uniform, and both are unrelated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from cofit import Z128, FixedPoint, Party, SecretArray
from cofit.sampling.knorm import knorms
from cofit.sampling.sphere import unit_vectors
from cofit.secret import concatenate
from statistical.sampling.checks import Values, count_of, mean_of, unrelated
from statistical.sampling.checks import draws as draws_of
from support.chance import PValues, accept, reject

FORMAT = FixedPoint(52, Z128)
AMOUNTS = [  # in d = 30: 120,000 coordinates, and more than a million
    pytest.param("clear", 4_000, id="clear"),
    pytest.param("rep3", 700, id="rep3", marks=pytest.mark.slow),
    pytest.param("semi2k", 400, id="semi2k"),
    pytest.param("pair", 400, id="pair", marks=pytest.mark.slow),
    pytest.param("shamir/5", 400, id="shamir-5", marks=pytest.mark.slow),
    pytest.param("clear", 34_000, id="clear-long", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
]
AT_ONCE = 500
Several = Callable[[Party, int, int], SecretArray]


def many(several: Several, d: int, scheme: str, count: int) -> Values:
    """Rows are draws in d dimensions."""

    def draw(party: Party, n: int) -> SecretArray:
        amounts = [min(AT_ONCE, n - start) for start in range(0, n, AT_ONCE)]
        return concatenate([several(party, amount, d).T for amount in amounts], axis=1)

    return draws_of(draw, scheme, count).T


def noise_of(party: Party, count: int, d: int) -> SecretArray:
    return knorms(party, count, d, FORMAT)


def battery(noise: Values) -> PValues:
    _, d = noise.shape
    norms = np.linalg.norm(noise, axis=1)
    half = (d - 1) / 2
    coordinate = noise[:, 0] / norms
    return {
        "norm": float(stats.kstest(norms, "gamma", (d,)).pvalue),
        "mean norm": mean_of(norms, d, d**0.5),
        "coordinate": float(stats.kstest((coordinate + 1) / 2, "beta", (half, half)).pvalue),
        "norm and direction": unrelated(norms, coordinate),
        "norm and size": unrelated(norms, np.abs(coordinate)),
        "signs": count_of(noise[:, -1] < 0, 0.5),
        "runs": unrelated(norms[:-1], norms[1:]),
    }


@pytest.mark.parametrize(("scheme", "count"), AMOUNTS)
@pytest.mark.parametrize("d", [3, 30])
def test_knorm(scheme: str, count: int, d: int) -> None:
    accept(battery(many(noise_of, d, scheme, count if d == 30 else count // 4)))


def test_one_dimension_is_laplace() -> None:
    values = many(noise_of, 1, "clear", 20_000)[:, 0]
    accept({"distribution": stats.kstest(values, "laplace").pvalue, "next": unrelated(values[:-1], values[1:])})
    reject({"distribution": stats.kstest(values * 4, "laplace").pvalue})


def test_the_size_of_a_model() -> None:
    noise = many(noise_of, 1874, "clear", 10)
    norms = np.linalg.norm(noise, axis=1)
    values = (noise / norms[:, None] * 1874**0.5).reshape(-1)
    accept({"norm": mean_of(norms, 1874, 1874**0.5), "neighbours": unrelated(values[:-1], values[1:])})
    accept({"coordinates": float(stats.kstest(values, "norm").pvalue)})
    reject({"one summand in twelve left out": mean_of(norms * 11 / 12, 1874, 1874**0.5)})


def test_wrong_versions_are_noticed() -> None:
    noise = many(noise_of, 30, "clear", 500)
    reject(battery(noise / 2**0.5))
    reject(battery(np.abs(noise)))
    reject(battery(many(lambda party, count, d: unit_vectors(party, count, d, FORMAT), 30, "clear", 100)))
