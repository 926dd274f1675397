"""The laws of the noise against simulation, closed forms, and an independent formula."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import gammaln, kve

from cofit.report.noise_law import LAWS, GaussianNoise, KNormNoise, LaplaceNoise, NoiseLaw, noise_law
from support.chance import ALPHA
from unit.report.models import MECHANISMS, planned, released

SCALE = 0.37
CASES = [("knorm", 1), ("knorm", 2), ("knorm", 3), ("knorm", 12), ("knorm", 400), ("laplace", 7), ("gaussian", 7)]


def law_of(name: str, dimension: int) -> NoiseLaw:
    return LAWS[name](SCALE, dimension)


@pytest.mark.parametrize(("name", "dimension"), CASES)
def test_one_coordinate_has_the_stated_law(name: str, dimension: int) -> None:
    law = law_of(name, dimension)
    draws = np.abs(law.draw(20_000, np.random.default_rng(dimension))[:, -1])
    assert stats.kstest(draws, lambda x: 1 - law.tail(x)).pvalue > ALPHA


@pytest.mark.parametrize(("name", "dimension"), CASES)
def test_density_and_tail_belong_together(name: str, dimension: int) -> None:
    law = law_of(name, dimension)
    for x in (0.5, 1.5, 4.0):
        end = x * law.deviation
        mass = quad(lambda t: float(law.density(t)), 0, end, epsabs=1e-13, epsrel=1e-12)[0]
        assert 2 * mass == pytest.approx(1 - float(law.tail(end)), rel=1e-8)
    assert float(law.tail(0.0)) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("dimension", [1, 2, 3, 12, 100])
def test_knorm_density_is_the_bessel_function(dimension: int) -> None:
    law = KNormNoise(SCALE, dimension)
    y = np.array([0.3, 1.0, 5.0, 20.0])
    order = dimension / 2
    log = order * np.log(y) + np.log(kve(order, y)) - y - gammaln((dimension + 1) / 2) - order * math.log(2)
    assert law.density(SCALE * y) == pytest.approx(np.exp(log) / (SCALE * math.sqrt(math.pi)), rel=1e-10)
    assert law.density(-SCALE * y) == pytest.approx(law.density(SCALE * y), rel=1e-15)


@pytest.mark.parametrize("dimension", [1, 30, 5000, 100_000])
def test_knorm_far_out_is_0_and_cheap(dimension: int) -> None:
    law = KNormNoise(SCALE, dimension)
    cut = SCALE * (4 * dimension + 8000)
    assert law.tail([cut / 2, cut, 1e6 * cut, 1e300]).tolist() == [0.0] * 4
    assert law.density([0.9 * cut, cut, 1e6 * cut, 1e300]).tolist() == [0.0] * 4


@pytest.mark.parametrize(("dimension", "error"), [(2, 1e-9), (31, 1e-9), (1875, 1e-9), (100_000, 1e-9)])
def test_knorm_tail_is_that_of_a_length_times_a_direction(dimension: int, error: float) -> None:
    """P(r |u_1| >= x) with r ~ Gamma(d, beta) and (u_1 + 1) / 2 ~ Beta((d - 1) / 2, (d - 1) / 2)."""
    law = KNormNoise(SCALE, dimension)
    length, direction = stats.gamma(dimension, scale=SCALE), stats.beta((dimension - 1) / 2, (dimension - 1) / 2)
    for deviations in (1.0, 3.0, 6.0):
        x = deviations * law.deviation

        def integrand(r: float, x: float = x) -> float:
            return float(length.pdf(r) * 2 * direction.sf((x / r + 1) / 2))

        low, high = max(x, length.ppf(1e-30)), length.isf(1e-30)
        middle = [length.mean()] if length.mean() > low else None
        expected = quad(integrand, low, high, points=middle, epsabs=0, epsrel=1e-11, limit=500)[0]
        assert float(law.tail(x)) == pytest.approx(expected, rel=error)


def test_closed_forms() -> None:
    x = np.array([0.0, 0.1, 1.0, 9.0])
    assert LaplaceNoise(SCALE, 3).tail(x) == pytest.approx(np.exp(-x / SCALE), rel=1e-14)
    assert KNormNoise(SCALE, 1).tail(x) == pytest.approx(np.exp(-x / SCALE), rel=1e-11)
    assert GaussianNoise(SCALE, 3).tail(x) == pytest.approx(2 * stats.norm.sf(x / SCALE), rel=1e-12)


@pytest.mark.parametrize(("name", "dimension"), CASES)
@pytest.mark.parametrize("outside", [0.5, 0.05, 1e-7, 1e-12])
def test_half_width_inverts_the_tail(name: str, dimension: int, outside: float) -> None:
    law = law_of(name, dimension)
    assert float(law.tail(law.half_width(outside))) == pytest.approx(outside, rel=1e-8)


@pytest.mark.parametrize(("name", "dimension"), CASES)
def test_moments(name: str, dimension: int) -> None:
    law = law_of(name, dimension)
    count = 40_000
    squares = (law.draw(count, np.random.default_rng(5)) ** 2).sum(axis=1)
    for sample, expected in ((squares, law.mean_square), ((squares - law.mean_square) ** 2, law.variance_of_square)):
        assert abs(sample.mean() - expected) < 5 * sample.std() / math.sqrt(count)


def test_order_and_shape_are_kept() -> None:
    law = KNormNoise(SCALE, 9)
    x = np.random.default_rng(1).uniform(0, 30, (40, 20))
    assert law.tail(x).shape == (40, 20)
    assert law.tail(x)[7, 3] == pytest.approx(float(law.tail(x[7, 3])), rel=1e-10)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_scale_is_that_of_the_certificate(mechanism: str) -> None:
    plan = planned(mechanism=mechanism)
    law = noise_law(released(plan).certificate)
    assert (law.name, law.dimension) == (mechanism, 6)
    assert math.sqrt(law.mean_square) == pytest.approx(plan.mechanism.expected_norm, rel=0.1)
    assert law.scale == float(plan.mechanism.scale)
