"""Linear support vector machines: the Huberised hinge, with margin m = s z and s = 2 y - 1.

    l = 0 for m > 1 + h,  (1 + h - m)^2 / (4 h) for |1 - m| <= h,  1 - m for m < 1 - h

(Chaudhuri, Monteleoni, Sarwate, "Differentially private empirical risk minimization", JMLR 2011, section 3.4.2.)
l' = -s clip((1 + h - m) / (2 h), 0, 1), so |l'| <= 1 and l'' <= 1 / (2 h). l is at most h / 4 above the hinge
max(0, 1 - m), and equal to it but for |1 - m| < h.

``huber_hinge`` has h = 1/2: clip(3/2 - m, 0, 1). ``hinge`` has h = 1/4: clip(5/2 - 2 m, 0, 1). The minimiser takes
longer the smaller h is. Noisy descent does not, so that it can be nearer to the hinge; h = 1/2 is the very line that it
takes for logistic regression (docs/explanation/recipe.md).

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
    """The Huberised hinge loss with h = 1/2. line: -s l', as a function of the margin."""

    name: ClassVar[str] = "huber_hinge"
    kind: ClassVar[str] = "linear_svc"
    title: ClassVar[str] = "linear support vector machine (Huberised hinge)"
    line: ClassVar[ClippedResidual] = HALF_MARGIN
    smoothness: ClassVar[Fraction] = Fraction(1)
    clipped_residual: ClippedResidual | None = line
    clipped_title: ClassVar[str] = "linear support vector machine (Huberised hinge, gradients clipped)"

    def derivative_bound(self, radius: Fraction | None) -> Fraction:
        """1: the wrong side of the margin is reached at m = 1 - h, which no penalty excludes (m = 0 at w = 0)."""
        del radius
        return Fraction(1)

    def value(self, y: Reals, z: Reals) -> Reals:
        edge, slope = float(self.line.edge), float(self.line.slope)
        short = np.clip(edge - slope * (2 * y - 1) * z, 0, None)
        return np.asarray(np.where(short <= 1, short**2 / 2, short - 0.5) / slope)

    def derivative(self, y: Reals, z: Reals) -> Reals:
        sign = 2 * y - 1
        return np.asarray(-sign * self.line(sign * z))

    def evaluation(
        self, ring: IntegerRing, radius: Fraction, scale: Fraction, fraction_bits: int, tolerance: Fraction
    ) -> Evaluation:
        """Exact for every z; with so few bits that slope times z is no larger an integer than z alone could be."""
        del radius, tolerance
        bits = working_bits(ring) - GUARD_BITS - (self.line.slope.numerator.bit_length() - 1)
        return ClippedMargin(ring, scale, fraction_bits, bits, self.line)


class Hinge(HuberHinge):
    """The hinge, rounded at its corner: h = 1/4."""

    name: ClassVar[str] = "hinge"
    kind: ClassVar[str] = "hinge_svc"
    title: ClassVar[str] = "linear support vector machine (hinge, rounded within 1/4 of its corner)"
    line: ClassVar[ClippedResidual] = ClippedResidual(Fraction(5, 2), Fraction(2))
    smoothness: ClassVar[Fraction] = Fraction(2)
    clipped_residual: ClippedResidual | None = line
    clipped_title: ClassVar[str] = f"{title[:-1]}; residual {line})"
