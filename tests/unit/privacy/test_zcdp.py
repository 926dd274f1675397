from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cofit.errors import InvalidInputError
from cofit.privacy import zcdp
from cofit.privacy.zcdp import SMALLEST_DELTA, delta_of, gaussian_sigma, largest_rho, total_delta

EPSILONS = [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3), Fraction(10), Fraction(50)]
DELTAS = [Fraction(1, 10**12), Fraction(1, 10**9), Fraction(1, 10**5), Fraction(1, 100), Fraction(2, 5)]
GUARD = 200


def number(fraction: Fraction) -> mpmath.mpf:
    with mpmath.workprec(GUARD):
        return mpmath.mpf(fraction.numerator) / fraction.denominator


RHOS = (1e-300, 1e-20, 1e-6, 1e-3, 0.1, 0.5, 1.0, 3.0, 10.0, 100.0)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 10.0, 1024.0])
@pytest.mark.parametrize("rho", RHOS)
def test_the_alpha_that_is_searched_is_the_best(rho: float, epsilon: float) -> None:
    """Where the derivative of ln delta changes its sign, to 12 digits."""
    found = zcdp._best_t(rho, epsilon)

    def slope(t: mpmath.mpf) -> mpmath.mpf:
        return (1 + 2 * t) * rho - epsilon - mpmath.log1p(1 / t)

    with mpmath.workdps(700):
        assert slope(found * (1 - mpmath.mpf(10) ** -12)) < 0 < slope(found * (1 + mpmath.mpf(10) ** -12))


def test_where_delta_is_1_or_nothing_the_search_ends() -> None:
    assert zcdp._best_t(65_536.0, 0.1) == pytest.approx(math.exp(-700))
    assert zcdp._best_t(1e-310, 1024.0) == zcdp._best_t(0.0, 1.0) == 2.0**1009


def discrete_profile(sigma: Fraction, shift: tuple[int, ...], epsilon: Fraction) -> mpmath.mpf:
    """The smallest delta for this shift: the sum over x of max(0, P(x) - e^epsilon P(x - shift)), in any dimension."""
    reach = math.ceil(12 * sigma) + max(shift)
    inside = range(-reach, reach + 1)
    with mpmath.workprec(GUARD):
        weights = [mpmath.exp(-mpmath.mpf(x * x) / (2 * number(sigma) ** 2)) for x in range(2 * reach + 1)]
        factor = mpmath.exp(number(epsilon))
        total = mpmath.mpf(0)
        for point in product(inside, repeat=len(shift)):
            here = mpmath.fprod(weights[abs(x)] for x in point)
            there = mpmath.fprod(weights[abs(x - s)] for x, s in zip(point, shift, strict=True))
            total += max(mpmath.mpf(0), here - factor * there)
        return total / (2 * mpmath.fsum(weights) - 1) ** len(shift)


def continuous_profile(sigma: mpmath.mpf, epsilon: Fraction) -> mpmath.mpf:
    """Balle and Wang (2018), theorem 8: the smallest delta of the continuous Gaussian at sensitivity 1."""
    with mpmath.workprec(GUARD):
        eps = number(epsilon)
        return mpmath.ncdf(1 / (2 * sigma) - eps * sigma) - mpmath.exp(eps) * mpmath.ncdf(
            -1 / (2 * sigma) - eps * sigma
        )


def continuous_sigma(epsilon: Fraction, delta: Fraction) -> float:
    low, high = -10.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        if continuous_profile(mpmath.exp(middle), epsilon) > number(delta):
            low = middle
        else:
            high = middle
    return math.exp(high)


