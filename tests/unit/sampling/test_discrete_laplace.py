from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from cofit import Z64, Z128, Party, run_local
from cofit.arithmetic import IntegerRing
from cofit.sampling import discrete_laplace as module
from cofit.sampling import geometric, sums
from cofit.sampling.discrete_laplace import discrete_laplace, largest_draw, tv_distance
from cofit.sampling.geometric import digit_count
from unit.sampling.draws import SCHEMES, cost, opened, refusal
from unit.sampling.laws import distance, laplace, of_sum
from unit.sampling.test_first_one import ands
from unit.sampling.test_sums import addition_ands, product_ands


@pytest.mark.parametrize("t", [Fraction(1, 20), Fraction(1, 2), Fraction(1), Fraction(9, 4), Fraction(7)], ids=str)
@pytest.mark.parametrize("precision", [1, 16, 64, 128])
def test_the_exact_law_is_within_the_stated_distance(t: Fraction, precision: int) -> None:
    law = of_sum(module._table_sum(t, precision))
    reach = (1 << digit_count(t, precision)) - 1
    assert law.points == range(-reach, reach + 1)
    assert distance(law, laplace(t, reach)) <= tv_distance(t, precision=precision)


def test_the_exact_law_of_one_sided_noise_is_not_within_it() -> None:
    one = of_sum(geometric._table_sum(Fraction(1), 64))
    assert distance(one, laplace(Fraction(1), 64)) > Fraction(1, 4)


def test_the_stated_distance_at_the_size_of_a_model() -> None:
    """Three tables of digits for each of G and G'."""
    assert tv_distance(1 << 20, 1874) == 1874 * 2 * (Fraction(3, 1 << 64) + Fraction(1, 1 << 80))
    assert tv_distance(1 << 20, 1874) < Fraction(1, 1 << 50)
    assert tv_distance(1 << 20, 1874, precision=128) < Fraction(1, 1 << 113)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("t", "ring"), [(Fraction(1, 3), Z64), (Fraction(1 << 20), Z64), (Fraction(1 << 70), Z128)])
def test_draws_are_integers_in_range(scheme: str, t: Fraction, ring: IntegerRing) -> None:
    reach = (1 << digit_count(t)) - 1

    def program(party: Party) -> tuple[int, int, bool]:
        draw = discrete_laplace(party, (2, 100), t, ring)
        values = party.open(draw, reason="test")
        assert values.shape == (2, 100)
        return draw.integer_limit, draw.format.fraction_bits, bool((np.abs(values) <= reach).all())

    assert set(run_local(program, scheme=scheme).results.values()) == {(reach, 0, True)}


def test_noise_of_tiny_scale_is_zero() -> None:
    assert not opened(lambda party: discrete_laplace(party, (100,), Fraction(1, 10**40))).any()


def test_parameters_are_checked() -> None:
    must_be = "The 't' parameter of discrete_laplace must be a positive Fraction or integer."
    for t in (0, -2, 1.5, "a"):
        assert must_be in str(refusal(lambda party, t=t: discrete_laplace(party, (3,), t)))  # type: ignore[misc]
    assert "The 'shape' parameter" in str(refusal(lambda party: discrete_laplace(party, (0,), 1)))
    assert "The 'precision' parameter" in str(refusal(lambda party: discrete_laplace(party, (1,), 1, precision=-1)))
    assert "binary digits in Z_2^64" in str(refusal(lambda party: discrete_laplace(party, (1,), 1 << 57)))
    with pytest.raises(ValueError, match="The 'count' parameter of tv_distance"):
        tv_distance(1, 0)


def test_cost_with_rep3(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tables of 2^9 slots for each of G and G'; G, G' and the mask are added."""
    table = product_ands(9) + 64 + 9 + ands(64, secret=True) + 9
    assert 6 * table == 1332
    carry_save = 26  # places with three digits; above them the mask alone
    added = carry_save + 26 + addition_ands(28)
    sent = 3 * 8 * (6 * table + added) + 2 * 8 * 28 + 4 * 8 * 64
    few = 3 * 8 * 6 * table + 3 * 52 * 64 * 8
    assert cost(lambda party: discrete_laplace(party, (64,), 1 << 20)) == (10, few), "every digit by itself"
    monkeypatch.setattr(sums, "_FEW_BITS", 0)
    assert cost(lambda party: discrete_laplace(party, (64,), 1 << 20)) == (17, sent)
    assert sent <= 64 * 600


def test_the_largest_scale_that_fits_is_drawn() -> None:
    """61 digits in a ring of 64 bits."""
    t = 1 << 55
    assert digit_count(Fraction(t)) == 61
    for scheme in SCHEMES:
        values = opened(lambda party: discrete_laplace(party, (100,), t), scheme)
        assert (values > t // 8).any() and (values < -t // 8).any()
        assert max(abs(int(v)) for v in values) < 64 * t
    assert "binary digits in Z_2^64" in str(refusal(lambda party: discrete_laplace(party, (1,), 2 * t)))
    assert largest_draw(t) == 1 << 61
