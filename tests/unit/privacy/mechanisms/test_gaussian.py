"""How much noise the gaussian mechanism adds: the least where its grid is fine, never too little."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cofit.arithmetic import Z64, FixedPoint
from cofit.errors import InvalidInputError
from cofit.privacy.accountant import Account, at_epsilon
from cofit.privacy.events import gaussian_event
from cofit.privacy.gaussian_dp import largest_mu
from cofit.privacy.mechanisms import Gaussian
from cofit.privacy.mechanisms.gaussian import calibrate_gaussian
from cofit.privacy.zcdp import gaussian_sigma

FINE = FixedPoint(34, Z64)
DELTA = Fraction(1, 10**6)


def account_of(mechanism: Gaussian) -> Account:
    steps = 1 << mechanism.grid_bits
    event = gaussian_event(
        "weights",
        mechanism.sensitivity * steps,
        mechanism.scale * steps,
        mechanism.dimension,
        mechanism.sampler_distance,
    )
    return at_epsilon([event], mechanism.epsilon)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3), Fraction(8)], ids=str)
def test_on_a_fine_grid_it_is_the_least_noise_that_any_gaussian_needs(epsilon: Fraction) -> None:
    sensitivity = Fraction(1, 1300)
    mechanism = calibrate_gaussian(1875, sensitivity, epsilon, DELTA, FINE, Fraction(1))
    least = mechanism.sensitivity / largest_mu(epsilon, DELTA)
    assert least < mechanism.scale < least * Fraction(1001, 1000)
    assert float(gaussian_sigma(mechanism.sensitivity, epsilon, DELTA) / mechanism.scale) == pytest.approx(
        1.067, abs=0.02
    )
    assert account_of(mechanism).rule == "gdp"
    assert DELTA * Fraction(99, 100) < account_of(mechanism).delta <= DELTA == mechanism.total_delta


def test_on_a_grid_too_coarse_for_rounded_noise_it_is_the_noise_of_zcdp() -> None:
    wide, narrow = (
        calibrate_gaussian(4, sensitivity, Fraction(1), DELTA, FixedPoint(0, Z64), Fraction(80))
        for sensitivity in (Fraction(40), Fraction(1, 100))
    )
    assert (wide.grid_bits, account_of(wide).rule) == (0, "gdp")
    assert (narrow.grid_bits, account_of(narrow).rule) == (0, "zcdp")
    assert account_of(narrow).delta <= DELTA
    assert narrow.scale == gaussian_sigma(narrow.sensitivity, Fraction(1), DELTA * Fraction(1023, 1024))


def test_noise_narrower_than_the_grid_is_not_widened() -> None:
    mechanism = calibrate_gaussian(3, Fraction(1), Fraction(50), Fraction(1, 10), FixedPoint(0, Z64), Fraction(8))
    assert mechanism.scale < 2
    assert account_of(mechanism).delta <= Fraction(1, 10)


@settings(deadline=None, max_examples=25)
@given(
    st.integers(1, 10**5),
    st.fractions(Fraction(1, 10**6), 4),
    st.fractions(Fraction(1, 50), 20),
    st.integers(3, 12),
    st.integers(0, 34),
)
def test_the_account_of_a_calibrated_mechanism_is_within_delta(
    dimension: int, sensitivity: Fraction, epsilon: Fraction, power: int, bits: int
) -> None:
    delta = Fraction(1, 10**power)
    try:
        mechanism = calibrate_gaussian(dimension, sensitivity, epsilon, delta, FixedPoint(bits, Z64), Fraction(2))
    except InvalidInputError:
        return
    assert account_of(mechanism).delta <= delta
    assert mechanism.sensitivity >= sensitivity
    assert mechanism.scale <= gaussian_sigma(mechanism.sensitivity, epsilon, delta * Fraction(1023, 1024))
