"""Losses: derivatives, bounds and smoothness in the clear; secure evaluation within its stated error."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Party, run_local
from cofit.arithmetic import Z64, Z128, FixedPoint, IntegerRing
from cofit.errors import InvalidInputError
from cofit.learn.losses import LOSSES, Evaluation, loss_named
from cofit.learn.losses.logistic import AnySigmoid, PolynomialSigmoid, SmallSigmoid
from cofit.learn.targets import Target
from support.training import checked_ranges, curvature, loss_value

Reals = npt.NDArray[np.float64]
NAMES = sorted(name for name, loss in LOSSES.items() if loss.minimised)
Z = np.linspace(-40, 40, 20_001)


@pytest.mark.parametrize("label", [0.0, 1.0])
@pytest.mark.parametrize("name", NAMES)
def test_derivatives(name: str, label: float) -> None:
    loss, y, h = loss_named(name), np.full_like(Z, label), 1e-5
    slope = (loss_value(loss, y, Z + h) - loss_value(loss, y, Z - h)) / (2 * h)
    assert np.abs(slope - loss.derivative(y, Z)).max() < 1e-5
    rise = np.diff(loss.derivative(y, Z)) / np.diff(Z)
    assert rise.min() > -1e-9, "not convex"
    assert rise.max() <= float(loss.smoothness) * (1 + 1e-9)
    assert rise.max() > 0.99 * float(loss.smoothness), "the smoothness is not tight"
    assert curvature(loss, y, Z).max() <= float(loss.smoothness)


@pytest.mark.parametrize("radius", [None, *(Fraction(v) for v in (1e-6, 0.1, 0.659, 3.0, 29.9, 31.0, 1e9))])
@pytest.mark.parametrize("name", NAMES)
def test_the_bound_of_the_derivative_is_never_too_small(name: str, radius: Fraction | None) -> None:
    loss = loss_named(name)
    far = 1e3 if radius is None else min(float(radius), 1e3)
    z = np.linspace(-far, far, 1001)
    largest = max(float(np.abs(loss.derivative(np.full_like(z, label), z)).max()) for label in (0.0, 1.0))
    bound = float(loss.derivative_bound(radius))
    assert largest <= bound <= 1
    if name == "logistic":
        assert bound < largest + 1e-9


def evaluated(
    evaluation: Evaluation, target: Target, z: Reals, y: Reals, ring: IntegerRing, limit: Fraction, scheme: str
) -> Reals:
    format = FixedPoint(evaluation.argument_bits, ring)

    def program(party: Party) -> Reals:
        secret = party.constant(z, format)
        secret = (secret + party.constant(np.full(len(z), float(limit)), format)) - float(limit)  # a bound of 3 limits
        secret = secret.with_integer_limit(format.limit(limit))
        labels = party.constant(y, target.format(ring))
        return np.asarray(party.open(evaluation(secret, labels), reason="test"), dtype=np.float64)

    return next(iter(run_local(program, scheme=scheme, parties=1 if scheme == "clear" else None).results.values()))


def assert_within_error(name: str, radius: float, scale: Fraction, ring: IntegerRing, scheme: str) -> Evaluation:
    loss, bits = loss_named(name), ring.bits // 2 - 4
    limit = Fraction(radius)
    evaluation = loss.evaluation(ring, limit, scale, bits, Fraction(1, 2 << bits))
    count = 2_000 if scheme == "clear" else 60
    z = np.concatenate([np.linspace(-radius, radius, count), [0.0, -radius, radius, 0.5, 1.5, -0.5, -1.5, 1e-9]])
    z = np.clip(z, -radius, radius)
    unit = 2.0**-evaluation.argument_bits
    z = np.tile(np.trunc(z / unit) * unit, 2)
    y = np.repeat([0.0, 1.0], len(z) // 2)
    with checked_ranges():
        result = evaluated(evaluation, loss.target, z, y, ring, limit, scheme)
    wanted = float(scale) * loss.derivative(y, z)
    assert np.abs(result - wanted).max() <= float(evaluation.error) + 1e-15
    assert float(evaluation.error) <= 16 * 2.0**-bits, "the bound is too loose to be useful"
    return evaluation


@pytest.mark.parametrize("ring", [Z64, Z128], ids=lambda r: r.name)
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(2049, 4096)])
@pytest.mark.parametrize("radius", [0.001, 0.66, 1.0, 3.7, 8.0, 8.01, 60.0])
@pytest.mark.parametrize("name", NAMES)
def test_secure_evaluation_is_within_its_error(name: str, radius: float, scale: Fraction, ring: IntegerRing) -> None:
    evaluation = assert_within_error(name, radius, scale, ring, "clear")
    if name == "logistic":
        small = SmallSigmoid if ring is Z64 and radius <= 1 else PolynomialSigmoid
        assert isinstance(evaluation, (small, PolynomialSigmoid) if radius <= 8 else AnySigmoid)


@pytest.mark.parametrize("radius", [0.66, 60.0])
@pytest.mark.parametrize("name", NAMES)
def test_secure_evaluation_with_rep3(name: str, radius: float) -> None:
    assert_within_error(name, radius, Fraction(3000, 4096), Z64, "rep3")


def test_unknown_losses_are_refused() -> None:
    with pytest.raises(
        InvalidInputError, match=r"The 'loss' parameter of a plan must be one of .* Got 'squared' instead"
    ):
        loss_named("squared")
