"""What is predicted: how owners encode it, what the parties may rely on, and how they check it on secrets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import FixedPoint, IntegerRing, Shape
from cofit.errors import parameter_error
from cofit.secret import InputFacts, SecretArray

Reals = npt.NDArray[np.float64]
Range = tuple[float, float]


class Target(ABC):
    """The target of every record, as shared numbers of at most ``bound`` with ``fraction_bits`` fractional bits.

    A plan's guarantee rests on the bound, so it is checked twice: by the owner's software (``encoded``), and on shares,
    because nobody has to trust an owner (``not_negative``).
    """

    name: ClassVar[str]
    fraction_bits: ClassVar[int]
    bound: ClassVar[float]
    ranged: ClassVar[bool] = False  # whether it is a number with a public range, and no class
    counted: ClassVar[bool] = False  # whether it is a count, whose largest one is a fact of a plan
    agreed: ClassVar[str] = "classes"  # what owners agree on of it
    chance: ClassVar[str] = "always naming one class"  # what needs no model
    measure: ClassVar[str] = "accuracy"  # how good predictions are

    @property
    def outputs(self) -> int:
        """How many columns of weights, and scores a record, a model of it has."""
        return 1

    def among(self, classes: int) -> Target:
        """Return the target where there are so many classes; 2, as everything begins with, is this one."""
        if classes != 2:
            raise parameter_error("classes", "a plan", f"2: there is no other number of them with {self.name}", classes)
        return self

    def shape(self, rows: int) -> Shape:
        """Return the shape of so many records' targets: one number each."""
        return (rows,)

    def format(self, ring: IntegerRing) -> FixedPoint:
        """Return the format in which they are shared."""
        return FixedPoint(self.fraction_bits, ring)

    def facts(self, rows: int, ring: IntegerRing) -> InputFacts:
        """Return what is public of an owner's targets."""
        return InputFacts(self.shape(rows), self.format(ring), self.bound)

    @abstractmethod
    def encoded(self, labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return an owner's targets as they are shared, or raise InvalidInputError. Runs at the owner."""

    @abstractmethod
    def not_negative(self, labels: SecretArray) -> tuple[SecretArray, ...]:
        """Return what is not negative exactly if a target keeps to the rules; labels: integers, any of the ring."""

    # --- of a target that is a number with a public range (``ranged``) --------------------------------------------

    def refused_range(self, lower: float, upper: float) -> str | None:
        """Return what the range must be, where this one is none of such a target; None: it is."""
        raise self._no_number()

    def not_whole(self, values: Reals) -> npt.NDArray[np.bool_]:
        """Return which values, in the target's own units, are no whole numbers and should be."""
        raise self._no_number()

    def predictor(self, target_range: Range) -> tuple[float, float]:
        """Return (middle, half): a score s stands for the linear predictor middle + half s."""
        raise self._no_number()

    def predicted(self, scores: Reals, target_range: Range) -> Reals:
        """Return what is predicted for these scores, in the target's own units and within its range."""
        raise self._no_number()

    def error_of(self, score_error: float, target_range: Range) -> float:
        """Return how far a prediction is off at most, in the target's own units, where its score is off by so much."""
        raise self._no_number()

    def explained(self, truth: Reals, predicted: Reals) -> Reals:
        """Return the ``measure`` of predictions, one draw in each column, all in the target's own units."""
        raise self._no_number()

    def _no_number(self) -> ValueError:
        return ValueError(f"The target is {self.name}, and no number with a range.")
