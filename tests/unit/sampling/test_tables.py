"""Alias tables: the exact law of every kind of table, by summing over its slots, and its rows of bits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from cofit.sampling import discrete_gaussian as gaussian_module
from cofit.sampling.discrete_gaussian import gaussian_table, plan, reach
from cofit.sampling.geometric import digit_count, digit_places, digit_probabilities, digit_tables
from cofit.sampling.tables import Table, alias_table, halves, products_of_bits, rounded_weights, table_cost
from support.pairwise import pairwise
from unit.sampling.laws import GUARD, Law, distance, gaussian, ideal, of_table

RNG = np.random.default_rng(3)
PRECISIONS = [1, 2, 3, 5, 7, 16, 20, 63, 64, 100, 128]
SIGMAS = [Fraction(1, 10**6), Fraction(1, 10), Fraction(3, 5), Fraction(1), Fraction(7, 3), Fraction(10), Fraction(32)]
SCALES = [
    Fraction(1, 1000),
    Fraction(1, 7),
    Fraction(1),
    Fraction(5, 2),
    Fraction(22),
    Fraction(1000),
    Fraction(1 << 20),
]


def random_weights(precision: int, bits: int, kind: str) -> list[int]:
    """Weights that add up to 2^(precision + bits): spread evenly, or most of it in few."""
    if kind == "one for all":
        return [1 << (precision + bits)] + [0] * ((1 << bits) - 1)
    if kind == "equal":
        return [1 << precision] * (1 << bits)
    shares = [
        int.from_bytes(RNG.bytes(20), "big") >> int(RNG.integers(0, 150 if kind == "uneven" else 3))
        for _ in range(1 << bits)
    ]
    return rounded_weights(shares, precision + bits)


@pytest.mark.parametrize(
    ("precision", "bits", "kind"), pairwise(PRECISIONS, (2, 3, 5, 9), ("even", "uneven", "one for all", "equal"))
)
def test_a_table_has_exactly_the_weights_that_it_was_made_of(precision: int, bits: int, kind: str) -> None:
    weights = random_weights(precision, bits, kind)
    table = alias_table(weights, precision)
    assert of_table(table).weights.tolist() == weights
    assert table.index_bits == bits
    assert all(0 <= own < 1 << precision for own in table.own), "it must have B bits"
    assert all(0 <= alias < 1 << bits for alias in table.alias)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_rounding_moves_at_most_half_a_unit_a_slot(precision: int) -> None:
    for bits in (2, 5, 8):
        shares = [int.from_bytes(RNG.bytes(12), "big") for _ in range(1 << bits)]
        weights, unit = rounded_weights(shares, precision + bits), 1 << (precision + bits)
        assert sum(weights) == unit
        exact = [Fraction(share * unit, sum(shares)) for share in shares]
        moved = [abs(weight - one) for weight, one in zip(weights, exact, strict=True)]
        assert sorted(moved)[-2] <= Fraction(1, 2), "all but the one that takes the rest"
        assert sum(moved) <= 1 << bits
        assert sum(moved) / 2 / unit <= Fraction(1, 2 << precision), "a total variation of 2^-(B+1)"


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
@pytest.mark.parametrize("precision", [16, 64, 128])
def test_a_gaussian_table_is_within_its_rounding_of_the_cut_off_law(sigma: Fraction, precision: int) -> None:
    """2^-(B+1), and a little (2^-30 of it) for weights that were computed with 64 bits more."""
    made = plan(sigma**2, precision)
    (part,) = made.parts
    law = of_table(gaussian_table(part.variance, made.index_bits, precision)).moved(-(1 << (made.index_bits - 1)))
    whole = gaussian(part.variance, part.largest)
    inside = int(whole.weights.sum())
    target = Law(whole.first, np.array([w * (1 << GUARD) // inside for w in whole.weights], dtype=object), GUARD)
    assert distance(law, target) <= Fraction((1 << 30) + 1, 1 << (precision + 31))
    assert all(p == 0 for x, p in zip(law.points, law.weights, strict=True) if abs(x) > part.largest)
    beyond = Fraction((1 << GUARD) - inside, 1 << GUARD)
    assert beyond <= Fraction(1, 4 << precision)
    assert distance(law, whole) <= Fraction(3, 4 << precision) + Fraction(1, 1 << (precision + 30))


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("t", SCALES, ids=str)
@pytest.mark.parametrize("precision", [16, 64, 128])
def test_a_table_of_digits_is_within_its_rounding_of_independent_coins(
    t: Fraction, precision: int, inverted: bool
) -> None:
    tables = digit_tables(t, precision, inverted=inverted)
    probabilities = digit_probabilities(t, precision)
    places, widths = digit_places(len(probabilities), len(tables))
    assert sum(widths) == digit_count(t, precision) and min(widths) >= 1
    assert len({table.index_bits for table in tables}) == 1
    for table, place, width in zip(tables, places, widths, strict=True):
        with mpmath.workprec(GUARD + 40):
            ones = [
                1 / (1 + mpmath.exp(mpmath.ldexp(1, place + j) * t.denominator / t.numerator)) for j in range(width)
            ]

            def probability(v: int, ones: list[mpmath.mpf] = ones) -> mpmath.mpf:
                return mpmath.fprod(p if (v >> j & 1) != inverted else 1 - p for j, p in enumerate(ones))

            target = ideal(probability, mpmath.mpf(1), range(1 << width))
        law = of_table(table)
        assert not any(law.weights[1 << width :]), "digits beyond the highest are never set"
        assert distance(law, target) <= Fraction((1 << 30) + 1, 1 << (precision + 31))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("bits", [2, 3, 4, 7])
def test_the_rows_of_bits_agree_with_the_table_in_every_slot(precision: int, bits: int) -> None:
    """Read as polynomials over GF(2), by hand: the sum of the chosen products of the slot's bits."""
    table = alias_table(random_weights(precision, bits, "uneven"), precision)
    lower, upper = halves(bits)
    assert (lower + upper, table.matrix.shape) == (bits, (precision + bits, 1 << lower))
    for slot in range(1 << bits):
        low, high = slot & ((1 << lower) - 1), slot >> lower
        inside = [p for p in range(1 << lower) if p & low == p]
        values = []
        for row in table.matrix:
            chosen = (int(row[p]) >> q & 1 for p in inside for q in range(1 << upper) if q & high == q)
            values.append(sum(chosen) % 2)
        threshold = int("".join(map(str, values[:precision])), 2)
        moved = sum(bit << j for j, bit in enumerate(values[precision:]))
        assert (threshold, slot ^ moved) == (table.own[slot], table.alias[slot])


