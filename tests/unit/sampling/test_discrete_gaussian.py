from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from cofit import Z64, Z128, Party, run_local
from cofit.arithmetic import IntegerRing
from cofit.errors import InvalidInputError, RangeError
from cofit.sampling import discrete_gaussian as module
from cofit.sampling import sums
from cofit.sampling.discrete_gaussian import (
    Part,
    Plan,
    discrete_gaussian,
    discrete_gaussians,
    largest_draw,
    plan,
    tv_distance,
)
from cofit.sampling.tables import table_cost
from unit.sampling.draws import SCHEMES, cost, opened, refusal
from unit.sampling.laws import GUARD, Law, distance, gaussian, of_sum
from unit.sampling.test_first_one import ands
from unit.sampling.test_sums import addition_ands, product_ands

SMALL = [Fraction(1, 10**6), Fraction(1, 10), Fraction(2, 5), Fraction(1), Fraction(7, 3), Fraction(10), Fraction(32)]
LARGE = [Fraction(100), Fraction(300), Fraction(1000), Fraction(12345, 7), 1 << 20, 1 << 30, 1 << 40]


def exact_law(sigma: Fraction, precision: int) -> Law:
    return of_sum(module._table_sum(sigma**2, precision))


@pytest.mark.parametrize("sigma", SMALL, ids=str)
@pytest.mark.parametrize("precision", [1, 3, 7, 16, 64, 128])
def test_the_exact_law_of_a_table_is_within_the_stated_distance(sigma: Fraction, precision: int) -> None:
    assert len(plan(sigma**2, precision).parts) == 1
    assert distance(exact_law(sigma, precision), gaussian(sigma**2, largest_draw(sigma, precision=precision))) <= (
        tv_distance(sigma, precision=precision)
    )
    assert tv_distance(sigma, precision=precision) == Fraction(1, 1 << precision)


@pytest.mark.parametrize(("sigma", "precision"), [(300, 16), (600, 16), (400, 64), (700, 64), (250, 128)])
def test_the_exact_law_of_a_convolution_is_within_the_stated_distance(sigma: int, precision: int) -> None:
    made = plan(Fraction(sigma**2), precision)
    assert len(made.parts) == 2
    law = exact_law(Fraction(sigma), precision)
    stated = tv_distance(sigma, precision=precision)
    assert distance(law, gaussian(Fraction(sigma**2), made.largest)) <= stated
    assert stated == Fraction(2, 1 << precision) + Fraction(1, 1 << (precision + 16))
    assert all(p == 0 for x, p in zip(law.points, law.weights, strict=True) if abs(x) > made.largest)


def test_a_table_of_another_variance_is_not_within_it() -> None:
    wanted = gaussian(Fraction(9), 40)
    assert distance(exact_law(Fraction(3001, 1000), 16), wanted) > tv_distance(3, precision=16)
    wider = Fraction(3) + Fraction(1, 10**18)
    assert distance(exact_law(wider, 64), wanted) > tv_distance(3)


def units(variance: Fraction, bits: int) -> list[int]:
    """P(x) 2^bits of the ideal law, for x within 15 deviations."""
    law = gaussian(variance, math.ceil(15 * float(variance) ** 0.5))
    return [int(w) >> (GUARD - bits) for w in law.weights]


