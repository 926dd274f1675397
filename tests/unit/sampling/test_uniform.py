from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from cofit import Z64, Z128, FixedPoint, Party, SecretBits, run_local
from cofit.errors import InvalidInputError
from cofit.sampling.uniform import uniform, uniform_words
from unit.sampling.draws import SCHEMES, all_words, cost, opened, refusal


@pytest.mark.parametrize("scheme", SCHEMES)
def test_words_have_the_wanted_shape_and_width(scheme: str) -> None:
    bits = opened(lambda party: uniform_words(party, (3, 50), 7), scheme)
    assert bits.shape == (7, 3, 50)
    assert set(np.unique(bits)) == {0, 1}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_pattern_of_bits_gives_its_own_grid_point_of_the_half_open_interval(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def words(self: Party, shape: tuple[int, ...], width: int = 1) -> SecretBits:
        assert shape == (1 << width,)
        return all_words(self, width)

    monkeypatch.setattr(Party, "random_secret_bits", words)
    values = opened(lambda party: uniform(party, (256,), FixedPoint(8)), scheme)
    assert values.tolist() == [(i + 1) / 256 for i in range(256)]


@pytest.mark.parametrize("format", [FixedPoint(1), FixedPoint(24), FixedPoint(61, Z64), FixedPoint(60, Z128)])
def test_values_lie_in_the_interval_and_the_bound_says_so(format: FixedPoint) -> None:
    def program(party: Party) -> tuple[int, FixedPoint, float, float]:
        u = uniform(party, (2, 100), format)
        values = party.open(u, reason="test")
        assert values.shape == (2, 100)
        return u.integer_limit, u.format, float(values.min()), float(values.max())

    for limit, kept, smallest, largest in run_local(program).results.values():
        assert (limit, kept) == (1 << format.fraction_bits, format)
        assert 0 < smallest <= largest <= 1


def test_cost_with_rep3() -> None:
    assert cost(lambda party: uniform(party, (640,), FixedPoint(30))) == (2, 3 * 30 * 640 * 8)


@pytest.mark.parametrize("shape", [5, (0,), (-1, 2), (2.0,), [3], (True,)])
def test_shapes_are_checked(shape: tuple[int, ...]) -> None:
    error = refusal(lambda party: uniform(party, shape, FixedPoint(8)))
    assert isinstance(error, InvalidInputError)
    assert "The 'shape' parameter of uniform must be a tuple of positive integers." in str(error)


def test_formats_and_widths_are_checked() -> None:
    assert "The 'format' parameter of uniform" in str(refusal(lambda party: uniform(party, (2,), FixedPoint(0))))
    assert "1 to 61 fractional bits" in str(refusal(lambda party: uniform(party, (2,), FixedPoint(62))))
    assert "The 'width' parameter" in str(refusal(lambda party: uniform_words(party, (2,), 0)))


def test_mean_of_the_grid_is_half_a_step_above_one_half() -> None:
    f = 8
    grid = [Fraction(i + 1, 1 << f) for i in range(1 << f)]
    assert sum(grid) / len(grid) == Fraction(1, 2) + Fraction(1, 1 << (f + 1))
