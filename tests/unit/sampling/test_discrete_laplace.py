from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from cofit import Z64, Z128, Party, run_local
from cofit.arithmetic import PowerOfTwoRing
from cofit.sampling.coin import threshold
from cofit.sampling.discrete_laplace import discrete_laplace, tv_distance
from cofit.sampling.geometric import digit_count, digit_probabilities
from unit.sampling.draws import SCHEMES, cost, opened, refusal
from unit.sampling.laws import GUARD, distance, ideal, of_digits, of_sum


@pytest.mark.parametrize("t", [Fraction(1, 20), Fraction(1, 2), Fraction(1), Fraction(9, 4)], ids=str)
def test_the_exact_law_is_within_the_stated_distance(t: Fraction) -> None:
    one = of_digits([threshold(p, 64) for p in digit_probabilities(t)], 64)
    law = of_sum(one, one, -1)
    with mpmath.workprec(GUARD):
        q = mpmath.exp(-mpmath.mpf(t.denominator) / t.numerator)
        reach = max(law)
        wanted = ideal(lambda x: q ** abs(x), (1 + q) / (1 - q), range(-reach, reach + 1))
        assert distance(law, wanted) <= tv_distance(t) < Fraction(1, 1 << 59)


def test_the_stated_distance_at_the_size_of_a_model() -> None:
    assert tv_distance(1 << 20, 1874) == 1874 * 2 * (Fraction(26, 1 << 64) + Fraction(1, 1 << 80))
    assert tv_distance(1 << 20, 1874) < Fraction(1, 1 << 47)
    assert tv_distance(1 << 20, 1874, precision=128) < Fraction(1, 1 << 110)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("t", "ring"), [(Fraction(1, 3), Z64), (Fraction(1 << 20), Z64), (Fraction(1 << 70), Z128)])
def test_draws_are_integers_in_range(scheme: str, t: Fraction, ring: PowerOfTwoRing) -> None:
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


def test_cost_with_rep3() -> None:
    bits, elements = 3 * 125 * 52 * 64, 3 * 52 * 64
    assert cost(lambda party: discrete_laplace(party, (64,), 1 << 20)) == (8, bits // 8 + 8 * elements)
