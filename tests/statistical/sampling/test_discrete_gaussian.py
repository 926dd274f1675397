"""Discrete Gaussian draws: every value as often as its probability says, from one table and from several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from cofit import Party, SecretArray, SecretBits
from cofit.arithmetic import IntegerRing
from cofit.sampling import discrete_gaussian as module
from cofit.sampling import sums
from cofit.sampling.discrete_gaussian import discrete_gaussian, discrete_gaussians
from cofit.sampling.first_one import FirstOnes
from cofit.sampling.sums import TableSum
from cofit.sampling.tables import Table
from cofit.secret.circuits import Circuit
from cofit.sharing import Share
from cofit.sharing.pair.party import Pair
from statistical.sampling.broken_bits import share_among_draws, share_among_tables
from statistical.sampling.checks import (
    AMOUNTS,
    Draw,
    Values,
    chi_square,
    count_of,
    draws,
    mean_of,
    neighbours,
    unrelated,
    variance_of,
)
from support.chance import PValues, accept, reject
from support.schemes import also_slow

SIGMAS = [Fraction(3, 5), Fraction(3), Fraction(50), Fraction(1 << 20)]  # tables: 1, 1, 1, 3


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


def correlation_battery(values: Values) -> PValues:
    """The lowest digits come from the finest table, the highest ones from the coarsest."""
    fine, middle, coarse = values % 128, (values >> 7) % 128, values >> 14
    return {
        "fine and middle": unrelated(fine, middle),
        "middle and coarse": unrelated(middle, coarse),
        "fine and coarse": unrelated(fine, coarse),
        "variance": variance_of(values.astype(np.float64), 0, float(1 << 40), 3 * float(1 << 80)),
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


def mixed(party: Party, count: int) -> SecretArray:
    """Draws of sigma = 3 that share a circuit, and its words, with draws of other laws of the same shape."""
    first, wanted, last = discrete_gaussians(party, [(Fraction(29, 10), 33), (3, count), (Fraction(14, 5), 200)])
    assert first.shape == (33,) and last.shape == (200,)
    return wanted


def test_draws_beside_other_laws() -> None:
    accept(battery(draws(mixed, "clear", 100_000), Fraction(3)))


# --- broken versions ---------------------------------------------------------------------------------------------


def broken_tables(monkeypatch: pytest.MonkeyPatch, change: Callable[[tuple[Table, ...]], tuple[Table, ...]]) -> None:
    original = module._table_sum

    def changed(variance: Fraction, precision: int) -> TableSum:
        law = original(variance, precision)
        return replace(law, tables=change(law.tables))

    monkeypatch.setattr(module, "_table_sum", changed)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_convolution_without_one_of_its_tables_is_noticed(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(tables: tuple[Table, ...]) -> tuple[Table, ...]:
        half = len(tables[place].own) // 2
        always_zero = replace(tables[place], own=(0,) * (2 * half), alias=(half,) * (2 * half))
        return (*tables[:place], always_zero, *tables[place + 1 :])

    broken_tables(monkeypatch, without)
    reject(battery(draws(of(SIGMAS[-1]), "clear", 20_000), SIGMAS[-1]))


def test_a_number_that_its_slot_never_gives_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of 64 slots of sigma = 3 gives its alias always: the one that should give itself most often."""

    def without_one(tables: tuple[Table, ...]) -> tuple[Table, ...]:
        (table,) = tables
        slot = max(range(len(table.own)), key=lambda i: table.own[i])
        return (replace(table, own=(*table.own[:slot], 0, *table.own[slot + 1 :])),)

    broken_tables(monkeypatch, without_one)
    reject(battery(draws(of(Fraction(3)), "clear", 100_000), Fraction(3)))


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_a_draw_that_ignores_the_alias_is_noticed(sigma: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slot itself, always."""
    broken_tables(
        monkeypatch, lambda tables: tuple(replace(table, alias=tuple(range(len(table.own)))) for table in tables)
    )
    reject(battery(draws(of(sigma), "clear", 20_000), sigma))


@pytest.mark.parametrize("outcome", ["own", "alias"])
@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_a_coin_that_always_falls_the_same_way_is_noticed(
    sigma: Fraction, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = FirstOnes.secret

    def stuck(self: FirstOnes, biases: SecretBits) -> Circuit[SecretBits]:
        coin = yield from original(self, biases)
        return coin ^ coin if outcome == "alias" else ~(coin ^ coin)

    monkeypatch.setattr(FirstOnes, "secret", stuck)
    reject(battery(draws(of(sigma), "clear", 20_000), sigma))


@pytest.mark.parametrize("row", [0, 5])
def test_a_bit_of_the_slot_that_is_stuck_is_noticed(row: int, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Party.random_secret_bits

    def stuck(self: Party, shape: tuple[int, ...], width: int = 1) -> SecretBits:
        bits = original(self, shape, width)
        if width == 64:
            return bits
        rows = [bits[i] for i in range(width)]
        rows[row] = rows[row] ^ rows[row]
        return rows[0].join(*rows[1:])

    monkeypatch.setattr(Party, "random_secret_bits", stuck)
    reject(battery(draws(of(Fraction(3)), "clear", 20_000), Fraction(3)))


def test_tables_of_a_draw_that_share_their_slots_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    share_among_tables(monkeypatch, lambda width: width != 64)
    reject(correlation_battery(draws(of(SIGMAS[-1]), "clear", 100_000)))


def test_the_parts_of_a_draw_are_unrelated() -> None:
    accept(correlation_battery(draws(of(SIGMAS[-1]), "clear", 100_000)))


@pytest.mark.parametrize("lanes", [1, 64])
def test_draws_that_share_their_random_bits_with_others_are_noticed(
    lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    share_among_draws(monkeypatch, lanes)
    reject(battery(draws(of(Fraction(3)), "clear", 20_000), Fraction(3)))


def test_laws_that_take_the_tables_of_others_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every law of a circuit drawn with the tables of the first."""
    original = sums.draw_sums

    def first_for_all(party: Party, laws: Sequence[tuple[TableSum, int]], ring: IntegerRing) -> list[SecretArray]:
        return original(party, [(laws[0][0], count) for _, count in laws], ring)

    monkeypatch.setattr(module, "draw_sums", first_for_all)
    reject(battery(draws(mixed, "clear", 100_000), Fraction(3)))


@pytest.mark.parametrize("sigma", SIGMAS[:2], ids=str)
def test_words_of_few_bits_are_noticed(sigma: Fraction) -> None:
    coarse = draws(lambda party, n: discrete_gaussian(party, (n,), sigma, precision=1), "clear", 100_000)
    reject(battery(coarse, sigma))


@pytest.mark.parametrize("scheme", ["rep3", "semi2k", "shamir/5", "pair"])
def test_a_mask_of_numbers_that_wraps_wrongly_is_noticed(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What wrapped is not given back: some draws are off by 2^K."""
    monkeypatch.setattr(sums, "_FEW_BITS", 0)
    for kind in ("rep3", "semi2k"):
        monkeypatch.setattr(
            f"cofit.sharing.{kind}.conversion.without_wrap", lambda ring, top, masked_top, width: ring.zeros(top.shape)
        )
    monkeypatch.setattr(
        Pair, "_number", staticmethod(lambda ring, summand, wrap, width: Share(ring, (ring.add(summand, wrap),)))
    )
    monkeypatch.setattr("cofit.sharing.shamir.wraps._picked", lambda rows, which: np.zeros_like(rows[0]))
    values = draws(of(Fraction(3)), scheme, 2_000)
    assert (np.abs(values) > 32).any()


@pytest.mark.parametrize(
    "scheme",
    also_slow(["rep3", "rep4", "semi2k", "shamir/5", "repn"], "pair", "shamir", "shamir/7", "shamir/5/king", "repn/5"),
)
def test_draws_that_are_added_as_numbers(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "_FEW_BITS", 0)
    accept(battery(draws(of(Fraction(3)), scheme, 5_000), Fraction(3)))
    accept(battery(draws(of(SIGMAS[-1]), scheme, 5_000), SIGMAS[-1]))