def smallest_bound(rho: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """Corollary 13 at the best alpha > 1, by ternary search of ln(alpha - 1): ln of it is convex."""

    def bound(log_t: mpmath.mpf) -> mpmath.mpf:
        t = mpmath.exp(log_t)
        return t * ((1 + t) * rho - epsilon) - log_t + (1 + t) * mpmath.log(t / (1 + t))

    with mpmath.workprec(2 * GUARD):
        low, high = mpmath.mpf(-100), mpmath.mpf(100)
        for _ in range(400):
            third = (high - low) / 3
            if bound(low + third) < bound(high - third):
                high -= third
            else:
                low += third
        return mpmath.exp(bound(low))


# --- against what is known exactly -----------------------------------------------------------------------


@pytest.mark.parametrize("tail", [Fraction(1, 5), Fraction(1), Fraction(3), Fraction(6)], ids=str)
@pytest.mark.parametrize("shift", [1, 3])
@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(1), Fraction(4), Fraction(25)], ids=str)
def test_delta_is_above_the_exact_profile_of_the_discrete_gaussian(sigma: Fraction, shift: int, tail: Fraction) -> None:
    """Epsilon is such that the privacy loss exceeds it beyond ``tail`` standard deviations of the noise."""
    rho = Fraction(shift**2) / (2 * sigma**2)
    epsilon = rho + tail * shift / sigma
    ratio = number(delta_of(rho, epsilon)) / discrete_profile(sigma, (shift,), epsilon)
    assert ratio >= 1
    if sigma > shift:
        assert ratio < 12


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)], ids=str)
def test_delta_is_above_the_exact_profile_in_two_dimensions(epsilon: Fraction) -> None:
    exact = discrete_profile(Fraction(3), (3, 4), epsilon)
    assert 0 < exact <= number(delta_of(Fraction(25, 18), epsilon))


@pytest.mark.parametrize("delta", DELTAS, ids=str)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_how_much_is_lost_against_the_exact_profile_of_the_continuous_gaussian(
    epsilon: Fraction, delta: Fraction
) -> None:
    sigma = gaussian_sigma(1, epsilon, delta)
    assert 1 < number(delta) / continuous_profile(number(sigma), epsilon) < 9
    ratio = float(sigma) / continuous_sigma(epsilon, delta)
    assert 1 < ratio < (1.2 if delta <= Fraction(1, 10**5) else 1.6)
    if Fraction(1, 10) <= epsilon <= 10 and delta <= Fraction(1, 10**5):
        assert 1.03 < ratio < 1.11  # as the module says


def test_delta_is_the_smallest_bound_of_all_alphas_rounded_up() -> None:
    awkward = 1 - Fraction(1, 3**35)  # no float is near enough
    for epsilon, rho in product(EPSILONS, [Fraction(1, 10**6), Fraction(1, 100), Fraction(1), Fraction(20)]):
        found = number(delta_of(rho * awkward, epsilon * awkward))
        smallest = smallest_bound(number(rho * awkward), number(epsilon * awkward))
        with mpmath.workprec(GUARD):
            assert smallest <= found
            assert found <= smallest * (1 + mpmath.ldexp(1, -60)) or found == number(SMALLEST_DELTA)


def test_known_values() -> None:
    """cdp_delta and cdp_rho of the authors' published code, to its accuracy."""
    assert float(delta_of(Fraction(1, 2), 1)) == pytest.approx(0.24684633078294446, rel=1e-6)
    assert float(largest_rho(1, Fraction(1, 10**6))) == pytest.approx(0.024355970359538372, rel=1e-6)


# --- rounding, order, limits -----------------------------------------------------------------------------

epsilons = st.fractions(Fraction(1, 1000), 50, max_denominator=10**6)
deltas = st.floats(-12, -0.4).map(lambda power: Fraction(10**power))
rhos = st.floats(-12, 3).map(lambda power: Fraction(10**power))


@settings(deadline=None, max_examples=30)
@given(epsilons, deltas)
def test_largest_rho_is_allowed_and_nearly_the_largest(epsilon: Fraction, delta: Fraction) -> None:
    rho = largest_rho(epsilon, delta)
    assert delta_of(rho, epsilon) <= delta < delta_of(rho * (1 + Fraction(1, 1 << 46)), epsilon)


@settings(deadline=None, max_examples=30)
@given(epsilons, deltas, st.fractions(Fraction(1, 10**6), 10**9))
def test_sigma_is_allowed_nearly_the_smallest_and_short(epsilon: Fraction, delta: Fraction, sens: Fraction) -> None:
    sigma = gaussian_sigma(sens, epsilon, delta)
    assert delta_of(sens**2 / (2 * sigma**2), epsilon) <= delta
    assert delta_of(sens**2 / (2 * (sigma * Fraction(999, 1000)) ** 2), epsilon) > delta
    assert sigma.denominator & (sigma.denominator - 1) == 0
    odd = sigma.numerator // (sigma.numerator & -sigma.numerator)
    assert odd.bit_length() <= 30


@settings(deadline=None)
@given(epsilons, epsilons, rhos, rhos)
def test_delta_grows_with_rho_and_falls_with_epsilon(e: Fraction, f: Fraction, r: Fraction, s: Fraction) -> None:
    assert delta_of(min(r, s), max(e, f)) <= delta_of(max(r, s), min(e, f))


