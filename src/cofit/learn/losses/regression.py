"""Losses of a real target, a number y from -1 to 1 in units of half of its public range.

Huber: H(u) = u^2 / (2 c) for |u| <= c and |u| - c / 2 beyond, u = z - y. H' = clip(u / c, -1, 1), so |H'| <= 1 and
H'' <= 1 / c: the paper's method takes it with every penalty, and noisy descent takes the same residual.

``huber`` has c = 1/8. ``clipped_squares`` has c = 1/4, an eighth of the target's range: least squares for every record
that is predicted that well. (The derivative of u^2 itself grows with z without bound, and with it what one record could
do.) Why these c: docs/explanation/regression.md.

Secure evaluation: that of ``clipped_margin``, which is exact; then the factor and a truncation.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from cofit.arithmetic import IntegerRing
from cofit.learn.losses.clipped_difference import ClippedDifference, clipped_at
from cofit.learn.losses.clipped_margin import ClippedMargin
from cofit.learn.losses.clipped_residual import ClippedResidual
from cofit.learn.losses.loss import Evaluation, Loss, Reals, times_scale
from cofit.learn.targets import NUMBER, Target
from cofit.protocols.working import GUARD_BITS, working_bits
from cofit.secret import SecretArray


@dataclass(frozen=True)
class Difference(ClippedMargin):
    """c e(y, z) with the sign of a derivative, by two comparisons."""

    @property
    def description(self) -> str:
        """One line."""
        return f"{self.residual} by two comparisons, for any z"

    def __call__(self, z: SecretArray, y: SecretArray) -> SecretArray:
        """Rows that were not checked may have brought any z and y: the comparisons are of all of the ring."""
        clipped = self.clipped(self.residual.argument(z, y), unbounded=True)
        return times_scale(-clipped, self.scale, self.fraction_bits)


class Huber(Loss):
    """The Huber loss, of differences up to a sixteenth of the target's range quadratic. line: -l'."""

    name: ClassVar[str] = "huber"
    kind: ClassVar[str] = "huber_regression"
    target: Target = NUMBER
    title: ClassVar[str] = "linear regression (Huber loss)"
    line: ClassVar[ClippedDifference] = clipped_at(Fraction(1, 8))
    smoothness: ClassVar[Fraction] = 2 * line.slope
    clipped_residual: ClippedResidual | None = line
    clipped_title: ClassVar[str] = title

    def derivative_bound(self, radius: Fraction | None) -> Fraction:
        """1: it is clipped."""
        del radius
        return Fraction(1)

    def value(self, y: Reals, z: Reals) -> Reals:
        clip = float(self.line.clip)
        apart = np.abs(z - y)
        return np.asarray(np.where(apart <= clip, np.square(apart) / (2 * clip), apart - clip / 2))

    def derivative(self, y: Reals, z: Reals) -> Reals:
        return -self.line.signed(y, z)

    def evaluation(
        self, ring: IntegerRing, radius: Fraction, scale: Fraction, fraction_bits: int, tolerance: Fraction
    ) -> Evaluation:
        """Exact for every z; with so few bits that slope times z - y is no larger an integer than z alone could be."""
        del radius, tolerance
        bits = working_bits(ring) - GUARD_BITS - self.line.slope.numerator.bit_length()
        return Difference(ring, scale, fraction_bits, bits, self.line)


class ClippedSquares(Huber):
    """Least squares, but for residuals beyond an eighth of the target's range: Huber's loss with c = 1/4."""

    name: ClassVar[str] = "clipped_squares"
    kind: ClassVar[str] = "linear_regression"
    title: ClassVar[str] = "linear regression (least squares, residuals clipped at an eighth of the target's range)"
    line: ClassVar[ClippedDifference] = clipped_at(Fraction(1, 4))
    smoothness: ClassVar[Fraction] = 2 * line.slope
    clipped_residual: ClippedResidual | None = line
    clipped_title: ClassVar[str] = title
