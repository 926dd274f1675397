"""Gaussian draws: distribution, moments, tails, pairs, and no relation between draws or runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from cofit import Z64, Z128, FixedPoint, Party, SecretArray
from cofit.sampling import exponential as exponential_module
from cofit.sampling import uniform
from cofit.sampling.gaussian import gaussian
from cofit.secret import SecretBits
from statistical.sampling.checks import (
    AMOUNTS_AND_DEALER,
    Values,
    count_of,
    draws,
    mean_of,
    neighbours,
    unrelated,
)
from support.chance import PValues, accept, reject

FORMAT = FixedPoint(52, Z128)


def draw(party: Party, count: int) -> SecretArray:
    """Rows: the first and the second of every pair."""
    return gaussian(party, (2, count // 2), FORMAT)


def battery(pairs: Values) -> PValues:
    values = pairs.reshape(-1)
    first, second = pairs
    powers = {
        f"moment {n}": mean_of(values**n, _moment(n), math.sqrt(_moment(2 * n) - _moment(n) ** 2)) for n in (1, 2, 3, 4)
    }
    tails = {f"beyond {z}": count_of(np.abs(values) > z, float(2 * stats.norm.sf(z))) for z in (2, 4, 5)}
    angle = np.arctan2(second, first) / (2 * np.pi) % 1
    square = first**2 + second**2
    return {
        "distribution": float(stats.kstest(values, "norm").pvalue),
        "first": float(stats.kstest(first, "norm").pvalue),
        "second": float(stats.kstest(second, "norm").pvalue),
        "near zero": count_of(np.abs(values) < 1e-2, float(1 - 2 * stats.norm.sf(1e-2))),
        "signs": count_of(values < 0, 0.5),
        "angle": float(stats.kstest(angle, "uniform").pvalue),
        "square": float(stats.kstest(square / 2, "expon").pvalue),
        "angle and square": unrelated(angle, square),
        "within pairs": unrelated(first, second),
        "sizes within pairs": unrelated(np.abs(first), np.abs(second)),
        "squares within pairs": mean_of((first**2 - 1) * (second**2 - 1), 0, 2),
        **powers,
        **tails,
        **neighbours(first),
    }


def _moment(n: int) -> float:
    return 0.0 if n % 2 else float(math.prod(range(1, n, 2)))


@pytest.mark.parametrize(("scheme", "count"), AMOUNTS_AND_DEALER)
def test_gaussian(scheme: str, count: int) -> None:
    accept(battery(draws(draw, scheme, count)))


def test_gaussian_in_the_small_ring() -> None:
    accept(battery(draws(lambda party, n: gaussian(party, (2, n // 2), FixedPoint(24, Z64)), "clear", 100_000)))


def test_odd_sizes() -> None:
    values = draws(lambda party, n: gaussian(party, (n - 1,), FORMAT), "clear", 100_000)
    accept({"distribution": stats.kstest(values, "norm").pvalue, **neighbours(values)})


def test_runs_are_unrelated() -> None:
    first, second = (draws(draw, "rep3", 10_000).reshape(-1) for _ in range(2))
    accept({"runs": unrelated(first, second), "sizes": unrelated(np.abs(first), np.abs(second))})


def test_a_missing_factor_2_is_noticed() -> None:
    reject(battery(draws(draw, "clear", 20_000) / math.sqrt(2)))


def test_radii_of_sixteen_bits_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """E with 16 fractional bits is 0 once in 2^16, and too coarse near 0."""

    def coarse(party: Party, shape: tuple[int, ...], format: FixedPoint, *, precision: int) -> SecretArray:
        few = draw_exponential(party, shape, FixedPoint(16, format.ring), precision=precision)
        return few.widen(format.fraction_bits)

    draw_exponential = exponential_module.exponential
    monkeypatch.setattr(exponential_module, "exponential", coarse)
    values = draws(draw, "clear", 1_000_000 // 5)
    exact = draws_of_distinct_squares(values)
    assert exact < 100_000
    reject({"squares on a grid": count_of(_on_grid(values, 15), 2.0**-11)})


def test_right_radii_are_on_no_grid() -> None:
    values = draws(draw, "clear", 100_000)
    assert draws_of_distinct_squares(values) >= 49_990  # of 50,000, two agree in 10 decimals once in 30 runs
    accept({"squares on a grid": count_of(_on_grid(values, 15), 2.0**-11)})


def draws_of_distinct_squares(pairs: Values) -> int:
    return len(np.unique(np.round((pairs**2).sum(axis=0), 10)))


def _on_grid(pairs: Values, bits: int) -> Values:
    """Whether the squared length is within 2^-12 steps of a multiple of 2^-bits: of probability 2^-11."""
    steps = (pairs**2).sum(axis=0) * 2.0**bits
    return np.asarray(np.abs(steps - np.round(steps)) < 2.0**-12)


def test_angles_of_sixteen_bits_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def coarse(party: Party, shape: tuple[int, ...], width: int) -> SecretBits:
        words = draw_words(party, shape, width)
        zero = words[: width - 16] ^ words[: width - 16]
        return zero.join(words[width - 16 :])

    draw_words = uniform.uniform_words
    right = draws(draw, "clear", 20_000)
    monkeypatch.setattr(uniform, "uniform_words", coarse)
    wrong = draws(draw, "clear", 20_000)
    accept({"angles on a grid": count_of(_angle_on_grid(right), 2.0**-11)})
    reject({"angles on a grid": count_of(_angle_on_grid(wrong), 2.0**-11)})


def _angle_on_grid(pairs: Values) -> Values:
    steps = np.arctan2(pairs[1], pairs[0]) / (2 * np.pi) * 2.0**16
    return np.asarray(np.abs(steps - np.round(steps)) < 2.0**-12)


@pytest.mark.parametrize("row", [-1, -2])
def test_a_missing_quadrant_bit_is_noticed(row: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(party: Party, shape: tuple[int, ...], width: int) -> SecretBits:
        words = draw_words(party, shape, width)
        rows = [words[j] for j in range(width)]
        rows[row] = rows[row] ^ rows[row]
        return rows[0].join(*rows[1:])

    draw_words = uniform.uniform_words
    monkeypatch.setattr(uniform, "uniform_words", without)
    reject(battery(draws(draw, "clear", 20_000)))


def test_a_pair_of_one_angle_function_is_noticed() -> None:
    values = draws(draw, "clear", 20_000)
    reject(battery(np.stack([values[0], -values[0]])))
    reject(battery(np.stack([values[0], np.abs(values[0]) * np.sign(values[1])])))
