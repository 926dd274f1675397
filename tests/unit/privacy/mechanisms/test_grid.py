"""What truncation to the grid adds is in the sensitivity, whatever format the weights come in."""

from __future__ import annotations

from fractions import Fraction

import pytest

from cofit.arithmetic import Z64, Z128, FixedPoint, IntegerRing
from cofit.privacy.mechanisms import MECHANISMS, Wanted, calibrate

SENSITIVITY = Fraction(1, 1300)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(("bits", "ring"), [(12, Z64), (30, Z64), (34, Z64), (60, Z128)])
def test_truncation_is_always_counted(name: str, bits: int, ring: IntegerRing) -> None:
    """Also where the weights are said to lie on the grid: others may come, and are truncated without a word."""
    dimension = 1875
    wanted = Wanted(
        dimension=dimension,
        sensitivity=SENSITIVITY,
        epsilon=Fraction(1),
        delta=Fraction(1, 10**6),
        weights=FixedPoint(bits, ring),
        radius=Fraction(1),
    )
    mechanism = calibrate(name, wanted)
    added = mechanism.sensitivity - SENSITIVITY
    step = Fraction(1, 1 << mechanism.weight_bits)
    assert added**2 >= 4 * dimension * step**2
    assert float(added / step) == pytest.approx(2 * dimension**0.5)
