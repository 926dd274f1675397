from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from cofit import Z64, Z128, Party, SecretBits, run_local
from cofit.arithmetic import PowerOfTwoRing
from cofit.errors import RangeError
from cofit.sampling import discrete_gaussian as module
from cofit.sampling.discrete_gaussian import discrete_gaussian, plan, thresholds, tv_distance
from unit.sampling.draws import SCHEMES, all_words, cost, known_bits, opened, refusal
from unit.sampling.laws import GUARD, Law, distance, gaussian, of_sum, of_thresholds

SMALL = [Fraction(1, 10), Fraction(2, 5), Fraction(1), Fraction(7, 3), Fraction(10), Fraction(32)]
LARGE = [Fraction(33), Fraction(45), Fraction(100), Fraction(1000), Fraction(12345, 7), 1 << 20, 1 << 30, 1 << 40]


def on_scale(law: Law, bits: int) -> list[int]:
    """P(x) 2^bits for x from -reach to reach."""
    reach = max(law)
    return [round(law[x] * (1 << bits)) for x in range(-reach, reach + 1)]


@pytest.mark.parametrize("sigma", SMALL, ids=str)
@pytest.mark.parametrize("precision", [16, 64, 128])
def test_the_exact_law_of_a_table_is_within_the_stated_distance(sigma: Fraction, precision: int) -> None:
    law = of_thresholds(thresholds(sigma**2, precision), precision)
    assert distance(law, gaussian(sigma**2, max(law))) <= tv_distance(sigma, precision=precision)


@pytest.mark.parametrize("sigma", [Fraction(33), Fraction(50), Fraction(101, 2)], ids=str)
def test_the_exact_law_of_a_convolution_is_within_the_stated_distance(sigma: Fraction) -> None:
    first, second = plan(sigma**2, 64)
    law = of_sum(of_thresholds(first.thresholds, 64), of_thresholds(second.thresholds, 64), second.multiplier)
    assert distance(law, gaussian(sigma**2, max(law))) <= tv_distance(sigma) < Fraction(1, 1 << 55)


def convolution_distance(first: Fraction, second: Fraction, factor: int) -> mpmath.mpf:
    """The distance of A + factor B, both ideal, from the ideal with the sum's variance; rounded to 2^-200 a value."""
    bits = 200
    a, b = (on_scale(gaussian(v, math.ceil(15 * float(v) ** 0.5)), bits) for v in (first, second))
    reach = len(a) // 2 + factor * (len(b) // 2)
    total = np.zeros(2 * reach + 1, dtype=object)
    for place, weight in enumerate(b):
        total[place * factor : place * factor + len(a)] += np.array(a, dtype=object) * weight
    wanted = gaussian(first + factor**2 * second, reach)
    differences = sum(abs(Fraction(int(p), 1 << (2 * bits)) - wanted[x - reach]) for x, p in enumerate(total))
    return mpmath.mpf(differences.numerator) / differences.denominator / 2


@pytest.mark.parametrize(("sigma", "precision"), [(11, 64), (33, 64), (64, 64), (80, 64), (80, 128)])
def test_ideal_parts_convolve_to_the_ideal_within_the_proven_distance(sigma: int, precision: int) -> None:
    tables = plan(Fraction(sigma**2), precision)
    rest = tables[-1].variance
    assert len(tables) > 1
    for table, after in reversed(list(pairwise(tables))):
        step = after.multiplier // table.multiplier
        assert convolution_distance(table.variance, rest, step) <= mpmath.ldexp(1, -(precision + 16))
        rest = table.variance + step**2 * rest
    assert rest == sigma**2


def test_a_step_that_is_too_large_breaks_the_bound() -> None:
    sigma2 = Fraction(80**2)
    factor = 24
    own = module.LARGEST_TABLE_VARIANCE
    assert convolution_distance(own, (sigma2 - own) / factor**2, factor) > mpmath.ldexp(1, -60)


