from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import mpmath
import pytest
from dp_accounting import gaussian_mechanism
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cofit.errors import InvalidInputError
from cofit.privacy import gaussian_dp, zcdp
from cofit.privacy.gaussian_dp import delta_of_mu, largest_mu, mu_of_pure, rounded_distance, rounded_variance
from cofit.privacy.zcdp import SMALLEST_DELTA, delta_of, gaussian_sigma
from cofit.sampling.parameters import constants

EPSILONS = [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3), Fraction(10), Fraction(50)]
MUS = [Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(4), Fraction(20)]
GUARD = 2000


def number(fraction: Fraction) -> mpmath.mpf:
    return mpmath.mpf(fraction.numerator) / fraction.denominator


def exact_delta(mu: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """The formula, with far more digits than it loses."""
    with mpmath.workprec(GUARD):
        m, e = number(mu), number(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


# --- against what is known exactly -----------------------------------------------------------------------


def test_delta_is_the_formula_rounded_up() -> None:
    awkward = 1 - Fraction(1, 3**35)  # no float is near enough
    for epsilon, mu in product(EPSILONS, MUS):
        found, exact = delta_of_mu(mu * awkward, epsilon * awkward), exact_delta(mu * awkward, epsilon * awkward)
        with mpmath.workprec(GUARD):
            assert exact <= number(found)
            assert number(found) <= exact * (1 + mpmath.ldexp(1, -62)) or found == SMALLEST_DELTA


def test_the_formula_is_the_integral_over_the_privacy_loss() -> None:
    """E max(0, 1 - e^(epsilon - L)), L = mu y - mu^2 / 2 at y ~ N(mu, 1), by quadrature."""
    for epsilon, mu in [(Fraction(1, 2), Fraction(1)), (Fraction(3), Fraction(4, 3)), (Fraction(1), Fraction(1, 3))]:
        e, m = float(epsilon), float(mu)
        edge = mpmath.mpf(e / m + m / 2)
        area = mpmath.quad(
            lambda y, m=m, e=e: mpmath.npdf(y, m) * (1 - mpmath.exp(e - m * y + m * m / 2)), [edge, edge + 5, edge + 40]
        )
        assert float(delta_of_mu(mu, epsilon)) == pytest.approx(float(area), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "mu"), [("0.5", 0.1422), ("1", 0.2680), ("3", 0.7191), ("8", 1.6660)])
def test_golden_values(epsilon: str, mu: float) -> None:
    assert float(largest_mu(Fraction(epsilon), Fraction(1, 10**5))) == pytest.approx(mu, abs=1e-4)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(5), Fraction(40)], ids=str)
@pytest.mark.parametrize("delta", [Fraction(1, 10**12), Fraction(1, 10**5), Fraction(1, 10)], ids=str)
def test_mu_is_that_of_dp_accounting_and_of_scipy(epsilon: Fraction, delta: Fraction) -> None:
    mu = float(largest_mu(epsilon, delta))
    assert 1 / mu == pytest.approx(gaussian_mechanism.get_sigma_gaussian(float(epsilon), float(delta)), rel=1e-7)
    if delta >= Fraction(1, 10**5):
        first = stats.norm.cdf(mu / 2 - float(epsilon) / mu)
        second = math.exp(float(epsilon)) * stats.norm.cdf(-mu / 2 - float(epsilon) / mu)
        assert first - second == pytest.approx(float(delta), rel=1e-6)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("delta", [Fraction(1, 10**12), Fraction(1, 10**5)], ids=str)
def test_it_always_allows_more_than_zcdp(epsilon: Fraction, delta: Fraction) -> None:
    mu = largest_mu(epsilon, delta)
    assert 1.02 < float(gaussian_sigma(1, epsilon, delta) * mu) < 1.2
    assert delta_of(mu**2 / 2, epsilon) > delta


# --- rounding, order, limits -----------------------------------------------------------------------------

epsilons = st.fractions(Fraction(1, 1000), 50, max_denominator=10**6)
deltas = st.floats(-30, -0.4).map(lambda power: Fraction(10**power))
mus = st.floats(-12, 2).map(lambda power: Fraction(10**power))


@settings(deadline=None, max_examples=30)
@given(epsilons, deltas)
def test_largest_mu_is_allowed_and_nearly_the_largest(epsilon: Fraction, delta: Fraction) -> None:
    mu = largest_mu(epsilon, delta)
    assert delta_of_mu(mu, epsilon) <= delta < delta_of_mu(mu * (1 + Fraction(1, 1 << 46)), epsilon)


@settings(deadline=None)
@given(epsilons, epsilons, mus, mus)
def test_delta_grows_with_mu_and_falls_with_epsilon(e: Fraction, f: Fraction, m: Fraction, n: Fraction) -> None:
    assert delta_of_mu(min(m, n), max(e, f)) <= delta_of_mu(max(m, n), min(e, f))


