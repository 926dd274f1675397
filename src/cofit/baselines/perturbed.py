"""Weights whose noise comes last: training is done once, and every release adds fresh noise to the same weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cofit.baselines.method import Reals, Trained
from cofit.baselines.noise import Noise


@dataclass(frozen=True, repr=False)
class Perturbed(Trained):
    """Weights, and the noise vectors that are drawn independently and averaged: one by a curator, one by each owner.

    unseen: as in ``Part``.
    """

    weights: Reals
    noise: Sequence[Noise]
    unseen: int = 0

    def draws(self, count: int, rng: np.random.Generator) -> Reals:
        released = np.tile(self.weights, (count, 1))
        for noise in self.noise:
            released += noise.sample(count, len(self.weights), rng, self.unseen) / len(self.noise)
        return released
