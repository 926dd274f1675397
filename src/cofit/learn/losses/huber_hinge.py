"""Linear support vector machine: the Huberised hinge, with margin m = s z and s = 2 y - 1.

    l = 0 for m > 3/2,  (3/2 - m)^2 / 2 for 1/2 <= m <= 3/2,  1 - m for m < 1/2

(Chaudhuri, Monteleoni, Sarwate, "Differentially private empirical risk minimization", JMLR 2011, section 3.4.2, with
h = 1/2.) l' = -s clip(3/2 - m, 0, 1), so |l'| <= 1 and l'' <= 1.

Secure evaluation: ``clipped_margin``, which is exact; then the sign, the factor c and a truncation.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from cofit.arithmetic import IntegerRing
from cofit.learn.losses.clipped_margin import ClippedMargin
from cofit.learn.losses.clipped_residual import HALF_MARGIN, ClippedResidual
from cofit.learn.losses.loss import Evaluation, Loss, Reals
from cofit.protocols.working import GUARD_BITS, working_bits


class HuberHinge(Loss):
    """The Huberised hinge loss with h = 1/2."""

    name: ClassVar[str] = "huber_hinge"
    kind: ClassVar[str] = "linear_svc"
    title: ClassVar[str] = "linear support vector machine (Huberised hinge)"
    smoothness: ClassVar[Fraction] = Fraction(1)
    clipped_residual: ClassVar[ClippedResidual | None] = HALF_MARGIN
    clipped_title: ClassVar[str] = "linear support vector machine (Huberised hinge, gradients clipped)"

    def derivative_bound(self, radius: Fraction | None) -> Fraction:
        """1: the wrong side of the margin is reached at m = 1/2, which no penalty excludes (m = 0 at w = 0)."""
        del radius
        return Fraction(1)

    def value(self, y: Reals, z: Reals) -> Reals:
        short = np.clip(1.5 - (2 * y - 1) * z, 0, None)
        return np.asarray(np.where(short <= 1, short**2 / 2, short - 0.5))

    def derivative(self, y: Reals, z: Reals) -> Reals:
        sign = 2 * y - 1
        return np.asarray(-sign * HALF_MARGIN(sign * z))

    def evaluation(
        self, ring: IntegerRing, radius: Fraction, scale: Fraction, fraction_bits: int, tolerance: Fraction
    ) -> Evaluation:
        del radius, tolerance  # exact for every z
        return ClippedMargin(ring, scale, fraction_bits, working_bits(ring) - GUARD_BITS)
