from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from cofit import Z128, Party, run_local
from cofit.errors import InvalidInputError, RangeError
from cofit.sampling import geometric as module
from cofit.sampling import sums
from cofit.sampling.geometric import (
    digit_count,
    digit_places,
    digit_probabilities,
    geometric,
    table_count,
    tv_distance,
)
from cofit.sampling.tables import table_cost
from unit.sampling.draws import SCHEMES, cost, opened, refusal
from unit.sampling.laws import GUARD, distance, of_sum
from unit.sampling.laws import geometric as ideal_geometric
from unit.sampling.test_first_one import ands
from unit.sampling.test_sums import addition_ands, product_ands

SCALES = [Fraction(1, 1000), Fraction(1, 7), Fraction(1), Fraction(5, 2), Fraction(22)]


@pytest.mark.parametrize("t", SCALES, ids=str)
@pytest.mark.parametrize("precision", [1, 5, 16, 64, 100, 128])
def test_the_exact_law_is_within_the_stated_distance(t: Fraction, precision: int) -> None:
    law = of_sum(module._table_sum(t, precision))
    assert len(law.weights) == 1 << digit_count(t, precision)
    assert distance(law, ideal_geometric(t, len(law.weights))) <= tv_distance(t, precision=precision)
    assert tv_distance(t, 10, precision=precision) == 10 * tv_distance(t, precision=precision)


def test_a_slightly_larger_scale_is_not_within_it() -> None:
    law = of_sum(module._table_sum(Fraction(5, 2) + Fraction(1, 10**18), 64))
    assert distance(law, ideal_geometric(Fraction(5, 2), len(law.weights))) > tv_distance(Fraction(5, 2))


@pytest.mark.parametrize("precision", [1, 64])
def test_tables_take_all_digits_once_and_the_fewest_ands(precision: int) -> None:
    for digits in range(1, 70):
        count = table_count(digits, precision)
        places, widths = digit_places(digits, count)
        taken = [place + j for place, width in zip(places, widths, strict=True) for j in range(width)]
        assert taken == list(range(digits))
        assert min(widths) >= 1 and max(widths) <= 12
        own = count * table_cost(max(*widths, 2), precision)
        fewest, most = -(-digits // 12), digits
        assert own == min(n * table_cost(max(-(-digits // n), 2), precision) for n in range(fewest, most + 1)), digits


@pytest.mark.parametrize("t", [*SCALES, Fraction(1 << 20), Fraction(10**9, 7), Fraction(1 << 60)], ids=str)
def test_the_tail_that_is_cut_off_is_as_small_as_stated_and_the_digits_are_no_more_than_needed(t: Fraction) -> None:
    digits = digit_count(t)
    with mpmath.workprec(GUARD):
        scale = mpmath.mpf(t.numerator) / t.denominator
        assert mpmath.exp(-mpmath.ldexp(1, digits) / scale) <= mpmath.mpf(2) ** -80
        assert digits == 1 or mpmath.exp(-mpmath.ldexp(1, digits - 1) / scale) > mpmath.mpf(2) ** -81


@pytest.mark.parametrize("precision", [16, 64, 200])
def test_probabilities_are_as_accurate_as_the_proof_says(precision: int) -> None:
    t = Fraction(12345, 678)
    with mpmath.workprec(GUARD + 200):
        for j, p in enumerate(digit_probabilities(t, precision)):
            exact = 1 / (1 + mpmath.exp(mpmath.ldexp(1, j) * t.denominator / t.numerator))
            assert abs(mpmath.mpf(p) - exact) < mpmath.ldexp(1, -(precision + 32))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_draws_are_integers_in_range(scheme: str) -> None:
    values = opened(lambda party: geometric(party, (2, 300), Fraction(5, 2)), scheme)
    assert values.shape == (2, 300)
    assert values.min() >= 0
    assert values.max() < 2 ** digit_count(Fraction(5, 2))


def test_scales_beyond_a_word_need_the_larger_ring() -> None:
    error = refusal(lambda party: geometric(party, (3,), 1 << 60))
    assert isinstance(error, RangeError)
    assert "must be small enough for 61 binary digits in Z_2^64 (this one needs 66)" in str(error)
    assert max(opened(lambda party: geometric(party, (50,), 1 << 60, Z128))) > 1 << 60


@pytest.mark.parametrize("t", [0, -1, 0.5, "1", None, True, Fraction(-1, 2)])
def test_scales_are_checked(t: Fraction) -> None:
    error = refusal(lambda party: geometric(party, (3,), t))
    assert isinstance(error, InvalidInputError)
    assert "The 't' parameter of geometric must be a positive Fraction or integer." in str(error)


def test_cost_with_rep3(monkeypatch: pytest.MonkeyPatch) -> None:
    """26 digits at t = 2^20: three tables of 2^9 slots; and the addition of the mask."""
    table = product_ands(9) + 64 + 9 + ands(64, secret=True) + 9
    assert (digit_count(Fraction(1 << 20)), table_count(26, 64), 3 * table) == (26, 3, 666)
    sent = 3 * 8 * (3 * table + 26 + addition_ands(27)) + 2 * 8 * 27 + 4 * 8 * 64
    few = 3 * 8 * 3 * table + 3 * 26 * 64 * 8
    assert cost(lambda party: geometric(party, (64,), 1 << 20)) == (10, few), "every digit by itself"
    monkeypatch.setattr(sums, "_FEW_BITS", 0)
    assert cost(lambda party: geometric(party, (64,), 1 << 20)) == (16, sent)
    assert sent <= 64 * 350


@pytest.mark.parametrize("scheme", SCHEMES)
def test_limits(scheme: str) -> None:
    def program(party: Party) -> int:
        return geometric(party, (3,), Fraction(5, 2)).integer_limit

    assert set(run_local(program, scheme=scheme).results.values()) == {2 ** digit_count(Fraction(5, 2)) - 1}
