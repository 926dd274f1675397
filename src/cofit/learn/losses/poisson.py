"""The Poisson loss of a count y, of a score s that stands for the rate exp(z), z = middle + half s (``targets/count``):

    l(y, s) = exp(z) - y z + constant

half the deviance, but for what does not depend on s. Its derivative half (exp(z) - y) is bounded by nothing that a
record is worth, so noisy descent takes the clipped residual (``clipped_count``), and recipe 'paper' is refused: a proof
of its noise, and of its error with an exponential in every epoch, is not there.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, NoReturn

import numpy as np

from cofit.arithmetic import IntegerRing
from cofit.errors import parameter_error
from cofit.learn.losses.clipped_count import ClippedCount
from cofit.learn.losses.loss import Evaluation, Loss, Reals
from cofit.learn.targets import MOST_COUNT, Count


class Poisson(Loss):
    """Of counts up to ``largest``; made without one, it stands for all of them, and is trained with none."""

    name: ClassVar[str] = "poisson"
    kind: ClassVar[str] = "poisson_regression"
    title: ClassVar[str] = "Poisson regression"
    smoothness: ClassVar[Fraction] = Fraction(0)
    clipped_title: ClassVar[str] = "Poisson regression (residuals clipped)"
    minimised: ClassVar[bool] = False

    def __init__(self, largest: int = 1) -> None:
        self.largest = largest
        self.target = Count(largest)
        self.clipped_residual = ClippedCount(largest=largest)

    def up_to(self, largest_count: int | None) -> Loss:
        if largest_count is None:
            return self
        whole = isinstance(largest_count, int) and not isinstance(largest_count, bool)
        if not whole or not 1 <= largest_count <= MOST_COUNT:
            must_be = f"a whole number from 1 to {MOST_COUNT} with the loss '{self.name}', agreed on beforehand"
            raise parameter_error("largest_count", "a plan", must_be, largest_count)
        return Poisson(largest_count)

    def value(self, y: Reals, z: Reals) -> Reals:
        """y: scaled from 0 to largest to [-1, 1]. In units of the largest count."""
        counts, predictor, _ = self._of(y, z)
        return np.asarray((np.exp(predictor) - counts * predictor) / self.largest)

    def derivative(self, y: Reals, z: Reals) -> Reals:
        counts, predictor, half = self._of(y, z)
        return np.asarray(half * (np.exp(predictor) - counts) / self.largest)

    def _of(self, y: Reals, z: Reals) -> tuple[Reals, Reals, float]:
        middle, half = self.target.predictor((0.0, float(self.largest)))
        return (np.asarray(y) + 1) / 2 * self.largest, middle + half * np.asarray(z), half

    def derivative_bound(self, radius: Fraction | None) -> Fraction:
        del radius
        self._refuse()

    def evaluation(
        self, ring: IntegerRing, radius: Fraction, scale: Fraction, fraction_bits: int, tolerance: Fraction
    ) -> Evaluation:
        del ring, radius, scale, fraction_bits, tolerance
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise parameter_error(
            "loss", "a plan", "another one than 'poisson' with recipe 'paper' or delta = 0", self.name
        )
