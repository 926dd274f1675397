"""The sigmoid of training on small ranges, for every scheme and ring: within its stated error, in six rounds."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt
import pytest

from cofit import FixedPoint, Party, run_local
from cofit.arithmetic import Z64, Z128, PowerOfTwoRing
from cofit.errors import InvalidInputError
from cofit.protocols.odd_sigmoid import (
    argument_bits,
    odd_sigmoid,
    odd_sigmoid_error,
    odd_sigmoid_polynomial,
    rounded_radius,
)
from cofit.sharing import SCHEMES

COUNT = 2001


def program(
    party: Party, radius: Fraction, scale: Fraction, bits: int, ring: PowerOfTwoRing
) -> npt.NDArray[np.float64]:
    z = party.constant(np.linspace(-float(radius), float(radius), COUNT), FixedPoint(argument_bits(ring), ring))
    with party.label("odd"):
        p = odd_sigmoid(z, radius, scale, bits)
    return party.open(p, reason="test")


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
@pytest.mark.parametrize("radius", [Fraction(1, 20), Fraction(1, 3), Fraction(662, 1000), Fraction(1)])
@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
def test_it_is_within_its_stated_error(scheme: str, radius: Fraction, ring: PowerOfTwoRing) -> None:
    for scale in (Fraction(2049, 4096), Fraction(1)):
        run = run_local(partial(program, radius=radius, scale=scale, bits=26, ring=ring), scheme=scheme)
        unit = 2.0 ** argument_bits(ring)
        z = np.round(np.linspace(-float(radius), float(radius), COUNT) * unit) / unit
        exact = float(scale) / 2 * np.tanh(z / 2)
        proven = float(odd_sigmoid_error(ring, radius, scale, 26))
        for opened in run.results.values():
            assert np.abs(opened - exact).max() <= proven


def test_the_error_has_teeth() -> None:
    """The proven error is small, and nearly attained: a coarser evaluation would be noticed."""
    run = run_local(partial(program, radius=Fraction(662, 1000), scale=Fraction(1), bits=24, ring=Z64), scheme="rep3")
    unit = 2.0 ** argument_bits(Z64)
    z = np.round(np.linspace(-0.662, 0.662, COUNT) * unit) / unit
    seen = np.abs(run.results["party-a"] - np.tanh(z / 2) / 2).max()
    proven = float(odd_sigmoid_error(Z64, Fraction(662, 1000), Fraction(1), 24))
    assert proven <= 3 * 2.0**-24
    assert seen >= 0.25 * proven


@pytest.mark.parametrize("radius", [Fraction(i, 16) for i in range(1, 17)])
def test_the_stated_distance_holds_between_the_grid_points(radius: Fraction) -> None:
    polynomial = odd_sigmoid_polynomial(rounded_radius(radius), Fraction(1))
    z = np.random.default_rng(1).uniform(-float(radius), float(radius), 200_000)
    value = sum(c * z**n for c, n in zip(polynomial.coefficients, (1, 3, 5, 7), strict=True))
    off = np.abs(value - np.tanh(z / 2) / 2).max()
    assert off <= polynomial.distance
    assert np.abs(value).max() <= polynomial.largest


def test_it_takes_six_rounds_and_four_products() -> None:
    run = run_local(partial(program, radius=Fraction(1, 2), scale=Fraction(1), bits=24, ring=Z64), scheme="rep3")
    counts = [counts["odd/mul"] for counts in run.traffic.values()]
    assert max(c.rounds for c in counts) == 6
    assert sum(c.bytes_sent for c in counts) == 8 * 4 * COUNT * 8


def test_other_formats_and_ranges_are_refused() -> None:
    for radius in (Fraction(0), Fraction(65, 64)):
        with pytest.raises(InvalidInputError, match="'radius' parameter of odd_sigmoid"):
            odd_sigmoid_polynomial(radius, Fraction(1))

    def wrong(party: Party) -> None:
        odd_sigmoid(party.constant([0.5], FixedPoint(24)), Fraction(1, 2), Fraction(1), 20)

    with pytest.raises(Exception, match="with 28 fractional bits"):
        run_local(wrong, scheme="clear")
