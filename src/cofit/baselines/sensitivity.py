"""How far one replaced record moves the weights that an owner, or a curator, trains on so many rows.

The minimiser moves by 2 G / (n Lambda) at most (``cofit.privacy.objective``), and every computed minimiser is within
``tolerance`` of the exact one, so that computed ones move by 2 G / (n Lambda) + 2 tolerance at most. The tolerance is
public, a millionth of the first term; the distance that was really reached depends on the data, and scales no noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from cofit.baselines.method import Part, Reals
from cofit.baselines.minimiser import minimise
from cofit.baselines.noise import check_positive
from cofit.errors import InvalidInputError, parameter_error
from cofit.learn.losses.logistic import Logistic
from cofit.privacy.objective import SENSITIVITIES, gradient_bound

_RELATIVE_TOLERANCE = 1e-6
_LENGTH_SLACK = 1e-8  # a part's rows may be longer than 1 by 1e-9, from rounding


@dataclass(frozen=True)
class Local:
    """What is public of a training on ``rows`` rows with the penalty (l2 / 2) ||w||^2 on the mean loss."""

    rows: int
    l2: float
    gradient: float

    @property
    def exact(self) -> float:
        """2 G / (n Lambda), for exact minimisers."""
        return 2 * self.gradient / (self.rows * self.l2)

    @property
    def tolerance(self) -> float:
        """How far from the exact minimiser the computed one may be."""
        return self.exact * _RELATIVE_TOLERANCE / 2

    @property
    def sensitivity(self) -> float:
        """How far one replaced record moves the computed minimiser at most."""
        return self.exact * (1 + _LENGTH_SLACK) + 2 * self.tolerance

    def weights(self, part: Part) -> Reals:
        """Train: the minimiser on these rows, within the tolerance."""
        return minimise(part, self.l2, tolerance=self.tolerance).weights


def local(rows: int, l2: float, sensitivity: str) -> Local:
    """Return the facts of a training; ``sensitivity``: ``paper`` for G = 1, ``tight`` for the smallest known G."""
    return Local(rows, l2, gradient_constant(l2, sensitivity))


@cache
def gradient_constant(l2: float, sensitivity: str) -> float:
    """Return G, the bound of |sigmoid(z) - y| at every minimiser, rounded up."""
    bound = gradient_bound(Logistic().derivative_bound, Fraction(l2), sensitivity)
    return min(1.0, float(bound) * (1 + 2**-50))


def check_objective(owner: str, l2: float, sensitivity: str) -> None:
    """Refuse a penalty that is not positive, and a sensitivity that has no proof."""
    check_positive(owner, "l2", l2)
    if sensitivity not in SENSITIVITIES:
        raise parameter_error("sensitivity", owner, f"one of {list(SENSITIVITIES)}", sensitivity)


def checked_sizes(sizes: Sequence[int]) -> Sequence[int]:
    """Refuse what cannot be the owners' numbers of rows."""
    if not sizes or min(sizes) < 1:
        raise InvalidInputError(f"Every owner must hold at least one row. Got {list(sizes)} instead.")
    return sizes