def test_the_rows_of_bits_of_the_largest_tables_fit_a_word() -> None:
    assert halves(12) == (6, 6) and halves(9) == (4, 5)
    table = gaussian_table(plan(Fraction(1 << 40), 64).parts[0].variance, 12, 64)
    assert table.matrix.shape == (76, 64)
    assert table.matrix.dtype == np.uint64


def test_the_cost_of_a_table() -> None:
    """Products of the slot's bits, the table's bits, coin and move; the coin's 103 are counted as 106."""
    assert [products_of_bits(n) for n in (1, 2, 3, 6)] == [0, 1, 4, 57]
    assert table_cost(12, 64) == 114 + 64 + 24 + 106
    assert table_cost(9, 64) == 11 + 26 + 64 + 18 + 106


def test_a_table_knows_its_size() -> None:
    assert Table(3, (0,) * 4, (0,) * 4).index_bits == 2
    assert Table(3, (0,) * 4096, (0,) * 4096).index_bits == 12


# --- what the tables of Gaussians rest on -----------------------------------------------------------------


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("precision", [1, 16, 64, 128, 256])
@pytest.mark.parametrize("sigma", [*SIGMAS, Fraction(1, 3), Fraction(100)], ids=str)
def test_the_reach_bounds_the_tail_and_wastes_little(sigma: Fraction, precision: int) -> None:
    variance = sigma**2
    n = reach(variance, precision)
    with mpmath.workprec(GUARD):
        scale = 2 * mpmath.mpf(variance.numerator) / variance.denominator
        end = int(mpmath.sqrt(scale * (precision + 120))) + n + 20
        weights = [mpmath.exp(-mpmath.mpf(x * x) / scale) for x in range(end)]
        total = 2 * mpmath.fsum(weights) - weights[0]
        allowed = mpmath.ldexp(1, -(precision + 2))
        assert 2 * mpmath.fsum(weights[n + 1 :]) / total <= allowed
        fewer = n - max(n // 20, 1)
        assert fewer < 1 or 2 * mpmath.fsum(weights[fewer + 1 :]) / total > allowed / 2, "a twentieth less would do"


@pytest.mark.parametrize(("sigma", "largest"), [(Fraction(1, 10), 3), (Fraction(3), 30), (Fraction(218), 2047)])
@pytest.mark.parametrize("bits", [81, 140])
def test_weights_are_as_accurate_as_stated(sigma: Fraction, largest: int, bits: int) -> None:
    found = gaussian_module._weights(sigma**2, largest, bits)
    assert len(found) == largest + 1
    with mpmath.workprec(GUARD):
        scale = 2 * mpmath.mpf(sigma.numerator) ** 2 / sigma.denominator**2
        exact = [mpmath.ldexp(mpmath.exp(-mpmath.mpf(x * x) / scale), bits) for x in range(largest + 1)]
        off = max(abs(a - b) for a, b in zip(found, exact, strict=True))
    assert off < 4 * largest**2
    assert 4 * 2047**2 < 1 << 24, "so that 64 guard bits leave 40"