def convolution_distance(first: Fraction, second: Fraction, place: int) -> Fraction:
    """The distance of A + 2^place B, both ideal, from the ideal with the sum's variance; rounded to 2^-200 a value."""
    a, b = (Law(-(len(u) // 2), np.array(u, dtype=object), 200) for u in (units(first, 200), units(second, 200)))
    both = a.plus(b, place)
    wanted = gaussian(first + 4**place * second, -both.first)
    return distance(both, wanted)


@pytest.mark.parametrize(("sigma", "precision"), [(300, 16), (400, 64)])
def test_ideal_parts_convolve_to_the_ideal_within_the_proven_distance(sigma: int, precision: int) -> None:
    first, second = plan(Fraction(sigma**2), precision).parts
    found = convolution_distance(first.variance, second.variance, second.place - first.place)
    assert found <= Fraction(1, 1 << (precision + 16))
    assert found > 0, "with 200 bits a step is seen to be no more than close"


def test_a_step_that_is_too_large_breaks_the_bound() -> None:
    """Twice the multiplier, for the same variance in all."""
    sigma2 = Fraction(300**2)
    first, second = plan(sigma2, 16).parts
    place = second.place - first.place + 1
    assert convolution_distance(first.variance, (sigma2 - first.variance) / 4**place, place) > Fraction(1, 1 << 32)


def wrap_of(first: Fraction, second: Fraction, place: int) -> mpmath.mpf:
    """e / (1 - e) of ``discrete_gaussian_proof.md``, for A + 2^place B."""
    with mpmath.workprec(GUARD):
        tau2 = first * second / (first + 4**place * second)
        exponent = 2 * mpmath.pi**2 * tau2.numerator / tau2.denominator
        e = 2 * mpmath.fsum(mpmath.exp(-exponent * k * k) for k in (1, 2, 3))
        return e / (1 - e)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("sigma", [*SMALL, *LARGE], ids=str)
@pytest.mark.parametrize("precision", [1, 16, 64, 256])
def test_variances_add_up_exactly_and_every_step_meets_the_condition(sigma: Fraction, precision: int) -> None:
    made = plan(Fraction(sigma) ** 2, precision)
    assert sum(part.variance * 4**part.place for part in made.parts) == Fraction(sigma) ** 2
    assert made.parts[0].place == 0
    for part in made.parts:
        assert part.variance > 0
        assert part.largest == module.reach(part.variance, precision) < 1 << (made.index_bits - 1), "the table holds it"
    rest = made.parts[-1].variance
    for part, after in reversed(list(pairwise(made.parts))):
        step = after.place - part.place
        assert step >= 0
        assert wrap_of(part.variance, rest, step) < mpmath.ldexp(1, -(precision + 16))
        rest = part.variance + 4**step * rest


@pytest.mark.parametrize("precision", [1, 64, 256])
def test_a_plan_exists_on_both_sides_of_the_largest_table(precision: int) -> None:
    """The proof rests on V > 11,000 at every precision, V the largest variance of a table of 2^12 slots."""
    most = module._largest_variance(12, precision)
    assert most > 11_000
    assert module.reach(most, precision) <= 2047 < module.reach(most + Fraction(1, 8), precision)
    for variance in (most, most + Fraction(1, 1000), 2 * most, 2 * most + Fraction(1, 1000), 300 * most):
        made = plan(variance, precision)
        assert sum(part.variance * 4**part.place for part in made.parts) == variance
        for part, after in pairwise(made.parts):
            rest = sum(
                later.variance * 4 ** (later.place - after.place) for later in made.parts if later.place >= after.place
            )
            wrapped = wrap_of(part.variance, Fraction(rest), after.place - part.place)
            assert wrapped < mpmath.ldexp(1, -(precision + 16))


@pytest.mark.parametrize("sigma", [*SMALL, *LARGE], ids=str)
def test_no_other_size_of_tables_is_cheaper(sigma: Fraction) -> None:
    made = plan(Fraction(sigma) ** 2, 64)
    others = {bits: module._parts(Fraction(sigma) ** 2, bits, 64) for bits in range(2, 13)}
    cheapest = min(len(parts) * table_cost(bits, 64) for bits, parts in others.items() if parts)
    assert len(made.parts) * table_cost(made.index_bits, 64) == cheapest


def test_the_constant_of_the_condition_is_an_upper_bound() -> None:
    exact = mpmath.log(2) / (2 * mpmath.pi**2)
    assert (
        exact < mpmath.mpf(module._LN2_BY_2PI2_ABOVE.numerator) / module._LN2_BY_2PI2_ABOVE.denominator < exact * 1.001
    )


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("scheme", [*SCHEMES, "rep4", "repn", "semi2k", "shamir"])
@pytest.mark.parametrize(
    ("sigma", "ring"),
    [(Fraction(1, 3), Z64), (Fraction(9), Z128), (Fraction(1000), Z64), (1 << 30, Z64), (1 << 40, Z64)],
)
def test_draws_are_integers_in_range(scheme: str, sigma: Fraction, ring: IntegerRing) -> None:
    largest = sum(part.largest << part.place for part in plan(Fraction(sigma) ** 2, 64).parts)

    def program(party: Party) -> tuple[int, int, bool]:
        draw = discrete_gaussian(party, (2, 40), sigma, ring)
        values = party.open(draw, reason="test")
        assert values.shape == (2, 40)
        return draw.integer_limit, draw.format.fraction_bits, bool((np.abs(values) <= largest).all())

    assert set(run_local(program, scheme=scheme).results.values()) == {(largest, 0, True)}
    assert largest_draw(sigma) == largest


def test_several_laws_at_once_keep_their_order_and_sizes() -> None:
    """Two kinds of sums, mixed: tables of 2^12 slots for the large ones, smaller ones for the others."""
    laws: list[tuple[Fraction | int, int]] = [
        (1 << 20, 65),
        (Fraction(1, 3), 3),
        ((1 << 20) + 1, 130),
        (3, 64),
        (0x100001, 1),
    ]

    def program(party: Party) -> list[tuple[tuple[int, ...], int, float]]:
        drawn = discrete_gaussians(party, laws)
        opened = [party.open(one, reason="test") for one in drawn]
        return [
            (one.shape, one.integer_limit, float(np.abs(values).max()))
            for one, values in zip(drawn, opened, strict=True)
        ]

    results = next(iter(run_local(program, scheme="clear").results.values()))
    assert [shape for shape, _, _ in results] == [(65,), (3,), (130,), (64,), (1,)]
    assert [limit for _, limit, _ in results] == [largest_draw(sigma) for sigma, _ in laws]
    for (sigma, count), (_, _, most) in zip(laws, results, strict=True):
        assert most < 8 * sigma + 1, "8 deviations: 1e-15"
        assert count < 64 or most > sigma, "64 draws within one deviation: 1e-11"


def test_laws_of_one_kind_take_no_more_rounds_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "_FEW_BITS", 0)
    one, _ = cost(lambda party: discrete_gaussian(party, (64,), 1 << 20))
    laws: list[tuple[Fraction | int, int]] = [((1 << 20) + i, 64) for i in range(3)]
    both, sent = cost(lambda party: discrete_gaussians(party, laws))
    assert (one, both) == (17, 17)
    assert sent == 3 * cost(lambda party: discrete_gaussian(party, (64,), 1 << 20))[1]


def test_the_stated_distance_at_the_size_of_a_model() -> None:
    assert tv_distance(1 << 20, 1874) == 1874 * tv_distance(1 << 20) < Fraction(1, 1 << 51)
    assert tv_distance(1 << 20) < Fraction(1, 1 << 62)
    assert tv_distance(1 << 30, precision=128) < Fraction(1, 1 << 124)


def test_parameters_are_checked() -> None:
    must_be = "The 'sigma' parameter of discrete_gaussian must be a positive Fraction or integer."
    for sigma in (0, -2, 1.5, None):
        assert must_be in str(refusal(lambda party, s=sigma: discrete_gaussian(party, (3,), s)))  # type: ignore[misc]
    assert "at most 2^40" in str(refusal(lambda party: discrete_gaussian(party, (3,), (1 << 40) + 1)))
    assert "The 'shape' parameter" in str(refusal(lambda party: discrete_gaussian(party, (0,), 1)))
    for precision in (0, 257, 1.0):
        error = refusal(lambda party, p=precision: discrete_gaussian(party, (1,), 1, precision=p))  # type: ignore[misc]
        assert "The 'precision' parameter of discrete_gaussian" in str(error)
    assert "The 'count' parameter" in str(refusal(lambda party: discrete_gaussians(party, [(1, 3), (1, 0)])))
    with pytest.raises(InvalidInputError, match="The 'count' parameter of tv_distance"):
        tv_distance(1, 0)
    with pytest.raises(InvalidInputError, match="The 'precision' parameter of largest_draw"):
        largest_draw(1, precision=0)


def test_what_does_not_fit_the_ring_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_SIGMA", 1 << 60)
    error = refusal(lambda party: discrete_gaussian(party, (1,), 1 << 59))
    assert isinstance(error, RangeError)
    assert "must be small enough for Z_2^64" in str(error)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("ring", [Z64, Z128], ids=lambda ring: ring.name)
def test_the_largest_sum_that_fits_is_drawn(scheme: str, ring: IntegerRing, monkeypatch: pytest.MonkeyPatch) -> None:
    """62 digits in a ring of 64 bits: the sum and its mask still fit, and one more is refused."""
    monkeypatch.setattr(module, "LARGEST_SIGMA", 1 << 130)
    fits = [1 << e for e in range(40, 125) if module._table_sum(Fraction(1 << 2 * e), 16).digits <= ring.bits - 2]
    values = opened(lambda party: discrete_gaussian(party, (300,), fits[-1], ring, precision=16), scheme)
    assert (values > 0).any() and (values < 0).any()
    assert fits[-1] < max(abs(int(v)) for v in values) <= largest_draw(fits[-1], precision=16)
    assert isinstance(
        refusal(lambda party: discrete_gaussian(party, (1,), 2 * fits[-1], ring, precision=16)), RangeError
    )


def test_the_bound_of_a_plan() -> None:
    parts = (Part(Fraction(1), 0, 9), Part(Fraction(1), 4, 5))
    assert Plan(5, parts).largest == 9 + 5 * 16


def test_cost_with_rep3(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tables of 305 ANDs, at places 0, 7 and 14, and the addition of their 27 digits and of a mask of 28."""
    made = plan(Fraction(1 << 40), 64)
    assert (made.index_bits, [part.place for part in made.parts]) == (12, [0, 7, 14])
    table = product_ands(12) + 64 + 12 + ands(64, secret=True) + 12
    assert 3 * table == 915
    assert cost(lambda party: discrete_gaussian(party, (64,), 1 << 20)) == (10, 3 * 8 * 915 + 3 * 36 * 64 * 8)
    monkeypatch.setattr(sums, "_FEW_BITS", 0)
    rounds, sent = cost(lambda party: discrete_gaussian(party, (64,), 1 << 20))
    assert rounds == 17
    carry_save = 10 + 9  # places with three digits (7 to 11, 14 to 18), and with two and a carry (12, 13, 19 to 25)
    added = carry_save + 26 + addition_ands(28)  # all places but 7 and 27 have two digits then
    assert sent == 3 * 8 * (3 * table + added) + 2 * 8 * 28 + 4 * 8 * 64
    assert sent <= 64 * 450