@settings(deadline=None)
@given(epsilons, mus)
def test_delta_is_safe_whatever_is_asked(epsilon: Fraction, mu: Fraction) -> None:
    with mpmath.workprec(GUARD):
        assert exact_delta(mu, epsilon) <= number(delta_of_mu(mu, epsilon))


@pytest.mark.parametrize("epsilon", [Fraction(1, 2**2000), Fraction(1, 1000), Fraction(50), Fraction(1024)])
@pytest.mark.parametrize("delta", [SMALLEST_DELTA, Fraction(1, 10**12), Fraction(999, 1000), 1 - Fraction(1, 2**900)])
def test_extreme_arguments_are_calibrated(epsilon: Fraction, delta: Fraction) -> None:
    assert delta_of_mu(largest_mu(epsilon, delta), epsilon) <= delta


def test_delta_stays_between_its_limits() -> None:
    assert delta_of_mu(Fraction(1, 10**9), 50) == SMALLEST_DELTA
    assert delta_of_mu(Fraction(1, 10**2000), Fraction(1, 10**3000)) == SMALLEST_DELTA
    assert delta_of_mu(10**2000, 1) == 1
    assert delta_of_mu(1000, 1) == 1
    assert delta_of_mu(Fraction(1, 18), 1) < Fraction(1, 2**200)
    tiny = Fraction(1, 2**250)  # nearly all digits of the two terms cancel
    with mpmath.workprec(GUARD):
        ratio = number(delta_of_mu(tiny, tiny**3)) / (number(tiny) * mpmath.npdf(0))
        assert abs(ratio - 1) <= mpmath.ldexp(1, -60)


class Untouchable(mpmath.MPContext):  # type: ignore[misc]
    """A context that refuses another precision than its first one, even for a while."""

    fixed = False

    @property
    def prec(self) -> int:
        return int(self._prec)

    @prec.setter
    def prec(self, bits: int) -> None:
        assert not self.fixed, "the precision of a shared context was changed"
        self._set_prec(bits)


def untouchable(precision: int) -> Untouchable:
    context = Untouchable()
    context.prec = precision + 64
    context.fixed = True
    return context


