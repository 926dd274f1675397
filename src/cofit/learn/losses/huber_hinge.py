"""Linear support vector machine: the Huberised hinge, with margin m = s z and s = 2 y - 1.

    l = 0 for m > 3/2,  (3/2 - m)^2 / 2 for 1/2 <= m <= 3/2,  1 - m for m < 1/2

(Chaudhuri, Monteleoni, Sarwate, "Differentially private empirical risk minimization", JMLR 2011, section 3.4.2, with
h = 1/2.) l' = -s clip(3/2 - m, 0, 1), so |l'| <= 1 and l'' <= 1.

Secure evaluation: with u = 3/2 - m and the bits a = [u < 0], b = [u < 1], where a <= b, the clipped value is
(b - a) u + (1 - b). Exact; then the factor c and a truncation.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from cofit.arithmetic import PowerOfTwoRing
from cofit.learn.losses.loss import Evaluation, Loss, Reals, times_scale
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
        return ClippedMargin(ring, scale, fraction_bits)


@dataclass(frozen=True)
class ClippedMargin(Evaluation):
    """By two comparisons."""

    ring: PowerOfTwoRing
    scale: Fraction
    fraction_bits: int

    @property
    def argument_bits(self) -> int:
        """A usual format."""
        return working_bits(self.ring) - GUARD_BITS

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
        return self.of_signs(z, y * 2 - 1)

    def of_signs(self, z: SecretArray, sign: SecretArray) -> SecretArray:
        """Return the same for s = 2 y - 1; where s is 0, exactly 0 whatever z is."""
        u = float(_EDGE) - (sign * z).with_integer_limit(z.integer_limit)
        below = is_negative(concatenate([u.reshape(1, -1), (u - 1).reshape(1, -1)]))
        a, b = below[0].reshape(z.shape), below[1].reshape(z.shape)
        one = 1 << self.argument_bits
        clipped = ((b - a) * u).with_bound(1) + ((1 - b) * one).ldexp(-self.argument_bits)
        return times_scale(-(sign * clipped.with_bound(1)).with_bound(1), self.scale, self.fraction_bits)
