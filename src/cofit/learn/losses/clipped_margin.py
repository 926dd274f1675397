"""Clipped margins on secrets: r(m) = clip(edge - slope m, 0, 1), exactly.

With u = edge - slope m and the bits a = [u < 0], b = [u < 1], where a <= b, r = (b - a) u + (1 - b): one product, for
a slope of few bits. Then the factor c, exact or truncated.

Where margins are still to be summed up and truncated, and the scheme clips sums (``sharing/sums.py``), all of it is one
operation: r = edge - slope clip(m, (edge - 1) / slope, edge / slope), if both ends are integers in units of m.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from cofit.arithmetic import IntegerRing
from cofit.learn.batches import in_batches
from cofit.learn.exact import ADDED
from cofit.learn.losses.clipped_residual import HALF_MARGIN, ClippedResidual
from cofit.learn.losses.loss import STEP_BITS, Evaluation, times_scale
from cofit.protocols import is_negative
from cofit.protocols.working import tighten
from cofit.secret import SecretArray, concatenate
from cofit.secret.sums import Sum


@dataclass(frozen=True)
class ClippedMargin(Evaluation):
    """By two comparisons. ``bits``: how many fractional bits it takes z with."""

    ring: IntegerRing
    scale: Fraction
    fraction_bits: int
    bits: int
    residual: ClippedResidual = field(default=HALF_MARGIN, metadata=ADDED)

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
        if self.residual == HALF_MARGIN:
            return "clipped margin by two comparisons, for any z"
        return self.residual.evaluated(self.ring)

    @property
    def temporaries(self) -> int:
        """The signals of two comparisons. Not so where the scheme clips sums: there a row holds a few elements."""
        return 28

    def __call__(self, z: SecretArray, y: SecretArray) -> SecretArray:
        """Rows that were not checked may have brought any z: the comparisons are of all of the ring."""
        sign = y * 2 - 1
        clipped = self.clipped((sign * z).with_integer_limit(z.integer_limit), unbounded=True)
        return times_scale(-(sign * clipped).with_bound(1), self.scale, self.fraction_bits)

    def clipped(self, margin: SecretArray, *, unbounded: bool = False) -> SecretArray:
        """Return r(m), exactly, with ``slope_bits`` more fractional bits; of a difference, 2 r(m) - 1.

        ``unbounded``: as in ``comparison``.
        """
        residual = self.residual
        steep = margin if residual.slope == 1 else (margin * residual.slope.numerator).ldexp(-residual.slope_bits)
        u = float(residual.edge) - steep
        below = is_negative(concatenate([u.reshape(1, -1), (u - 1).reshape(1, -1)]), unbounded=unbounded)
        a, b = below[0].reshape(u.shape), below[1].reshape(u.shape)
        bits = u.format.fraction_bits
        line = (((b - a) * u).with_bound(1) + ((1 - b) * (1 << bits)).ldexp(-bits)).with_bound(1)
        return residual.finished(line)

    def clipped_sum(self, margins: Sum, data: int) -> SecretArray:
        """Return r of margins that have a proven range, from the sum that gives them; ``data``: as in
        ``in_batches``."""
        residual, units = self.residual, 1 << margins.format.fraction_bits
        ends = [edge / residual.slope * units for edge in (residual.edge - 1, residual.edge)]
        lower, upper = map(int, ends)
        if ends != [lower, upper] or not margins.clips(lower, upper):
            return in_batches(self.clipped, [margins.value()], self.temporaries, data)
        steep = margins.clipped(lower, upper)
        if residual.slope != 1:
            steep = (steep * residual.slope.numerator).ldexp(-residual.slope_bits)
        return residual.finished((float(residual.edge) - steep).with_bound(1))

    def of_targets(self, scores: Sum, targets: SecretArray, radius: Fraction, data: int) -> SecretArray:
        """Return e of scores of at most ``radius`` and of targets, exactly but for the link, where there is one."""
        residual, taken = self.residual, self.residual.linked(scores, data)
        if taken is None:
            differences = scores.less(targets, radius + residual.largest_target)
            if differences is not None:
                return self.clipped_sum(differences, data)
            taken = scores.value()
        apart = tighten(residual.argument(taken, targets), radius + residual.largest_target)
        return in_batches(self.clipped, [apart], self.temporaries, data)

    def scaled(self, clipped: SecretArray) -> SecretArray:
        """Return c times a clipped value, exactly: with so many more fractional bits."""
        return (clipped * int(self.scale * (1 << STEP_BITS))).ldexp(-STEP_BITS)