@settings(deadline=None, max_examples=20)
@given(epsilons, epsilons, deltas, deltas, st.integers(1, 10**6), st.integers(1, 10**6))
def test_sigma_grows_with_the_sensitivity_and_falls_with_epsilon_and_delta(
    e: Fraction, f: Fraction, p: Fraction, q: Fraction, a: int, b: int
) -> None:
    assert gaussian_sigma(min(a, b), max(e, f), max(p, q)) <= gaussian_sigma(max(a, b), min(e, f), min(p, q))


@pytest.mark.parametrize("epsilon", [Fraction(1, 2**2000), Fraction(1, 1000), Fraction(50), Fraction(1024)])
@pytest.mark.parametrize("delta", [SMALLEST_DELTA, Fraction(1, 10**12), Fraction(999, 1000), 1 - Fraction(1, 2**900)])
def test_extreme_arguments_are_calibrated(epsilon: Fraction, delta: Fraction) -> None:
    assert delta_of(largest_rho(epsilon, delta), epsilon) <= delta


def test_delta_stays_between_its_limits() -> None:
    assert delta_of(Fraction(1, 10**9), 50) == SMALLEST_DELTA
    assert delta_of(Fraction(1, 10**2000), Fraction(1, 1000)) == SMALLEST_DELTA
    assert delta_of(10**2000, 1) == 1
    assert delta_of(1000, 1) == 1
    assert SMALLEST_DELTA < delta_of(Fraction(1, 500), 1) < Fraction(1, 2**100)


# --- the distance of the sampler -------------------------------------------------------------------------


def test_total_delta_is_above_and_close() -> None:
    for epsilon, delta, distance in product(EPSILONS, [Fraction(0), *DELTAS], [Fraction(1, 2**20), Fraction(3, 2**90)]):
        total = total_delta(delta, distance, epsilon)
        with mpmath.workprec(GUARD):
            exact = number(delta) + (1 + mpmath.exp(number(epsilon))) * number(distance)
            assert min(exact, 1) <= number(total) <= exact * (1 + mpmath.mpf(2) ** -60)


def test_the_distance_can_cost_all_that_total_delta_says() -> None:
    """A pure 1-DP coin, its two laws moved apart by s: delta is exactly (1 + e) s."""
    e, s = math.e, 1e-3
    ideal = {0: e / (1 + e), 1: 1 / (1 + e)}  # P(one) under each of two neighbours
    sampled = {0: ideal[0] + s, 1: ideal[1] - s}
    assert sampled[0] - e * sampled[1] == pytest.approx(float(total_delta(0, Fraction(s), 1)), rel=1e-12)


def test_a_perfect_sampler_leaves_delta_alone_and_nothing_exceeds_one() -> None:
    assert total_delta(Fraction(1, 3), 0, 1) == Fraction(1, 3)
    assert total_delta(0, 0, 1) == 0
    assert total_delta(Fraction(1, 3), Fraction(1, 2), 1024) == 1


# --- arguments -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [0, -1, 0.5, "1", None, True, Fraction(-1, 2)])
def test_what_is_not_positive_and_exact_is_refused(bad: Fraction) -> None:
    calls: dict[str, Callable[[], Fraction]] = {
        "rho": lambda: delta_of(bad, 1),
        "epsilon": lambda: delta_of(1, bad),
        "delta": lambda: largest_rho(1, bad),
        "sensitivity": lambda: gaussian_sigma(bad, 1, Fraction(1, 10)),
    }
    for name, call in calls.items():
        with pytest.raises(InvalidInputError, match=f"The '{name}' parameter of .* must be a positive Fraction"):
            call()


def test_limits_are_stated() -> None:
    with pytest.raises(InvalidInputError, match="The 'epsilon' parameter of total_delta must be at most 1024"):
        total_delta(0, 0, 1025)
    for delta in (Fraction(1), SMALLEST_DELTA / 2):
        with pytest.raises(InvalidInputError, match=r"'delta' parameter of largest_rho must be at least 2\^-256"):
            largest_rho(1, delta)
    for bad in (Fraction(-1, 2), Fraction(3, 2), 0.0, False, "0"):
        with pytest.raises(InvalidInputError, match="'sampler_distance' parameter of total_delta must be a Fraction"):
            total_delta(0, bad, 1)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="'delta' parameter of total_delta must be a Fraction"):
            total_delta(bad, 0, 1)  # type: ignore[arg-type]
