"""Continuous noise in floating point, from a seeded generator: what the sources of the baselines describe.

Not for releases of real records: the digits of floating-point noise can give data away (Mironov 2012). The mechanisms
that run inside the computation, on a public grid, are in ``cofit.privacy.mechanisms``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from cofit.baselines.method import Reals
from cofit.errors import parameter_error

MECHANISMS = ("knorm", "gaussian")
_SLACK = 1 + 1e-7  # of the bisection and of floating point, also at a tiny epsilon: more noise, never less


class Noise(ABC):
    """Noise vectors of a fixed scale."""

    @abstractmethod
    def sample(self, count: int, dimension: int, rng: np.random.Generator, unseen: int = 0) -> Reals:
        """Return ``count`` independent noise vectors, one in a row: of ``dimension + unseen`` coordinates the first."""


@dataclass(frozen=True)
class KNormNoise(Noise):
    """Density proportional to exp(-||eta|| / beta): a uniform direction times a Gamma(dimension, beta) length.

    A uniform direction is a normal vector over its length; of unseen coordinates only the squared length is drawn.
    """

    beta: float

    def sample(self, count: int, dimension: int, rng: np.random.Generator, unseen: int = 0) -> Reals:
        noise = rng.standard_normal((count, dimension))
        squares = np.einsum("ij,ij->i", noise, noise) + (rng.chisquare(unseen, count) if unseen else 0.0)
        noise *= (rng.gamma(dimension + unseen, self.beta, count) / np.sqrt(squares))[:, None]
        return noise


@dataclass(frozen=True)
class GaussianNoise(Noise):
    """Independent normal coordinates of standard deviation sigma."""

    sigma: float

    def sample(self, count: int, dimension: int, rng: np.random.Generator, unseen: int = 0) -> Reals:
        noise = rng.standard_normal((count, dimension))
        noise *= self.sigma
        return noise


@dataclass(frozen=True)
class LaplaceNoise(Noise):
    """Independent Laplace coordinates: density proportional to exp(-||eta||_1 / scale), in the 1-norm."""

    scale: float

    def sample(self, count: int, dimension: int, rng: np.random.Generator, unseen: int = 0) -> Reals:
        return rng.laplace(0.0, self.scale, (count, dimension))  # independent: unseen ones change nothing


def calibrated(mechanism: str, sensitivity: float, epsilon: float, delta: float) -> Noise:
    """Return noise that makes vectors of this Euclidean sensitivity (epsilon, delta)-differentially private.

    ``knorm``: beta = sensitivity / epsilon, pure (triangle inequality). ``gaussian``: the smallest sigma that there is
    (Balle and Wang 2018, theorem 8).
    """
    if mechanism == "knorm":
        return KNormNoise(sensitivity / epsilon)
    return GaussianNoise(sensitivity * gaussian_sigma(epsilon, delta))


def gaussian_sigma(epsilon: float, delta: float) -> float:
    """Return the smallest sigma at which normal noise makes sensitivity 1 (epsilon, delta)-private, rounded up.

    Balle and Wang (2018), theorem 8: exactly when gaussian_delta(sigma, epsilon) <= delta, which falls in sigma.
    """
    low, high = 1.0, 1.0
    while gaussian_delta(high, epsilon) > delta:
        high *= 2
    while gaussian_delta(low, epsilon) <= delta:
        low /= 2
    while high > low * (1 + 1e-12):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if gaussian_delta(middle, epsilon) > delta else (low, middle)
    return high * _SLACK


def gaussian_delta(sigma: float, epsilon: float) -> float:
    """Return Phi(1 / (2 sigma) - epsilon sigma) - e^epsilon Phi(-1 / (2 sigma) - epsilon sigma)."""
    first = float(log_ndtr(1 / (2 * sigma) - epsilon * sigma))
    second = epsilon + float(log_ndtr(-1 / (2 * sigma) - epsilon * sigma))
    return math.exp(first) * -math.expm1(second - first) if second < first else 0.0


def check_budget(owner: str, mechanism: str, epsilon: float, delta: float) -> None:
    """Refuse a mechanism that is not there, and an epsilon and a delta that do not go with it."""
    if mechanism not in MECHANISMS:
        raise parameter_error("mechanism", owner, f"one of {list(MECHANISMS)}", mechanism)
    check_positive(owner, "epsilon", epsilon)
    if mechanism == "knorm" and delta != 0:
        raise parameter_error("delta", owner, "0 with mechanism 'knorm', which needs none", delta)
    if mechanism == "gaussian" and not 0 < delta < 1:
        raise parameter_error("delta", owner, "above 0 and below 1 with mechanism 'gaussian' (such as 1e-5)", delta)


def check_positive(owner: str, parameter: str, value: float) -> None:
    """Refuse a number that is not positive and finite."""
    if not 0 < value < math.inf:
        raise parameter_error(parameter, owner, "a positive number", value)
