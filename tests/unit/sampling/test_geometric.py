from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from cofit import Z128
from cofit.errors import InvalidInputError, RangeError
from cofit.sampling.coin import threshold
from cofit.sampling.geometric import digit_count, digit_probabilities, geometric, tv_distance
from unit.sampling.draws import SCHEMES, cost, opened, refusal
from unit.sampling.laws import GUARD, distance, ideal, of_digits

SCALES = [Fraction(1, 1000), Fraction(1, 7), Fraction(1), Fraction(5, 2), Fraction(22)]


@pytest.mark.parametrize("t", SCALES, ids=str)
@pytest.mark.parametrize("precision", [16, 64, 100])
def test_the_exact_law_is_within_the_stated_distance(t: Fraction, precision: int) -> None:
    thresholds = [threshold(p, precision) for p in digit_probabilities(t, precision)]
    law = of_digits(thresholds, precision)
    with mpmath.workprec(GUARD):
        q = mpmath.exp(-mpmath.mpf(t.denominator) / t.numerator)
        wanted = ideal(lambda g: (1 - q) * q**g, mpmath.mpf(1), range(len(law)))
        apart = distance(law, wanted)
    assert apart <= tv_distance(t, precision=precision)
    assert tv_distance(t, 10, precision=precision) == 10 * tv_distance(t, precision=precision)


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


def test_cost_with_rep3() -> None:
    digits = digit_count(Fraction(3))
    bits, elements = 3 * 125 * digits * 64, 3 * digits * 64
    assert cost(lambda party: geometric(party, (64,), 3)) == (8, bits // 8 + 8 * elements)
