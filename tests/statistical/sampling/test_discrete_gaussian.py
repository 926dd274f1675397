"""Discrete Gaussian draws: every value as often as its probability says, from one table and from several."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from cofit import Party, SecretArray, SecretBits
from cofit.sampling import discrete_gaussian as module
from cofit.sampling.discrete_gaussian import discrete_gaussian, plan
from statistical.sampling.checks import (
    AMOUNTS,
    Draw,
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
    variance_of,
)

SIGMAS = [Fraction(3, 5), Fraction(3), Fraction(50), Fraction(1 << 20)]  # tables: 1, 1, 2, 5


def of(sigma: Fraction) -> Draw:
    def draw(party: Party, count: int) -> SecretArray:
        return discrete_gaussian(party, (count,), sigma)

    return draw


def battery(values: Values, sigma: Fraction) -> PValues:
    s = float(sigma)
    if s < 100:
        points = np.arange(-int(12 * s) - 5, int(12 * s) + 6)
        weights = np.exp(-(points**2) / (2 * s * s))
        probabilities = weights / weights.sum()
        variance, fourth = (float((probabilities * points.astype(float) ** k).sum()) for k in (2, 4))
        shape = {"values": chi_square(values, dict(zip(points.tolist(), probabilities.tolist(), strict=True)))}
        away = int(3 * s) + 1
        tail = float(probabilities[np.abs(points) >= away].sum())
    else:
        variance, fourth, away, tail = s**2, 3 * s**4, int(3 * s), float(2 * stats.norm.sf(3))
        shape = {
            "distribution": float(stats.kstest(values / s, "norm").pvalue),
            "last digits": chi_square(values % 16, dict.fromkeys(range(16), 1 / 16)),
            "middle digits": chi_square((values >> 8) % 16, dict.fromkeys(range(16), 1 / 16)),
        }
    real = values.astype(np.float64)
    return {
        "mean": mean_of(real, 0, variance**0.5),
        "variance": variance_of(real, 0, variance, fourth),
        "signs": count_of(values[values != 0] > 0, 0.5),
        "tail": count_of(np.abs(values) >= away, tail),
        **shape,
        **neighbours(values),
        **neighbours(np.abs(values)),
    }


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
@pytest.mark.parametrize(("scheme", "count"), AMOUNTS)
def test_discrete_gaussian(scheme: str, count: int, sigma: Fraction) -> None:
    accept(battery(draws(of(sigma), scheme, count), sigma))


def test_runs_are_unrelated() -> None:
    first, second = (draws(of(SIGMAS[-1]), "rep3", 10_000) for _ in range(2))
    accept({"runs": unrelated(first, second)})


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_a_deviation_off_by_a_fortieth_is_noticed(sigma: Fraction) -> None:
    reject(battery(draws(of(sigma * Fraction(41, 40)), "clear", 100_000), sigma))


@pytest.mark.parametrize("sigma", SIGMAS[1:], ids=str)
def test_rounded_continuous_noise_of_the_wrong_variance_is_noticed(sigma: Fraction) -> None:
    widened = np.random.default_rng(7).normal(0, 1.02 * float(sigma), 100_000)
    reject(battery(np.rint(widened).astype(np.int64), sigma))


@pytest.mark.parametrize("sigma", SIGMAS[2:], ids=str)
def test_a_convolution_without_its_finest_part_is_noticed(sigma: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_finest(variance: Fraction, precision: int) -> tuple[module.Table, ...]:
        finest, *others = plan(variance, precision)
        return (replace(finest, thresholds=(0,)), *others)

    monkeypatch.setattr(module, "plan", without_finest)
    reject(battery(draws(of(sigma), "clear", 20_000), sigma))


def test_one_threshold_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_one(variance: Fraction, precision: int) -> tuple[module.Table, ...]:
        (table,) = plan(variance, precision)
        return (replace(table, thresholds=(*table.thresholds[:6], *table.thresholds[7:])),)

    monkeypatch.setattr(module, "plan", without_one)
    reject(battery(draws(of(Fraction(3)), "clear", 100_000), Fraction(3)))


def test_one_sign_for_all_draws_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Party.random_secret_bits

    def no_signs(self: Party, shape: tuple[int, ...], width: int = 1) -> SecretBits:
        bits = original(self, shape, width)
        return bits ^ bits if width == 1 else bits

    monkeypatch.setattr(Party, "random_secret_bits", no_signs)
    reject(battery(draws(of(Fraction(3)), "clear", 20_000), Fraction(3)))


def test_words_of_eight_bits_are_noticed() -> None:
    coarse = draws(lambda party, n: discrete_gaussian(party, (n,), 3, precision=8), "clear", 100_000)
    reject(battery(coarse, Fraction(3)))
