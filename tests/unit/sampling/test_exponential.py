from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from cofit import Z64, Z128, FixedPoint, Party, run_local
from cofit.errors import RangeError
from cofit.sampling import exponential as module
from cofit.sampling import gamma as gamma_module
from cofit.sampling import geometric, sums
from cofit.sampling.exponential import exponential
from cofit.sampling.gamma import gamma
from cofit.sampling.geometric import digit_probabilities
from unit.sampling.draws import SCHEMES, cost, opened, refusal
from unit.sampling.laws import GUARD, distance, ideal, of_sum
from unit.sampling.test_first_one import ands
from unit.sampling.test_sums import addition_ands, product_ands

FORMATS = [FixedPoint(0), FixedPoint(24), FixedPoint(55, Z64), FixedPoint(60, Z128), FixedPoint(119, Z128)]


@pytest.mark.parametrize("f", [0, 1, 4])
def test_the_exact_law_is_that_of_the_floor_to_the_grid(f: int) -> None:
    law = of_sum(geometric._table_sum(Fraction(1 << f), 64))
    with mpmath.workprec(GUARD + 40):

        def between(g: int) -> mpmath.mpf:
            return mpmath.exp(-mpmath.ldexp(g, -f)) - mpmath.exp(-mpmath.ldexp(g + 1, -f))

        wanted = ideal(between, mpmath.mpf(1), law.points)
        assert distance(law, wanted) <= module.tv_distance(FixedPoint(f)) < Fraction(1, 1 << 62)


def test_digit_probabilities_are_those_of_the_binary_digits_of_exp_1() -> None:
    probabilities = digit_probabilities(Fraction(1 << 60))
    assert len(probabilities) == 66
    with mpmath.workprec(GUARD):
        for j, p in enumerate(probabilities):
            assert abs(mpmath.mpf(p) - 1 / (1 + mpmath.exp(mpmath.ldexp(1, j - 60)))) < mpmath.ldexp(1, -96)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_draws_have_the_format_and_range(scheme: str, format: FixedPoint) -> None:
    def program(party: Party) -> tuple[FixedPoint, int, float, float]:
        draw = exponential(party, (4, 25), format)
        values = np.asarray(party.open(draw, reason="test"), dtype=np.float64)
        assert values.shape == (4, 25)
        return draw.format, draw.integer_limit, float(values.min()), float(values.max())

    for kept, limit, smallest, largest in run_local(program, scheme=scheme).results.values():
        assert kept == format
        assert limit == (1 << (format.fraction_bits + 6)) - 1
        assert 0 <= smallest <= largest < 64


def test_formats_without_room_are_refused() -> None:
    error = refusal(lambda party: exponential(party, (3,), FixedPoint(56)))
    assert isinstance(error, RangeError)
    assert "The 'format' parameter of exponential must be a format with 0 to 55 fractional bits." in str(error)


@pytest.mark.parametrize(("precision", "digits"), [(16, 5), (64, 6), (76, 6), (77, 7), (256, 8)])
def test_integer_digits_grow_with_the_precision(precision: int, digits: int) -> None:
    assert module.integer_digits(precision) == digits


def test_cost_with_rep3(monkeypatch: pytest.MonkeyPatch) -> None:
    """66 digits: six tables of 2^11 slots."""
    table = product_ands(11) + 64 + 11 + ands(64, secret=True) + 11
    assert geometric.table_count(66, 64) == 6
    few = 3 * 8 * 6 * table + 3 * 66 * 64 * 16
    sent = 3 * 8 * (6 * table + 66 + addition_ands(67)) + 2 * 8 * 67 + 4 * 16 * 64
    format = FixedPoint(60, Z128)
    assert cost(lambda party: exponential(party, (64,), format)) == (10, few), "every digit by itself"
    assert cost(lambda party: gamma(party, (2,), 32, format)) == (10, few)
    monkeypatch.setattr(sums, "_FEW_BITS", 0)
    assert cost(lambda party: exponential(party, (64,), format)) == (18, sent)
    assert cost(lambda party: gamma(party, (2,), 32, format)) == (18, sent)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_gamma_is_the_sum_of_its_exponentials(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    format = FixedPoint(20, Z128)
    summands = np.arange(1, 25).reshape(4, 2, 3) / 8

    def known(party: Party, shape: tuple[int, ...], given: FixedPoint, *, precision: int) -> object:
        assert (shape, given, precision) == (summands.shape, format, 64)
        return party.constant(summands, given)

    monkeypatch.setattr(module, "exponential", known)
    assert (opened(lambda party: gamma(party, (2, 3), 4, format), scheme) == summands.sum(axis=0)).all()


def test_gamma_of_the_size_of_a_model() -> None:
    value = opened(lambda party: gamma(party, (1,), 1874, FixedPoint(60, Z128)), "rep3")
    assert value.shape == (1,)
    assert 1874 - 8 * 1874**0.5 < value[0] < 1874 + 8 * 1874**0.5


def test_gamma_refuses_what_it_cannot_draw() -> None:
    format = FixedPoint(40)
    for k in (0, -1, 2.0, None):
        assert "The 'k' parameter of gamma must be a positive integer." in str(
            refusal(lambda party, k=k: gamma(party, (1,), k, format))  # type: ignore[misc]
        )
    error = refusal(lambda party: gamma(party, (1,), 1 << 17, format))
    assert isinstance(error, RangeError)
    assert "does not fit" in str(error)


def test_stated_errors_of_gamma() -> None:
    format = FixedPoint(60, Z128)
    assert gamma_module.coupling_error(1874, format) == Fraction(1874, 1 << 60)
    assert gamma_module.tv_distance(1874, format, 3) == 3 * 1874 * module.tv_distance(format)
    assert gamma_module.tv_distance(1874, format) < Fraction(1, 1 << 47)
