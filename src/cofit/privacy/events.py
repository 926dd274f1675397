"""Releases as an accountant sees them: public numbers only, exact, and frozen.

An event says: some function of the data, which may depend on everything released before, has at most this sensitivity
(one record replaced), whatever was released before; noise of this law was added; what the sampler draws is within
``sampler_distance`` of that law in total variation, over all coordinates together.

What an event can say about itself, each for the ideal noise:

- ``epsilon``: it is epsilon-DP (pure); None where it is not;
- ``mu_squared``: it is mu-GDP up to ``rounding_distance`` (``gaussian_dp.py``); None where that is not proven;
- ``rho``: it is rho-zCDP (``zcdp.py``): every event is.

**Units.** For discrete noise, Gaussian or Laplace, the function's values lie on the grid of the noise: discrete noise
on values off its grid may hide nothing. For the two Gaussians, sensitivity and scale are counted in steps of that grid,
after rounding to it; a sensitivity below one step is refused, because integers that differ do so by a step. For the
others both have any unit, the same one.

**Norms.** ``LaplaceEvent`` takes its sensitivity in the 1-norm; ``laplace_event`` takes one in the Euclidean norm.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from cofit.errors import parameter_error
from cofit.privacy.gaussian_dp import LEAST_SIGMA, mu_of_pure, rounded_distance, rounded_variance
from cofit.privacy.safe_rounding import EXACT_BITS, root_up, significant_up
from cofit.privacy.zcdp import LARGEST_EPSILON
from cofit.sampling.discrete_gaussian import tv_distance
from cofit.sampling.parameters import PRECISION, check_count

_DISTANCE_BITS = 24


@dataclass(frozen=True)
class Event(ABC):
    """One release. ``norm`` says in which norm the sensitivity is."""

    name: str
    sensitivity: Fraction
    scale: Fraction
    dimension: int
    sampler_distance: Fraction

    @property
    @abstractmethod
    def kind(self) -> str:
        """The name of the noise."""

    @property
    @abstractmethod
    def norm(self) -> str:
        """The norm of the sensitivity."""

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if not isinstance(self.name, str) or not self.name.strip():
            raise parameter_error("name", owner, "a text that is not blank", self.name)
        for field in ("sensitivity", "scale"):
            value = getattr(self, field)
            if not isinstance(value, Fraction) or value <= 0:
                raise parameter_error(field, owner, "a positive Fraction", value)
        if isinstance(self.dimension, bool) or not isinstance(self.dimension, int) or self.dimension < 1:
            raise parameter_error("dimension", owner, "a positive integer", self.dimension)
        if not isinstance(self.sampler_distance, Fraction) or not 0 <= self.sampler_distance <= 1:
            raise parameter_error("sampler_distance", owner, "a Fraction from 0 to 1", self.sampler_distance)

    @property
    def epsilon(self) -> Fraction | None:
        """The event is epsilon-DP, or None."""
        return None

    @property
    @abstractmethod
    def mu_squared(self) -> Fraction | None:
        """The event is mu-GDP, up to ``rounding_distance``, or None. Rounded up."""

    @property
    @abstractmethod
    def rho(self) -> Fraction:
        """The event is rho-zCDP. Rounded up."""

    @property
    def rounding_distance(self) -> Fraction:
        """The total variation between the noise and the one that ``mu_squared`` is about, over all coordinates."""
        return Fraction(0)


@dataclass(frozen=True)
class DiscreteGaussianEvent(Event):
    """Discrete Gaussian noise of any parameter sigma = ``scale``, for integers: zCDP and nothing more."""

    kind: ClassVar[str] = "discrete gaussian"
    norm: ClassVar[str] = "L2"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sensitivity < 1:
            must_be = "at least 1 step of the grid: count in steps, after rounding to the grid"
            raise parameter_error("sensitivity", type(self).__name__, must_be, self.sensitivity)

    @property
    def mu_squared(self) -> Fraction | None:
        return None

    @property
    def rho(self) -> Fraction:
        return significant_up((self.sensitivity / self.scale) ** 2 / 2, EXACT_BITS)


@dataclass(frozen=True)
class GaussianEvent(DiscreteGaussianEvent):
    """The same noise with sigma = ``scale`` of 2 steps and more, so wide that it also is rounded Gaussian noise."""

    kind: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale < LEAST_SIGMA:
            must_be = f"at least {LEAST_SIGMA} steps of the grid (DiscreteGaussianEvent has no limit)"
            raise parameter_error("scale", type(self).__name__, must_be, self.scale)

    @property
    def mu_squared(self) -> Fraction:
        return significant_up(self.sensitivity**2 / rounded_variance(self.scale), EXACT_BITS)

    @property
    def rounding_distance(self) -> Fraction:
        return min(Fraction(1), self.dimension * rounded_distance(self.scale))


def gaussian_event(
    name: str, sensitivity: Fraction, sigma: Fraction, dimension: int, sampler_distance: Fraction
) -> DiscreteGaussianEvent:
    """Return the event of discrete Gaussian noise, in steps of the grid, that says the most that is proven of it."""
    kind = GaussianEvent if sigma >= LEAST_SIGMA else DiscreteGaussianEvent
    return kind(name, sensitivity, sigma, dimension, sampler_distance)


def sampled_gaussian_event(
    name: str, sensitivity: Fraction, sigma: Fraction, dimension: int, *, precision: int = PRECISION
) -> DiscreteGaussianEvent:
    """Return the event of ``dimension`` draws of ``discrete_gaussian(sigma, precision)``: with their distance."""
    distance = min(Fraction(1), significant_up(tv_distance(sigma, dimension, precision=precision), _DISTANCE_BITS))
    return gaussian_event(name, sensitivity, sigma, dimension, distance)


@dataclass(frozen=True)
class PureEvent(Event):
    """Noise whose log density changes by at most ||shift|| / ``scale``: sensitivity / scale-DP."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon > LARGEST_EPSILON:
            must_be = f"at least sensitivity / {LARGEST_EPSILON}: beyond it nothing is private"
            raise parameter_error("scale", type(self).__name__, must_be, self.scale)

    @property
    def epsilon(self) -> Fraction:
        return self.sensitivity / self.scale

    @property
    def mu_squared(self) -> Fraction:
        return mu_of_pure(self.epsilon) ** 2

    @property
    def rho(self) -> Fraction:
        return significant_up(self.epsilon**2 / 2, EXACT_BITS)


@dataclass(frozen=True)
class KNormEvent(PureEvent):
    """Noise of density proportional to exp(-||eta|| / beta), beta = ``scale``, in the Euclidean norm."""

    kind: ClassVar[str] = "knorm"
    norm: ClassVar[str] = "L2"


@dataclass(frozen=True)
class LaplaceEvent(PureEvent):
    """Independent (discrete) Laplace noise of this scale: the sensitivity is in the sum of absolute values."""

    kind: ClassVar[str] = "laplace"
    norm: ClassVar[str] = "L1"


def laplace_event(
    name: str, l2_sensitivity: Fraction, scale: Fraction, dimension: int, sampler_distance: Fraction
) -> LaplaceEvent:
    """Return the event of Laplace noise for a sensitivity in the Euclidean norm: sqrt(d) times that in the 1-norm."""
    root = root_up(Fraction(check_count(dimension, "dimension", "laplace_event")), EXACT_BITS)
    return LaplaceEvent(name, l2_sensitivity * root, scale, dimension, sampler_distance)