def test_the_shared_precision_is_never_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samplers take their tables from the same contexts, and parties may be threads."""
    with pytest.raises(AssertionError, match="precision"):
        untouchable(64).ncdf(1)
    monkeypatch.setattr(gaussian_dp, "constants", untouchable)
    monkeypatch.setattr(zcdp, "_CONTEXT", untouchable(64))
    for power in (-30, -3, 0, 3):
        size = Fraction(10) ** power * Fraction(7, 9)
        assert delta_of_mu(size, 1) <= 1
        assert mu_of_pure(size) > 0
        assert delta_of(size, 1) <= 1
        assert zcdp.total_delta(0, min(size, Fraction(1)), 1) <= 1


def test_tiny_epsilons_share_few_contexts() -> None:
    before = constants.cache_info().currsize
    for power in range(10, 250, 3):
        mu_of_pure(Fraction(1, 2**power + 1))
    assert constants.cache_info().currsize <= before + 5


# --- pure mechanisms -------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [Fraction(1, 2**300), *EPSILONS, Fraction(1024)], ids=str)
def test_the_mu_of_a_pure_mechanism_is_that_of_randomised_response(epsilon: Fraction) -> None:
    """Above, and within 2^-46 of it: 1 / (1 + e^epsilon) = Phi(-mu / 2)."""
    mu = mu_of_pure(epsilon)
    with mpmath.workprec(GUARD):
        errs = 1 / (1 + mpmath.exp(number(epsilon)))
        assert mpmath.ncdf(-number(mu) / 2) <= errs
        assert mpmath.ncdf(-number(mu) / 2 * (1 - mpmath.ldexp(1, -46))) > errs


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)], ids=str)
def test_randomised_response_is_as_private_as_its_mu_says(epsilon: Fraction) -> None:
    """Its exact profile, delta = (e^epsilon - e^x) / (1 + e^epsilon) at x < epsilon, is below that of mu; and not
    of nine tenths of it."""
    mu = mu_of_pure(epsilon)
    points = [epsilon * k / 20 for k in range(1, 20)]
    profile = [(math.exp(epsilon) - math.exp(x)) / (1 + math.exp(epsilon)) for x in points]
    assert all(exact <= delta_of_mu(mu, x) for exact, x in zip(profile, points, strict=True))
    assert any(exact > delta_of_mu(mu * Fraction(9, 10), x) for exact, x in zip(profile, points, strict=True))


# --- discrete as rounded Gaussian noise ------------------------------------------------------------------


def distance_from_rounded(sigma: Fraction, variance: Fraction) -> mpmath.mpf:
    """The total variation between N_Z(sigma^2) and rounded N(0, variance), up to 1e-22."""
    with mpmath.workprec(100):
        reach = math.ceil(10 * sigma) + 3
        weights = [mpmath.exp(-mpmath.mpf(k * k) / (2 * number(sigma) ** 2)) for k in range(reach)]
        total = 2 * mpmath.fsum(weights) - 1
        deviation = mpmath.sqrt(number(variance))
        tails = [mpmath.ncdf(-(mpmath.mpf(k) - 0.5) / deviation) for k in range(reach + 1)]  # P(rounded >= k)
        gaps = [abs(weights[k] / total - (tails[k] - tails[k + 1])) for k in range(reach)]
        return mpmath.fsum(gaps) - gaps[0] / 2


SIGMAS = [Fraction(2), Fraction(5, 2), Fraction(10, 3), Fraction(8), Fraction(32), Fraction(128), Fraction(1024)]


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_the_rounding_bound_holds_and_is_of_the_right_order(sigma: Fraction) -> None:
    measured = distance_from_rounded(sigma, rounded_variance(sigma))
    assert measured <= number(rounded_distance(sigma)) <= 20 * measured
    assert rounded_distance(sigma) == pytest.approx(float(1 / (128 * (sigma**2 - Fraction(1, 12)) ** 2)), rel=1e-6)


@pytest.mark.parametrize("sigma", SIGMAS[2:-1], ids=str)
def test_the_twelfth_is_what_makes_it_close(sigma: Fraction) -> None:
    """Rounded noise of variance sigma^2 is 0.0202 / sigma^2 away, farther than the bound says of the right one."""
    for wrong in (sigma**2, sigma**2 - Fraction(1, 6)):
        measured = distance_from_rounded(sigma, wrong)
        assert measured > number(rounded_distance(sigma))
        assert 0.019 < measured * number(sigma) ** 2 < 0.022


def rounded_profile(sigma: Fraction, shift: int, epsilon: Fraction) -> float:
    """The smallest delta of integers with discrete Gaussian noise in one dimension, at this shift."""
    reach = math.ceil(15 * sigma) + shift
    weights = [math.exp(-(k * k) / (2 * float(sigma) ** 2)) for k in range(-reach - shift, reach + 1)]
    factor = math.exp(epsilon)
    return sum(max(0.0, p - factor * q) for p, q in zip(weights[shift:], weights[:-shift], strict=True)) / sum(weights)


@pytest.mark.parametrize(
    ("sigma", "shift"), [(Fraction(2), 1), (Fraction(4), 3), (Fraction(16), 5), (Fraction(50), 80)]
)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(2)], ids=str)
def test_the_exact_profile_of_the_discrete_gaussian_is_within_the_claim(
    sigma: Fraction, shift: int, epsilon: Fraction
) -> None:
    exact = rounded_profile(sigma, shift, epsilon)
    variance = rounded_variance(sigma)
    mu = Fraction(math.isqrt(math.ceil(shift**2 * 10**12 / variance)) + 1, 10**6)
    ideal = float(delta_of_mu(mu, epsilon))
    extra = (1 + math.exp(epsilon)) * float(rounded_distance(sigma))
    assert exact <= ideal + extra
    assert exact >= 0.97 * ideal - extra  # rounding loses something


# --- arguments -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [0, -1, 0.5, "1", None, True, Fraction(-1, 2)])
def test_what_is_not_positive_and_exact_is_refused(bad: Fraction) -> None:
    calls: dict[str, Callable[[], Fraction]] = {
        "mu": lambda: delta_of_mu(bad, 1),
        "epsilon": lambda: delta_of_mu(1, bad),
        "delta": lambda: largest_mu(1, bad),
        "epsilon ": lambda: mu_of_pure(bad),
        "sigma": lambda: rounded_distance(bad),
        "sigma ": lambda: rounded_variance(bad),
    }
    for name, call in calls.items():
        with pytest.raises(
            InvalidInputError, match=f"The '{name.strip()}' parameter of .* must be a positive Fraction"
        ):
            call()


def test_limits_are_stated() -> None:
    with pytest.raises(InvalidInputError, match="The 'epsilon' parameter of delta_of_mu must be at most 1024"):
        delta_of_mu(1, 1025)
    with pytest.raises(InvalidInputError, match=r"'delta' parameter of largest_mu must be at least 2\^-256"):
        largest_mu(1, SMALLEST_DELTA / 2)
    with pytest.raises(InvalidInputError, match="'sigma' parameter of rounded_distance must be at least 2 steps"):
        rounded_distance(Fraction(199, 100))
