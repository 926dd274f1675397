"""What noise is calibrated to in tests: dimension, sensitivity, epsilon, and the format of the weights."""

from __future__ import annotations

from fractions import Fraction

from cofit.arithmetic import Z64, Z128, FixedPoint

CASES = [
    (1, Fraction(1, 1300), Fraction(1), FixedPoint(30, Z64)),
    (13, Fraction(1, 1713), Fraction(1, 2), FixedPoint(34, Z64)),
    (1875, Fraction(1, 1300), Fraction(3), FixedPoint(60, Z128)),
]
