"""The clipped residual of a loss: what noisy descent takes of a record, whatever the loss is.

    r(m) = clip(edge - slope m, 0, 1),    m = s <w, z>: half a margin

r does not increase with m, so that a step along it goes down a convex loss, the integral of -r. And 0 <= r <= 1 for
every m, which alone is what the privacy of a step rests on (``recipes/descent/proof.md``, point 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import IntegerRing
from cofit.errors import parameter_error
from cofit.learn.targets.two_classes import TWO_CLASSES
from cofit.secret import SecretArray
from cofit.secret.sums import Sum

Reals = npt.NDArray[np.float64]
MOST_BITS = 8


@dataclass(frozen=True)
class ClippedResidual:
    """edge, slope: positive multiples of 2^-8, so that the parties compute r exactly, with few more bits.

    The default has r = 1 up to m = 1/2, and 0 from 3/2 on. ``str`` gives the formula.
    """

    edge: Fraction = Fraction(3, 2)
    slope: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        for name in ("edge", "slope"):
            value = getattr(self, name)
            if not isinstance(value, Fraction) or value <= 0 or (value * (1 << MOST_BITS)).denominator != 1:
                must_be = f"a Fraction above 0 that is a multiple of 2^-{MOST_BITS}"
                raise parameter_error(name, "ClippedResidual", must_be, value)

    @property
    def slope_bits(self) -> int:
        """How many more fractional bits r has than m."""
        return self.slope.denominator.bit_length() - 1

    def __str__(self) -> str:
        return f"clip({self.edge} - {'' if self.slope == 1 else f'{self.slope} '}m, 0, 1)"

    def __call__(self, margins: Reals) -> Reals:
        """Return r in the clear."""
        return np.asarray(np.clip(float(self.edge) - float(self.slope) * margins, 0, 1))

    # --- what a step takes of a record: s e(m), of its label and its score; another kind of target has others ---------

    @property
    def clip(self) -> Fraction | None:
        """Where the difference of target and score is clipped; None: it is a margin that is."""
        return None

    @property
    def largest_target(self) -> Fraction:
        """What ``argument`` takes from a score at most."""
        return Fraction(0)

    def evaluated(self, ring: IntegerRing) -> str:
        """Return how the parties compute e in this ring, in one line."""
        del ring
        return f"clip({self.edge} - {self.slope} z, 0, 1) by two comparisons, for any z"

    @property
    def meaning(self) -> str:
        """What ``str`` is of, for people."""
        return "what a record with the score m on its side counts"

    def prepared(self, labels: SecretArray, passed: SecretArray) -> tuple[SecretArray, SecretArray | None]:
        """Return s, integers of -1, 0 and 1 that rows are multiplied by, and what ``argument`` takes from scores.

        passed: the verdicts of the check; both are 0 where they are.
        """
        return (passed * TWO_CLASSES.signs(labels)).with_integer_limit(1), None

    def linked(self, scores: Sum, data: int) -> SecretArray | None:
        """Return what scores stand for, of which targets are subtracted; None: the scores themselves. The scores have a
        proven range. data: as in ``in_batches``."""
        del scores, data
        return None

    def argument(self, scores: SecretArray, targets: SecretArray | None) -> SecretArray:
        """Return what is clipped, of the score of a row times s."""
        del targets
        return scores

    def finished(self, clipped: SecretArray) -> SecretArray:
        """Return e, at most 1 in magnitude, from the clipped line r."""
        return clipped

    def signed(self, labels: npt.NDArray[Any], scores: Reals) -> Reals:
        """Return s e in the clear. labels: one in a row, as a column where scores have several."""
        signs = 2.0 * np.asarray(labels, dtype=np.float64) - 1
        return np.asarray(signs * self(signs * scores))


HALF_MARGIN = ClippedResidual()
