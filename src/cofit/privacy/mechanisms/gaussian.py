"""Independent discrete Gaussian noise on the grid: P(k) proportional to exp(-k^2 / (2 s^2)) for the noise k 2^-g.

Weights live on the same grid (they are truncated to it first, which the sensitivity counts). (epsilon, delta) by the
accountant (``accountant.py``). Where the grid is fine beside the noise, as it nearly always is, the noise is as good as
rounded Gaussian noise and no Gaussian noise can do with less, a thousandth of delta and 30 bits aside: see
``gaussian_dp.py``. Elsewhere sigma follows from zero-concentrated differential privacy: see ``zcdp.py``. A thousandth
of delta is kept for the distances of the sampler and from rounded noise; the sampler works with as many bits as that
takes. So the whole guarantee is (epsilon, delta), nothing added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import FixedPoint, reals
from cofit.errors import parameter_error
from cofit.privacy.accountant import KEPT, at_epsilon, sigma_for, split
from cofit.privacy.events import gaussian_event, sampled_gaussian_event
from cofit.privacy.mechanisms.grid import grid_for
from cofit.privacy.mechanisms.mechanism import EventMaker, Mechanism, Wanted
from cofit.privacy.safe_rounding import SIGMA_BITS, root_up
from cofit.privacy.zcdp import gaussian_sigma
from cofit.sampling.discrete_gaussian import discrete_gaussian
from cofit.secret import Party, SecretArray

_PRECISIONS = (64, 96, 128, 192, 256)


@dataclass(frozen=True)
class Gaussian(Mechanism):
    """Independent discrete Gaussian noise in every coordinate. ``precision``: the bits of the sampler."""

    precision: int

    name: ClassVar[str] = "gaussian"
    scale_name: ClassVar[str] = "sigma"
    pure: ClassVar[bool] = False
    law: ClassVar[str] = "gaussian"
    title: ClassVar[str] = "Gaussian"

    @classmethod
    def calibrated(cls, wanted: Wanted) -> Mechanism:
        return calibrate_gaussian(
            wanted.dimension, wanted.sensitivity, wanted.epsilon, wanted.delta, wanted.weights, wanted.radius
        )

    @classmethod
    def event_in(cls, norm: str) -> EventMaker:
        del norm
        return gaussian_event

    @classmethod
    def deviation(cls, dimension: int) -> float:
        del dimension
        return 1.0

    @property
    def expected_norm(self) -> float:
        half = self.dimension / 2
        return float(self.scale) * math.sqrt(2) * reals.exp(reals.log_gamma(half + 0.5) - reals.log_gamma(half))

    @property
    def distribution(self) -> str:
        return f"independent discrete Gaussian noise of standard deviation {float(self.scale):.6g} in every coordinate"

    @property
    def total_delta(self) -> Fraction:
        """The delta that was asked for covers the sampler's distance already."""
        return self.delta

    @property
    def rule(self) -> str:
        steps = 1 << self.grid_bits
        event = gaussian_event(
            "weights", self.sensitivity * steps, self.scale * steps, self.dimension, self.sampler_distance
        )
        return at_epsilon([event], self.epsilon).rule

    def in_the_clear(self, draws: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        return np.asarray(float(self.scale) * rng.standard_normal((draws, self.dimension)))

    def _noisy(self, party: Party, weights: SecretArray, count: int) -> SecretArray:
        del count  # coordinates are independent
        steps = self.scale * (1 << self.grid_bits)
        noise = discrete_gaussian(party, weights.shape, steps, weights.format.ring, precision=self.precision)
        return weights.truncate(self.weight_bits) + noise.ldexp(-self.grid_bits)


def calibrate_gaussian(
    dimension: int, sensitivity: Fraction, epsilon: Fraction, delta: Fraction, weights: FixedPoint, radius: Fraction
) -> Gaussian:
    """Calibrate for weights in that format, of Euclidean norm at most ``radius``."""
    mu_squared = split(epsilon, delta, {"weights": Fraction(1)})["weights"]
    first = sensitivity * root_up(1 / mu_squared, SIGMA_BITS)
    grid_bits, sensitivity = grid_for(first, dimension, sensitivity, weights, radius)
    shift = sensitivity * (1 << grid_bits)
    for steps in sorted((sigma_for(shift, mu_squared), gaussian_sigma(shift, epsilon, delta * (1 - KEPT)))):
        for precision in _PRECISIONS:
            event = sampled_gaussian_event("weights", shift, steps, dimension, precision=precision)
            if at_epsilon([event], epsilon).delta <= delta:
                return Gaussian(
                    dimension,
                    sensitivity,
                    epsilon,
                    delta,
                    steps / (1 << grid_bits),
                    grid_bits,
                    grid_bits,
                    event.sampler_distance,
                    precision=precision,
                )
    raise parameter_error(
        "epsilon",
        "the gaussian mechanism",
        f"smaller: its noise cannot be sampled closely enough for e^epsilon and delta = {float(delta):g}",
        float(epsilon),
    )
