"""Linear support vector machine: the Huberised hinge, with margin m = s z and s = 2 y - 1.

    l = 0 for m > 3/2,  (3/2 - m)^2 / 2 for 1/2 <= m <= 3/2,  1 - m for m < 1/2

(Chaudhuri, Monteleoni, Sarwate, "Differentially private empirical risk minimization", JMLR 2011, section 3.4.2, with
h = 1/2.) l' = -s clip(3/2 - m, 0, 1), so |l'| <= 1 and l'' <= 1.

Secure evaluation: with u = 3/2 - m and the bits a = [u < 0], b = [u < 1], where a <= b, the clipped value is
(b - a) u + (1 - b): one product. Exact. Then the sign, the factor c and a truncation.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from cofit.arithmetic import PowerOfTwoRing
from cofit.learn.losses.loss import STEP_BITS, Evaluation, Loss, Reals, times_scale
from cofit.protocols import is_negative
from cofit.protocols.working import GUARD_BITS, working_bits
from cofit.secret import SecretArray, concatenate

_EDGE = Fraction(3, 2)  # 1 + h


class HuberHinge(Loss):
    """The Huberised hinge loss with h = 1/2."""

    name: ClassVar[str] = "huber_hinge"
    title: ClassVar[str] = "linear support vector machine (Huberised hinge)"
    smoothness: ClassVar[Fraction] = Fraction(1)

    def derivative_bound(self, radius: Fraction | None) -> Fraction:
        """1: the wrong side of the margin is reached at m = 1/2, which no penalty excludes (m = 0 at w = 0)."""
        del radius
        return Fraction(1)

    def derivative(self, y: Reals, z: Reals) -> Reals:
        sign = 2 * y - 1
        return np.asarray(-sign * np.clip(float(_EDGE) - sign * z, 0, 1))

    def evaluation(
        self, ring: PowerOfTwoRing, radius: Fraction, scale: Fraction, fraction_bits: int, tolerance: Fraction
    ) -> Evaluation:
        del radius, tolerance  # exact for every z
        return ClippedMargin(ring, scale, fraction_bits, working_bits(ring) - GUARD_BITS)


@dataclass(frozen=True)
class ClippedMargin(Evaluation):
    """By two comparisons. ``bits``: how many fractional bits it takes z with."""

    ring: PowerOfTwoRing
    scale: Fraction
    fraction_bits: int
    bits: int

    @property
    def argument_bits(self) -> int:
        """As many as it is made for."""
        return self.bits

    @property
    def error(self) -> Fraction:
        """The truncation after the factor c."""
        return Fraction(1, 1 << self.fraction_bits)

    @property
    def description(self) -> str:
        """One line."""
        return "clipped margin by two comparisons, for any z"

    @property
    def temporaries(self) -> int:
        """The signals of two comparisons."""
        return 28

    def __call__(self, z: SecretArray, y: SecretArray) -> SecretArray:
        """Rows that were not checked may have brought any z: the comparisons are of all of the ring."""
        sign = y * 2 - 1
        clipped = self.clipped((sign * z).with_integer_limit(z.integer_limit), unbounded=True)
        return times_scale(-(sign * clipped).with_bound(1), self.scale, self.fraction_bits)

    def clipped(self, margin: SecretArray, *, unbounded: bool = False) -> SecretArray:
        """Return clip(3/2 - m, 0, 1), with the fractional bits of m. ``unbounded``: as in ``comparison``."""
        u = float(_EDGE) - margin
        below = is_negative(concatenate([u.reshape(1, -1), (u - 1).reshape(1, -1)]), unbounded=unbounded)
        a, b = below[0].reshape(u.shape), below[1].reshape(u.shape)
        bits = u.format.fraction_bits
        return (((b - a) * u).with_bound(1) + ((1 - b) * (1 << bits)).ldexp(-bits)).with_bound(1)

    def scaled(self, clipped: SecretArray) -> SecretArray:
        """Return c times a clipped value, exactly: with so many more fractional bits."""
        return (clipped * int(self.scale * (1 << STEP_BITS))).ldexp(-STEP_BITS)