@pytest.mark.parametrize("sigma", [*SMALL, *LARGE], ids=str)
@pytest.mark.parametrize("precision", [16, 64, 256])
def test_variances_add_up_exactly_and_every_step_meets_the_condition(sigma: Fraction, precision: int) -> None:
    tables = plan(Fraction(sigma) ** 2, precision)
    assert sum(t.variance * t.multiplier**2 for t in tables) == Fraction(sigma) ** 2
    assert all(0 < t.variance <= 110 for t in tables)
    rest = tables[-1].variance
    for table, after in reversed(list(pairwise(tables))):
        step = after.multiplier // table.multiplier
        assert after.multiplier == step * table.multiplier
        whole = table.variance + step**2 * rest
        with mpmath.workprec(GUARD):
            tau2 = table.variance * rest / whole
            exponent = 2 * mpmath.pi**2 * tau2.numerator / tau2.denominator
            e = 2 * mpmath.fsum(mpmath.exp(-exponent * k * k) for k in (1, 2, 3))
            assert e / (1 - e) < mpmath.ldexp(1, -(precision + 16))
        rest = whole


def test_the_constant_of_the_condition_is_an_upper_bound() -> None:
    exact = mpmath.log(2) / (2 * mpmath.pi**2)
    assert (
        exact < mpmath.mpf(module._LN2_BY_2PI2_ABOVE.numerator) / module._LN2_BY_2PI2_ABOVE.denominator < exact * 1.001
    )


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("sign", [0, 1])
def test_every_word_gives_the_number_of_thresholds_above_it(
    scheme: str, sign: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    precision = 8

    def words(self: Party, shape: tuple[int, ...], width: int = 1) -> SecretBits:
        assert shape == (256,)
        return all_words(self, 8) if width == 8 else known_bits(self, np.full((width, 256), sign, np.uint8))

    monkeypatch.setattr(Party, "random_secret_bits", words)
    values = opened(lambda party: discrete_gaussian(party, (256,), 5, precision=precision), scheme)
    above = np.array([sum(u < t for t in thresholds(Fraction(25), precision)) for u in range(256)])
    assert (values == (-above if sign else above)).all()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("sigma", "ring"), [(Fraction(1, 3), Z64), (Fraction(9), Z128), (1 << 30, Z64), (1 << 40, Z64)]
)
def test_draws_are_integers_in_range(scheme: str, sigma: Fraction, ring: PowerOfTwoRing) -> None:
    reach = sum(t.multiplier * len(t.thresholds) for t in plan(Fraction(sigma) ** 2, 64))

    def program(party: Party) -> tuple[int, int, bool]:
        draw = discrete_gaussian(party, (2, 40), sigma, ring)
        values = party.open(draw, reason="test")
        assert values.shape == (2, 40)
        return draw.integer_limit, draw.format.fraction_bits, bool((np.abs(values) <= reach).all())

    assert set(run_local(program, scheme=scheme).results.values()) == {(reach, 0, True)}


def test_the_stated_distance_at_the_size_of_a_model() -> None:
    assert tv_distance(1 << 20, 1874) == 1874 * tv_distance(1 << 20) < Fraction(1, 1 << 42)
    assert tv_distance(1 << 30, precision=128) < Fraction(1, 1 << 116)


def test_parameters_are_checked() -> None:
    must_be = "The 'sigma' parameter of discrete_gaussian must be a positive Fraction or integer."
    for sigma in (0, -2, 1.5, None):
        assert must_be in str(refusal(lambda party, s=sigma: discrete_gaussian(party, (3,), s)))  # type: ignore[misc]
    assert "at most 2^40" in str(refusal(lambda party: discrete_gaussian(party, (3,), (1 << 40) + 1)))
    assert "The 'shape' parameter" in str(refusal(lambda party: discrete_gaussian(party, (0,), 1)))
    assert "The 'precision' parameter" in str(refusal(lambda party: discrete_gaussian(party, (1,), 1, precision=0)))
    with pytest.raises(ValueError, match="The 'count' parameter of tv_distance"):
        tv_distance(1, 0)


def test_what_does_not_fit_the_ring_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_SIGMA", 1 << 60)
    error = refusal(lambda party: discrete_gaussian(party, (1,), 1 << 59))
    assert isinstance(error, RangeError)
    assert "must be small enough for Z_2^64" in str(error)


def test_cost_with_rep3() -> None:
    tables = plan(Fraction(1 << 40), 64)
    rounds, sent = cost(lambda party: discrete_gaussian(party, (64,), 1 << 20))
    elements = 3 * 64 * sum(t.digits + 1 for t in tables)
    assert rounds == 8
    assert max(len(t.thresholds) for t in tables) <= 97
    assert sent - 8 * elements <= 3 * 8 * sum(768 + 29 * len(t.thresholds) for t in tables)
    assert sent <= 64 * 9300, "a fifth less than with tables of sigma = 32"
