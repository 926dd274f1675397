"""Noise-aware significance: p-values that are uniform under noise, Holm by hand, an unbiased length."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from cofit.report.noise_law import LAWS, noise_law
from cofit.report.significance import (
    INTERCEPT,
    LEVEL,
    grid_step,
    holm,
    judged_weights,
    noise_p_values,
    published_weights,
    signal_norm,
)
from support.chance import ALPHA
from unit.report.models import MECHANISMS, planned, released

RUNS = 60


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_p_values_are_uniform_under_noise_alone(mechanism: str) -> None:
    law = LAWS[mechanism](0.2, 25)
    weights = law.draw(4000, np.random.default_rng(2))[:, 3]
    assert stats.kstest(noise_p_values(weights, law, 0.0, 0.0), "uniform").pvalue > ALPHA


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_p_values_hold_on_a_coarse_grid_as_well(mechanism: str) -> None:
    """With rounding and truncation at their worst, no p-value is below its level more often than it may be."""
    law, step = LAWS[mechanism](0.2, 25), 0.1
    draws = law.draw(20_000, np.random.default_rng(3))[:, 0]
    rounded = np.sign(draws) * (np.ceil(np.abs(draws) / step) * step + step * 0.999)
    p = noise_p_values(rounded, law, step, 0.0)
    for level in (0.5, 0.1, 0.01):
        assert (p <= level).mean() <= level + 5 * math.sqrt(level / 20_000)


def test_the_distance_of_the_sampler_is_added() -> None:
    law = LAWS["laplace"](1.0, 3)
    found = noise_p_values(np.array([0.0, 2.0, 1e9]), law, 0.0, 1e-5)
    assert found == pytest.approx([1.0, math.exp(-2) + 1e-5, 1e-5], rel=1e-12)


def test_holm_by_hand() -> None:
    """Sorted 0.01, 0.02, 0.022, 0.5: times 4, 3, 2, 1 is 0.04, 0.06, 0.044, 0.5; never falling, at most 1."""
    assert holm(np.array([0.022, 0.01, 0.5, 0.02])) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert holm(np.array([0.9, 0.8])) == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_under_noise_alone_hardly_anything_ever_stands_out(mechanism: str) -> None:
    plan = planned(cols=12, mechanism=mechanism)
    found = [judged_weights(released(plan, seed=seed)) for seed in range(RUNS)]
    wrong = sum(any(weight.significant for weight in weights) for weights in found)
    missed = sum(any(not weight.low <= 0 <= weight.high for weight in weights) for weights in found)
    assert wrong < RUNS * LEVEL + 5 * math.sqrt(RUNS * LEVEL)
    assert missed <= wrong


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_strong_signal_stands_out_and_its_interval_covers_it(mechanism: str) -> None:
    plan = planned(mechanism=mechanism)
    scale = noise_of(mechanism)
    model = released(plan, signal=40 * scale)
    first, *others = judged_weights(model)
    assert (first.name, first.significant) == ("column 1", True)
    assert first.low < 40 * scale < first.high
    assert first.low < first.value < first.high
    assert not any(weight.significant for weight in others)
    assert [abs(w.value) for w in others] == sorted((abs(w.value) for w in others), reverse=True)


def noise_of(mechanism: str) -> float:
    return float(np.sqrt(LAWS[mechanism](float(planned(mechanism=mechanism).mechanism.scale), 6).variance))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_estimated_square_is_unbiased(mechanism: str) -> None:
    certificate = released(planned(cols=8, mechanism=mechanism)).certificate
    law = noise_law(certificate)
    true = np.linspace(-1, 1, certificate.d) * 3 * law.deviation
    count = 20_000
    draws = law.draw(count, np.random.default_rng(8))
    squares = np.array([signal_norm(true + noise, certificate).square for noise in draws])
    assert abs(squares.mean() - true @ true) < 5 * squares.std() / math.sqrt(count)
    stated = signal_norm(true + draws[0], certificate)
    assert squares.std() == pytest.approx(
        math.sqrt(law.variance_of_square + 4 * (true @ true) * law.variance), rel=0.05
    )
    assert certificate.minimiser is not None
    assert stated.largest == pytest.approx(float(certificate.minimiser.gradient_bound / certificate.minimiser.l2))


def test_no_signal_is_an_estimate_of_0_not_an_error() -> None:
    certificate = released(planned()).certificate
    found = signal_norm(np.zeros(certificate.d), certificate)
    assert found.square < 0
    assert (found.estimate, found.range[0]) == (0.0, 0.0)


def test_the_intercept_is_judged_as_it_was_released() -> None:
    """The model holds it times its constant; the noise was added before."""
    model = released(planned(intercept_scaling=4.0), names=tuple("abcde"))
    weights, names = published_weights(model)
    assert names == ("a", "b", "c", "d", "e", INTERCEPT)
    assert weights[-1] == pytest.approx(np.asarray(model.intercept) / 4)
    assert np.allclose(weights / grid_step(model.certificate), np.round(weights / grid_step(model.certificate)))
    assert len(published_weights(released(planned(fit_intercept=False)))[0]) == 5
