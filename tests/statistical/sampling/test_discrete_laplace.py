"""Discrete Laplace draws: every value as often as its probability says, symmetric, no relation between draws."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from cofit import Party, SecretArray, SecretBits
from cofit.sampling import geometric
from cofit.sampling.coin import coins
from cofit.sampling.discrete_laplace import discrete_laplace
from statistical.sampling.checks import (
    AMOUNTS_AND_DEALER,
    PValues,
    Values,
    accept,
    chi_square,
    count_of,
    draws,
    mean_of,
    neighbours,
    reject,
    unrelated,
)

SMALL, LARGE = Fraction(5, 2), Fraction(1 << 20)


def small(party: Party, count: int) -> SecretArray:
    return discrete_laplace(party, (count,), SMALL)


def large(party: Party, count: int) -> SecretArray:
    return discrete_laplace(party, (count,), LARGE)


def battery(values: Values, t: Fraction) -> PValues:
    q = np.exp(-1 / float(t))
    variance = 2 * q / (1 - q) ** 2
    away = int(6 * t)
    common = {
        "mean": mean_of(values, 0, variance**0.5),
        "absolute mean": mean_of(np.abs(values), 2 * q / (1 - q * q), (variance - (2 * q / (1 - q * q)) ** 2) ** 0.5),
        "signs": count_of(values[values != 0] > 0, 0.5),
        "tail": count_of(np.abs(values) >= away, 2 * q**away / (1 + q)),
        **neighbours(values),
        **neighbours(np.abs(values)),
    }
    if t < 100:
        reach = int(20 * t)
        return common | {
            "values": chi_square(values, {x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-reach, reach)})
        }
    odd = (1 - q) / (1 + q) * 2 * q / (1 - q * q)
    return common | {
        "distribution": float(stats.kstest(values / float(t), "laplace").pvalue),
        "odd": count_of(values % 2 == 1, odd),
        "last digits": chi_square(values % 16, dict.fromkeys(range(16), 1 / 16)),
    }


@pytest.mark.parametrize(("scheme", "count"), AMOUNTS_AND_DEALER)
def test_discrete_laplace(scheme: str, count: int) -> None:
    accept(battery(draws(small, scheme, count), SMALL))
    accept(battery(draws(large, scheme, count), LARGE))


def test_runs_are_unrelated() -> None:
    first, second = (draws(large, "rep3", 10_000) for _ in range(2))
    accept({"runs": unrelated(first, second)})


@pytest.mark.parametrize("t", [SMALL, LARGE], ids=str)
def test_a_digit_left_out_is_noticed(t: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_the_lowest(party: Party, p: Any, shape: tuple[int, ...], *, precision: int) -> SecretBits:
        return coins(party, [Fraction(0), *p[1:]], shape, precision=precision)

    monkeypatch.setattr(geometric, "coins", without_the_lowest)
    reject(battery(draws(lambda party, n: discrete_laplace(party, (n,), t), "clear", 100_000), t))


@pytest.mark.parametrize("t", [SMALL, LARGE], ids=str)
def test_a_scale_off_by_a_twentieth_is_noticed(t: Fraction) -> None:
    reject(battery(draws(lambda party, n: discrete_laplace(party, (n,), t * Fraction(21, 20)), "clear", 100_000), t))


def test_one_sided_noise_is_noticed() -> None:
    reject(battery(draws(lambda party, n: geometric.geometric(party, (n,), SMALL), "clear", 20_000), SMALL))


def test_coins_of_five_bits_are_noticed() -> None:
    coarse = draws(lambda party, n: discrete_laplace(party, (n,), SMALL, precision=5), "clear", 100_000)
    reject(battery(coarse, SMALL))
