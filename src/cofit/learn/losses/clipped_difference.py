"""The clipped residual of a real target: what noisy descent takes of a record whose target is a number.

    e(y, z) = clip((y - z) / c, -1, 1) = 2 r(z - y) - 1,    r(m) = clip(1/2 - m / (2 c), 0, 1)

with the target y in [-1, 1] and the score z = <w, x>, both in units of half of the target's public range. It is minus
the derivative of the Huber loss H(z - y), H(u) = u^2 / (2 c) for |u| <= c and |u| - c / 2 beyond: a step along it goes
down a convex function, and |e| <= 1 for every y and z, which alone is what the privacy of a step rests on
(``recipes/descent/proof.md``, point 5). Up to c it is the residual of least squares.

The clipped line r is that of margins, so the parties compute e by the same two comparisons, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.learn.losses.clipped_residual import ClippedResidual, Reals
from cofit.protocols.working import tighten
from cofit.secret import SecretArray


@dataclass(frozen=True)
class ClippedDifference(ClippedResidual):
    """edge: 1/2. slope: 1 / (2 c)."""

    edge: Fraction = Fraction(1, 2)

    def __str__(self) -> str:
        times = "" if self.clip == 1 else f"{1 / self.clip} "
        return f"clip({times}(y - z), -1, 1)"

    @property
    def clip(self) -> Fraction:
        """c."""
        return 1 / (2 * self.slope)

    @property
    def largest_target(self) -> Fraction:
        """That of a number from -1 to 1."""
        return Fraction(1)

    @property
    def meaning(self) -> str:
        return "what a record counts; y, z: its target and its score, in units of half of the target's range"

    def prepared(self, labels: SecretArray, passed: SecretArray) -> tuple[SecretArray, SecretArray | None]:
        """The verdicts, and the targets times them: those of a record that failed are 0, whatever its owner put in."""
        return passed, tighten(labels * passed, self.largest_target)

    def argument(self, scores: SecretArray, targets: SecretArray | None) -> SecretArray:
        """z - y."""
        if targets is None:
            raise ValueError("A difference needs targets.")
        return scores - targets.widen(scores.format.fraction_bits)

    def finished(self, clipped: SecretArray) -> SecretArray:
        """2 r - 1."""
        return tighten(clipped * 2 - 1, Fraction(1))

    def signed(self, labels: npt.NDArray[Any], scores: Reals) -> Reals:
        return np.asarray(2 * self(scores - np.asarray(labels, dtype=np.float64)) - 1)


def clipped_at(clip: Fraction) -> ClippedDifference:
    """Return the residual that is clipped at this difference: 1 / (2 c) must be a multiple of 2^-8."""
    return ClippedDifference(slope=1 / (2 * clip))
