"""Exponential and Gamma draws: distribution, moments, tails, digits, and no relation between draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cofit import Z128, FixedPoint, Party, SecretArray
from cofit.sampling.exponential import exponential
from cofit.sampling.gamma import gamma
from statistical.sampling.broken_bits import without_digit
from statistical.sampling.checks import (
    AMOUNTS,
    Values,
    count_of,
    draws,
    mean_of,
    neighbours,
    unrelated,
    variance_of,
)
from support.chance import PValues, accept, reject

FORMAT = FixedPoint(60, Z128)


def draw(party: Party, count: int) -> SecretArray:
    return exponential(party, (count,), FORMAT)


def battery(values: Values) -> PValues:
    low = np.ldexp(values, 20).astype(np.int64)  # digits down to 2^-20
    digits = {f"digit 2^{j - 20}": count_of((low >> j & 1) == 1, 1 / (1 + np.exp(2.0 ** (j - 20)))) for j in range(23)}
    return {
        "distribution": float(stats.kstest(values, "expon").pvalue),
        "mean": mean_of(values, 1, 1),
        "variance": variance_of(values, 1, 1, 9),
        "tail": count_of(values > 6, float(np.exp(-6))),
        "near zero": count_of(values < 1e-3, float(-np.expm1(-1e-3))),
        **digits,
        **neighbours(values),
    }


def gamma_battery(values: Values, k: int) -> PValues:
    return {
        "distribution": float(stats.kstest(values, "gamma", (k,)).pvalue),
        "mean": mean_of(values, k, k**0.5),
        "variance": variance_of(values, k, k, 3 * k * k + 6 * k),
        "tail": count_of(values > stats.gamma.isf(1e-3, k), 1e-3),
        **neighbours(values),
    }


@pytest.mark.parametrize(("scheme", "count"), AMOUNTS)
def test_exponential(scheme: str, count: int) -> None:
    accept(battery(draws(draw, scheme, count)))


def test_runs_are_unrelated() -> None:
    first, second = (draws(draw, "rep3", 10_000) for _ in range(2))
    accept({"runs": unrelated(first, second)})


@pytest.mark.parametrize(("scheme", "count"), AMOUNTS)
def test_gamma(scheme: str, count: int) -> None:
    accept(gamma_battery(draws(lambda party, n: gamma(party, (n,), 3, FixedPoint(24)), scheme, count), 3))


def test_gamma_of_the_size_of_a_model() -> None:
    values = draws(lambda party, n: gamma(party, (n,), 1874, FixedPoint(24)), "clear", 200)
    accept({"mean": mean_of(values, 1874, 1874**0.5), "distribution": stats.kstest(values, "gamma", (1874,)).pvalue})
    reject({"one summand in ten left out": mean_of(0.9 * values, 1874, 1874**0.5)})


@pytest.mark.parametrize("digit", [-10, -6, -20])  # 2^-4, 2^0 and 2^-14
def test_a_digit_left_out_is_noticed(digit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    without_digit(monkeypatch, digit)
    reject(battery(draws(draw, "clear", 100_000)))


def test_a_factor_of_the_scale_left_out_is_noticed() -> None:
    reject(battery(draws(lambda party, n: exponential(party, (n,), FORMAT).ldexp(1), "clear", 20_000)))
    reject(gamma_battery(draws(lambda party, n: gamma(party, (n,), 3, FixedPoint(24)).ldexp(1), "clear", 20_000), 3))


def test_one_summand_too_few_is_noticed() -> None:
    reject(gamma_battery(draws(lambda party, n: gamma(party, (n,), 2, FixedPoint(24)), "clear", 20_000), 3))


def test_sixteen_fractional_bits_are_noticed() -> None:
    coarse = draws(lambda party, n: exponential(party, (n,), FixedPoint(16)), "clear", 100_000)
    reject(battery(coarse))


def test_tables_of_one_bit_of_precision_are_noticed() -> None:
    reject(battery(draws(lambda party, n: exponential(party, (n,), FORMAT, precision=1), "clear", 100_000)))
