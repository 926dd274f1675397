"""Discrete Laplace draws: every value as often as its probability says, symmetric, no relation between draws."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from cofit import Party, SecretArray
from cofit.sampling import discrete_laplace as module
from cofit.sampling import geometric
from cofit.sampling.discrete_laplace import discrete_laplace
from cofit.sampling.sums import TableSum
from statistical.sampling.broken_bits import share_among_tables, without_digit
from statistical.sampling.checks import (
    AMOUNTS_OF_ALL,
    Values,
    chi_square,
    count_of,
    draws,
    mean_of,
    neighbours,
    unrelated,
)
from support.chance import PValues, accept, reject

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


@pytest.mark.parametrize(("scheme", "count"), AMOUNTS_OF_ALL)
def test_discrete_laplace(scheme: str, count: int) -> None:
    accept(battery(draws(small, scheme, count), SMALL))
    accept(battery(draws(large, scheme, count), LARGE))


def test_runs_are_unrelated() -> None:
    first, second = (draws(large, "rep3", 10_000) for _ in range(2))
    accept({"runs": unrelated(first, second)})


@pytest.mark.parametrize("t", [SMALL, LARGE], ids=str)
def test_a_digit_left_out_is_noticed(t: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    without_digit(monkeypatch, 0)
    reject(battery(draws(lambda party, n: discrete_laplace(party, (n,), t), "clear", 100_000), t))


@pytest.mark.parametrize("places", [(1,), (2,), (4,), (5,), (0, 3)], ids=str)
def test_a_table_left_out_is_noticed(places: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables 0 to 2 are those of G, 3 to 5 those of G'; a table that is left out gives the digits 0.

    The lowest digits of one alone do not matter: those of the other are uniform.
    """
    original = module._table_sum

    def without(t: Fraction, precision: int) -> TableSum:
        law = original(t, precision)
        assert len(law.tables) == 6
        tables = list(law.tables)
        for place in places:
            size, zero = len(tables[place].own), 0 if place < 3 else (1 << law.widths[place]) - 1
            tables[place] = replace(tables[place], own=(0,) * size, alias=(zero,) * size)
        return replace(law, tables=tuple(tables))

    monkeypatch.setattr(module, "_table_sum", without)
    reject(battery(draws(large, "clear", 20_000), LARGE))


def test_both_variables_from_the_same_random_bits_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    share_among_tables(monkeypatch, lambda width: True)
    reject(battery(draws(small, "clear", 20_000), SMALL))


@pytest.mark.parametrize("t", [SMALL, LARGE], ids=str)
def test_a_scale_off_by_a_twentieth_is_noticed(t: Fraction) -> None:
    reject(battery(draws(lambda party, n: discrete_laplace(party, (n,), t * Fraction(21, 20)), "clear", 100_000), t))


def test_one_sided_noise_is_noticed() -> None:
    reject(battery(draws(lambda party, n: geometric.geometric(party, (n,), SMALL), "clear", 20_000), SMALL))


def test_tables_of_one_bit_of_precision_are_noticed() -> None:
    coarse = draws(lambda party, n: discrete_laplace(party, (n,), SMALL, precision=1), "clear", 100_000)
    reject(battery(coarse, SMALL))
