"""Real functions are rounded to the nearest float, whatever the machine."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from cofit.arithmetic import reals

EXACT = mpmath.MPContext()
EXACT.dps = 1000  # more than the smallest arguments have of zeros
ANY = [*np.random.default_rng(1).normal(0, 30, 200), -745.0, -1e-300, -0.0, 0.0, 5e-324, 1e-9, 0.5, 1.0, 30.0, 700.0]
ABOVE_0 = [abs(x) for x in ANY if x] + [1e300, 1 - 2.0**-53, 1 + 2.0**-52, 8.0, 0.125]
FUNCTIONS: dict[Callable[[float], float], tuple[Callable[[Any], Any], list[float]]] = {
    reals.exp: (EXACT.exp, ANY),
    reals.log: (EXACT.log, ABOVE_0),
    reals.log2: (lambda x: EXACT.log(x) / EXACT.log(2), ABOVE_0),
    reals.log1p: (lambda x: EXACT.log(1 + x), [*ABOVE_0, -0.5, -1e-20, 2.0**-53 - 1]),
    reals.cos: (EXACT.cos, ANY),
    reals.tanh: (EXACT.tanh, ANY),
    reals.sigmoid: (lambda x: 1 / (1 + EXACT.exp(-x)), ANY),
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_function_is_rounded_to_the_nearest(function: Callable[[float], float]) -> None:
    exact, arguments = FUNCTIONS[function]
    for x in arguments:
        number, digits = exact(EXACT.mpf(float(x))), function(float(x))
        smaller, larger = (math.nextafter(digits, to) for to in (-math.inf, math.inf))
        errors = [abs(EXACT.mpf(one) - number) for one in (digits, smaller, larger)]
        assert errors[0] == min(errors), x


def test_what_has_no_finite_value_is_refused() -> None:
    for function, x in ((reals.exp, math.inf), (reals.log, 0.0), (reals.log1p, -1.0), (reals.tanh, math.nan)):
        with pytest.raises(ValueError, match="finite"):
            function(x)
    assert reals.exp(-1e4) == 0.0
    with pytest.raises(OverflowError):
        reals.exp(1e3)


def test_powers_and_fused_products_are_rounded_once() -> None:
    assert reals.power(1 + 2.0**-30, 2) == float(Fraction(1 + 2.0**-30) ** 2)
    assert reals.multiply_add(1 + 2.0**-30, 1 - 2.0**-30, -1.0) == -(2.0**-60)
    assert (1 + 2.0**-30) * (1 - 2.0**-30) - 1.0 == 0


def test_a_total_is_rounded_after_every_number() -> None:
    """As ``sum`` does in Python 3.11, and no longer in 3.12."""
    assert reals.total([1e16, 1.0, 1.0]) == 1e16
    assert reals.total(iter([0.1] * 10)) == 0.9999999999999999
    assert reals.total([]) == 0.0


@pytest.mark.parametrize("half", [*range(1, 60), 1875, 10**6, 10**10])
def test_log_gamma(half: int) -> None:
    x = half / 2
    assert reals.log_gamma(x) == pytest.approx(float(mpmath.loggamma(x)), rel=1e-14, abs=1e-14)


def test_log_gamma_has_the_digits_of_certificates() -> None:
    """Of CPython's function, where the C library rounds its logarithms well."""
    assert np.mean([reals.log_gamma(n / 2) == math.lgamma(n / 2) for n in range(1, 4000)]) > 0.97


@pytest.mark.parametrize("k", [-1080, -64, -1, 0, 1, 63, 1000])
def test_binary_logarithms_are_exact_at_powers_of_two(k: int) -> None:
    power, little = Fraction(2) ** k, Fraction(1, 1 << 2000)
    assert (reals.floor_log2(power), reals.ceil_log2(power)) == (k, k)
    assert (reals.floor_log2(power + little), reals.ceil_log2(power + little)) == (k, k + 1)
    assert (reals.floor_log2(power - little), reals.ceil_log2(power - little)) == (k - 1, k)
    if k > -1000:
        assert reals.floor_log2(float(power)) == reals.ceil_log2(float(power)) == k
        assert reals.ceil_log2(math.nextafter(float(power), math.inf)) == k + 1
