"""What training and the privacy claim need to know of a loss l(y, z), z = <w, x>, with y of its target.

A new generalised linear model is one file with one ``Loss``: its derivative in z, a bound of it, its smoothness, and
how the parties evaluate it on secrets. Convex in z, differentiable, and |l''| <= ``smoothness`` almost everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import IntegerRing
from cofit.errors import parameter_error
from cofit.learn.losses.clipped_residual import ClippedResidual
from cofit.learn.targets import TWO_CLASSES, Target
from cofit.secret import SecretArray

Reals = npt.NDArray[np.float64]


class Evaluation(ABC):
    """How c l'(y, z) is computed on secrets: a choice of formats and constants, and the proven error of the result."""

    @property
    @abstractmethod
    def argument_bits(self) -> int:
        """How many fractional bits it takes z with."""

    @property
    @abstractmethod
    def error(self) -> Fraction:
        """A bound of |result - c l'(y, z)| for the given z."""

    @property
    @abstractmethod
    def description(self) -> str:
        """One line for the plan."""

    @property
    @abstractmethod
    def temporaries(self) -> int:
        """How many shared elements it holds at once for every element of z, at most."""

    @abstractmethod
    def __call__(self, z: SecretArray, y: SecretArray) -> SecretArray:
        """Return c l'(y, z) for secret z (``argument_bits`` fractional bits) and secret labels of the target."""

    def of_checked(self, z: SecretArray, y: SecretArray, passed: SecretArray) -> SecretArray:
        """Return the same where ``passed`` is 1, and exactly 0 where it is 0, whatever the ring holds for z there.

        y: the labels, 0 where ``passed`` is.
        """
        return self(z, y) * passed


class Loss(ABC):
    """A convex loss.

    name: in facts, files and the API; kind: of the model, in a study. target: what it is a loss of. title: of a model
    that minimises it. clipped_residual, clipped_title: what noisy descent takes of a record in the
    place of -s l', and what a model that it trains is called; None: descent has none for this loss, and refuses it.
    minimised: whether recipe 'paper' can take it, by ``derivative_bound``, ``smoothness`` and ``evaluation``.
    sigmoidal: whether ``probabilities`` are those of the sigmoid of the margin, which parties can compute on shares.
    """

    name: ClassVar[str]
    kind: ClassVar[str]
    target: Target = TWO_CLASSES
    title: ClassVar[str]
    smoothness: ClassVar[Fraction]
    clipped_residual: ClippedResidual | None = None
    clipped_title: ClassVar[str] = ""
    sigmoidal: ClassVar[bool] = False
    minimised: ClassVar[bool] = True

    def up_to(self, largest_count: int | None) -> Loss:
        """Return the loss where counts are at most this; None, as everything begins with, is this one."""
        if largest_count is not None:
            must_be = f"left out (None) with the loss '{self.name}', which is of no counts"
            raise parameter_error("largest_count", "a plan", must_be, largest_count)
        return self

    @abstractmethod
    def derivative_bound(self, radius: Fraction | None) -> Fraction:
        """Return a bound of |l'(y, z)| over all labels and |z| <= radius (None: all z), never too small."""

    @abstractmethod
    def value(self, y: Reals, z: Reals) -> Reals:
        """Return l(y, z) in the clear, for simulations."""

    @abstractmethod
    def derivative(self, y: Reals, z: Reals) -> Reals:
        """Return l'(y, z) in the clear: what the secure evaluation must agree with."""

    def probabilities(self, margins: Reals) -> Reals | None:
        """Return the probabilities of both classes, as two columns, for these margins; None: it has none."""
        del margins
        return None

    @abstractmethod
    def evaluation(
        self, ring: IntegerRing, radius: Fraction, scale: Fraction, fraction_bits: int, tolerance: Fraction
    ) -> Evaluation:
        """Choose how to compute scale * l'(y, z) for |z| <= radius, with ``fraction_bits`` in the result.

        ``scale`` is in (0, 1] and a multiple of 2^-STEP_BITS; ``tolerance``: how far an approximation of l' itself,
        before any arithmetic, may be off.
        """


STEP_BITS = 12
"""Step sizes are chosen so that the factor c has this many fractional bits: products with it stay exact and small."""


def times_scale(value: SecretArray, scale: Fraction, fraction_bits: int) -> SecretArray:
    """Return value * scale, truncated to ``fraction_bits``: off by less than one unit. 2 rounds with ``rep3``."""
    numerator = scale * (1 << STEP_BITS)
    return (value * int(numerator)).ldexp(-STEP_BITS).truncate(fraction_bits)
