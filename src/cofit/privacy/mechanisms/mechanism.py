"""pi_DP: noise on the weights, calibrated to a sensitivity, on a public grid.

A mechanism is calibrated from public facts alone (``calibrated``) and then draws and adds noise that nobody knows.
What is published lies on the grid of multiples of 2^-grid_bits. Each mechanism proves in its file that the result is
(epsilon, delta)-differentially private for weights of the given sensitivity, up to ``sampler_distance``, the total
variation distance between the noise as sampled and the ideal noise, over all coordinates together.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import FixedPoint
from cofit.errors import ShapeError, parameter_error
from cofit.privacy.events import Event
from cofit.privacy.zcdp import total_delta
from cofit.secret import Party, SecretArray

EventMaker: TypeAlias = Callable[[str, Fraction, Fraction, int, Fraction], Event]
"""Makes an event of its name, sensitivity, scale, dimension, and the distance of its sampler."""


@dataclass(frozen=True)
class Wanted:
    """What noise is to be calibrated for: weights in a format, of Euclidean norm at most ``radius``. delta: 0 if the
    mechanism is ``pure``."""

    dimension: int
    sensitivity: Fraction
    epsilon: Fraction
    delta: Fraction
    weights: FixedPoint
    radius: Fraction


@dataclass(frozen=True)
class Mechanism(ABC):
    """A calibrated mechanism.

    ``sensitivity``: how far one record moves the weights, in the Euclidean norm, with everything that rounding adds;
    ``scale``: the noise's parameter in units of the weights (``scale_name`` says which); ``weight_bits``: the weights
    are truncated to this many fractional bits first; ``grid_bits``: those of what is published. ``truncates``: whether
    they are truncated to the grid before they get noise, so that the sensitivity counts it.
    ``title``: for people. ``law``: that of the noise, as reports know it.
    """

    dimension: int
    sensitivity: Fraction
    epsilon: Fraction
    delta: Fraction
    scale: Fraction
    weight_bits: int
    grid_bits: int
    sampler_distance: Fraction

    name: ClassVar[str]
    title: ClassVar[str]
    law: ClassVar[str]
    scale_name: ClassVar[str]
    pure: ClassVar[bool]
    truncates: ClassVar[bool] = True

    @classmethod
    @abstractmethod
    def calibrated(cls, wanted: Wanted) -> Mechanism:
        """Return the mechanism with as much noise as is wanted."""

    @classmethod
    @abstractmethod
    def event_in(cls, norm: str) -> EventMaker:
        """Return what makes a release with this noise as the accountant sees it, in steps of its grid.

        norm: that of the sensitivity, 'L1' or 'L2'.
        """

    @classmethod
    @abstractmethod
    def deviation(cls, dimension: int) -> float:
        """Return the standard deviation of one coordinate of noise of scale 1."""

    @classmethod
    def squared_epsilon(cls, sensitivity: Fraction, scale: Fraction, dimension: int) -> Fraction:
        """Return the square of the epsilon of ``pure`` noise, for this Euclidean sensitivity."""
        del dimension
        return (sensitivity / scale) ** 2

    @property
    @abstractmethod
    def expected_norm(self) -> float:
        """The expected Euclidean norm of the noise (its root mean square where no closed form is known)."""

    @property
    @abstractmethod
    def distribution(self) -> str:
        """One sentence on the noise."""

    @property
    def total_delta(self) -> Fraction:
        """The delta of the guarantee, with the sampler's distance."""
        return total_delta(self.delta, self.sampler_distance, self.epsilon)

    @property
    def rule(self) -> str:
        """The rule of the accountant that proves the guarantee."""
        return "pure"

    def perturb(self, party: Party, weights: SecretArray) -> SecretArray:
        """Return the weights plus fresh noise, with ``grid_bits`` fractional bits: what may be opened, once."""
        if weights.shape != (self.dimension,):
            must_be = f"of shape ({self.dimension},): one release"
            raise parameter_error("weights", "perturb", must_be, f"shape {weights.shape}", ShapeError)
        return self._noisy(party, weights, 1)

    def perturb_each(self, party: Party, rows: SecretArray) -> SecretArray:
        """Return rows of weights, shape (k, d), each with noise of its own: k releases, of ``epsilon`` each.

        For data that are no secret: experiments and tests.
        """
        if rows.ndim != 2 or rows.shape[1] != self.dimension:
            must_be = f"of shape (k, {self.dimension})"
            raise parameter_error("rows", "perturb_each", must_be, f"shape {rows.shape}", ShapeError)
        return self._noisy(party, rows, rows.shape[0])

    @abstractmethod
    def in_the_clear(self, draws: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        """Return so many draws of the noise, one in a row, in floating point: for simulations, never for releases."""

    @abstractmethod
    def _noisy(self, party: Party, weights: SecretArray, count: int) -> SecretArray:
        """Return the weights of ``count`` releases, each plus fresh noise."""


def rounded_up(value: Fraction, significant_bits: int = 24) -> Fraction:
    """Return a number a little above ``value`` with few bits: more noise, never less."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length() - significant_bits
    unit = Fraction(2) ** exponent
    return -(-value // unit) * unit


def square_root_up(value: Fraction) -> Fraction:
    """Return a number that is at least sqrt(value), and within one part in 2^40 of it."""
    shift = 96
    return Fraction(math.isqrt(value.numerator * (1 << (2 * shift)) // value.denominator) + 1, 1 << shift)
