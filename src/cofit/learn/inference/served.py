"""What the parties need to know of a training run to score rows with what it drew: public facts alone.

A score is <w, z> + b for a prepared row z of length at most 1, with w and b from the drawn numbers:

    w = unit * drawn[: columns * outputs]                       a row of the matrix for every column
    b = constant * (the weights of one more column) + offset    of the intercept; offset: where it was calibrated
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import FixedPoint
from cofit.secret import Party, SecretArray
from cofit.sharing import meter_of, scheme_named

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Served:
    """columns: of a prepared row. drawn: the format of what a run draws. unit: what one of it is of a weight. largest:
    the weights of all columns and outputs, as one vector, are not longer. offset_bits: the fractional bits of the
    calibrated offset, or None; offset: its bound. margins: how many scores make the margin that the loss speaks of.
    """

    columns: int
    outputs: int
    drawn: FixedPoint
    unit: Fraction
    largest: Fraction
    constant: Fraction = Fraction(0)
    offset_bits: int | None = None
    offset: Fraction = Fraction(0)
    margins: int = 1

    @property
    def weights(self) -> int:
        """How many drawn numbers are weights."""
        return (self.columns + int(bool(self.constant))) * self.outputs

    @property
    def count(self) -> int:
        """How many drawn numbers are part of scores."""
        return self.weights + (0 if self.offset_bits is None else self.outputs)

    @property
    def integer_limit(self) -> int:
        """What no drawn weight exceeds in magnitude, in units of the last place."""
        most = self.largest / self.unit * (1 << self.drawn.fraction_bits)
        return -(-most.numerator // most.denominator)

    @property
    def largest_intercept(self) -> Fraction:
        """What the intercept adds to a score, at most."""
        return self.constant * self.largest + self.offset


@dataclass(frozen=True)
class PublicWeights:
    """Of a published model: weights, a column for every output, and what is added to the scores."""

    weights: Reals
    intercepts: Reals


def largest_value(
    count: int, format: FixedPoint, limit: int, function: Callable[[Party, SecretArray], SecretArray]
) -> Fraction:
    """Return the bound that a function of ``count`` secrets within ``limit`` proves for its result.

    It is run without values: bounds follow from public facts, and no scheme changes them.
    """
    party = Party(meter_of(scheme_named("clear")), {})
    found = function(party, party.constant(np.zeros(count), format).loosened(limit))
    return Fraction(found.integer_limit, 1 << found.format.fraction_bits)
