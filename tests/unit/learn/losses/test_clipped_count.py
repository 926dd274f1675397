"""The clipped residual of a count: within its proven error on secrets, bounded whatever score and count are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Party, run_local
from cofit.arithmetic import Z64, Z128, FixedPoint, IntegerRing
from cofit.errors import InvalidInputError
from cofit.learn.facts import training_facts
from cofit.learn.forecast import forecast
from cofit.learn.losses import ClippedCount, Poisson, clipped_count, loss_named
from cofit.learn.losses.clipped_margin import ClippedMargin
from cofit.learn.plan import plan_training
from cofit.learn.targets.count import COUNT_BITS
from cofit.protocols.chebyshev import Approximation
from cofit.protocols.working import working_bits
from cofit.secret.sums import Sum, by_element
from support.schemes import also_slow, local

RADIUS = Fraction(50)
SCORES = np.concatenate([np.linspace(-1.2, 1.2, 481), [0.0, 1.0, -1.0, 49.0, -49.0]])
SCORES = np.trunc(SCORES * 4096) / 4096
BITS = 12


def residuals(
    largest: int, counts: npt.NDArray[np.int64], ring: IntegerRing = Z64, scheme: str = "clear", passed: int = 1
) -> npt.NDArray[np.float64]:
    """e as the parties compute it, of every score."""
    residual = ClippedCount(largest=largest)

    def program(party: Party) -> npt.NDArray[np.float64]:
        ones = party.constant(np.ones(len(SCORES), np.int64), FixedPoint(0, ring))
        scores = party.constant(SCORES, FixedPoint(BITS, ring))
        labels = party.constant(counts / 2**COUNT_BITS, FixedPoint(COUNT_BITS, ring))
        _, targets = residual.prepared(labels, ones * passed)
        assert targets is not None
        summed = Sum([by_element(scores, ones)], BITS, proven_bound=RADIUS)
        found = ClippedMargin(ring, Fraction(1), 16, BITS, residual).of_targets(summed, targets, RADIUS, 1)
        assert found.bound <= 1
        return np.asarray(party.open(found, reason="test"), dtype=np.float64)

    return next(iter(run_local(program, **local(scheme)).results.values()))


def exact(largest: int, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    rates = (1 / 20) ** ((1 - np.clip(SCORES, -1, 1)) / 2) * float(largest) ** ((1 + np.clip(SCORES, -1, 1)) / 2)
    return np.asarray(np.clip((counts - rates) / ClippedCount(largest=largest).unit, -1, 1))


@pytest.mark.parametrize("ring", [Z64, Z128], ids=lambda ring: ring.name)
@pytest.mark.parametrize("largest", [1, 2, 6, 40, 120, 1000, 1 << 15])
def test_it_is_within_its_error(largest: int, ring: IntegerRing) -> None:
    counts = np.random.default_rng(largest).integers(0, largest + 1, len(SCORES))
    wanted = exact(largest, counts)
    residual = ClippedCount(largest=largest)
    assert np.allclose(residual.signed(2 * counts / largest - 1, SCORES), wanted, atol=1e-9)
    error = float(residual.rate_error(working_bits(ring), BITS))
    assert error < 2.0**-11
    assert np.abs(residuals(largest, counts, ring) - wanted).max() <= error


def test_a_coarser_polynomial_would_be_noticed() -> None:
    counts = np.random.default_rng(3).integers(0, 41, len(SCORES))

    def coarse(self: ClippedCount, bits: int) -> Approximation:
        return clipped_count._polynomial(self.largest, self.unit, Fraction(1, 16), bits)

    with mock.patch.object(ClippedCount, "rates", coarse):
        found = residuals(40, counts)
    assert np.abs(found - exact(40, counts)).max() > 2.0**-11
    assert np.abs(found).max() <= 1


@pytest.mark.parametrize("scheme", also_slow(["rep3"], "semi2k", "shamir", "rep4", "pair"))
def test_shares_give_the_same(scheme: str) -> None:
    """By the scheme's own clip of sums, or by comparisons."""
    counts = np.random.default_rng(4).integers(0, 41, len(SCORES))
    assert np.abs(residuals(40, counts, scheme=scheme) - exact(40, counts)).max() <= 2.0**-11


def test_both_ends_are_reached_and_no_more() -> None:
    found = residuals(40, np.where(SCORES < 0, 40, 0))
    assert (found.min(), found.max()) == (-1, 1)


def test_a_record_that_failed_has_the_count_zero_whatever_was_put_in() -> None:
    honest = residuals(40, np.zeros(len(SCORES), np.int64))
    assert np.array_equal(residuals(40, np.full(len(SCORES), 40), passed=0), honest)


def test_c_is_the_power_of_two_nearest_to_a_tenth() -> None:
    for largest in range(1, 1 << 12):
        unit = ClippedCount(largest=largest).unit
        apart = [abs(np.log2(10 * 2.0**bits / largest)) for bits in range(13)]
        assert unit == 2 ** int(np.argmin(apart))
    assert str(ClippedCount(largest=6)) == "clip(y - exp(z), -1, 1)"
    assert str(ClippedCount(largest=40)) == "clip((y - exp(z)) / 4, -1, 1)"
    assert ClippedCount(largest=1 << 15).unit_bits <= BITS


def test_the_loss_is_the_poisson_one() -> None:
    """Its derivative is that of its value, and 0 where the rate is the count."""
    loss, step = loss_named("poisson", 40), 1e-6
    y, z = np.full(9, 2 * 7 / 40 - 1), np.linspace(-1, 1, 9)
    slope = (loss.value(y, z + step) - loss.value(y, z - step)) / (2 * step)
    assert np.allclose(loss.derivative(y, z), slope, atol=1e-6)
    middle, half = loss.target.predictor((0.0, 40.0))
    assert loss.derivative(y[:1], np.array([(np.log(7) - middle) / half])) == pytest.approx(0, abs=1e-9)


def test_it_is_for_descent_alone() -> None:
    one = Fraction(1)
    with pytest.raises(InvalidInputError, match="recipe 'paper'"):
        Poisson(4).derivative_bound(None)
    with pytest.raises(InvalidInputError, match="recipe 'paper'"):
        Poisson(4).evaluation(Z64, one, one, 16, one)
    with pytest.raises(InvalidInputError, match="'largest_count' parameter"):
        loss_named("huber", 4)


def test_a_step_costs_a_polynomial_and_two_more_comparisons() -> None:
    """Rounds of an epoch with rep3, of 8 columns; a number has 14."""
    facts: dict[str, Any] = {"rows": 2000, "cols": 8, "feature_bound": 1.0}
    rounds = [
        forecast(plan_training(training_facts(**facts, **one))).epoch.rounds
        for one in ({"loss": "huber"}, {"loss": "poisson", "largest_count": 40})
    ]
    assert rounds == [14, 34]
