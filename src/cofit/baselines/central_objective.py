"""Objective perturbation with normal noise by a trusted curator: what one noise vector inside MPC would give.

With n rows of length at most 1, labels s_i = -1 or 1 and b ~ N(0, sigma^2 I), published is the minimiser of

    (1/n) (sum_i l(s_i <w, x_i>) + <b, w>) + (Lambda/2) ||w||^2,    Lambda = sigma / (pace n)

Kifer, Smith and Thakurta (2012), with a tight sigma for one record replaced (``objective_profile``, ``proofs.md``), in
the manner of Redberg, Koskela and Wang (2023), who bound the loss of privacy for one record added or removed.

``loss``: l' = -sigmoid(c (t - m)) at the margin m. ``logistic`` has c = 1 and t = 0. ``margin`` has c = 2 and t = 2: a
smooth form of the clipped residual of recipe best, that asks for margins of 1 to 3; with noise it is more accurate.

``pace``: the standard deviation that the noise alone gives the score of a row of length 1; it takes the place of a
penalty, and n, epsilon and delta fix the rest. There is no intercept. ``rows``: how rows are prepared before they come
here (``Method.prepared``); ``centred`` is what recipe best does without a level. It concerns each record alone, so the
guarantee is the same.

The guarantee is for the exact minimiser. As in ``federated_objective``, a thousandth of epsilon is kept for noise at
the end that hides a public tolerance; this noise has a thousandth of the standard deviation of the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cofit.baselines.many_minimisers import Residual, minimise_many
from cofit.baselines.method import PREPARATIONS, Guarantee, Method, Part, Reals, Trained, joined
from cofit.baselines.noise import GaussianNoise, KNormNoise, check_budget, check_positive
from cofit.baselines.objective_profile import objective_sigma
from cofit.baselines.sensitivity import checked_sizes
from cofit.errors import parameter_error

LOSSES = {"logistic": Residual(1.0, 0.0), "margin": Residual(2.0, 2.0)}
SHARE = 1e-3
_LENGTH_SLACK = 1e-8  # rows may be longer than 1 by 1e-9, from rounding


@dataclass(frozen=True)
class ObjectiveNoise:
    """What is public of the training: the noise inside, n Lambda, the tolerance, and the noise that hides it."""

    inside: GaussianNoise
    strength: float
    tolerance: float
    final: KNormNoise


@dataclass(frozen=True)
class CentralObjective(Method):
    """Objective perturbation with normal noise, by a trusted curator on all rows."""

    epsilon: float
    delta: float
    loss: str = "logistic"
    rows: str = "unit"
    pace: float = 1.0

    name: ClassVar[str] = "central-objective"
    title: ClassVar[str] = "one trusted curator, objective perturbation with normal noise"

    def __post_init__(self) -> None:
        check_budget("CentralObjective", "gaussian", self.epsilon, self.delta)
        check_positive("CentralObjective", "pace", self.pace)
        if self.loss not in LOSSES:
            raise parameter_error("loss", "CentralObjective", f"one of {list(LOSSES)}", self.loss)
        if self.rows not in PREPARATIONS:
            raise parameter_error("rows", "CentralObjective", f"one of {list(PREPARATIONS)}", self.rows)

    @property
    def prepared(self) -> str:
        return self.rows

    def noise(self, columns: int) -> ObjectiveNoise:
        """Return the noise for weights of so many columns. It does not depend on the number of rows: Lambda does."""
        kept = SHARE * self.epsilon
        bend = LOSSES[self.loss].steepness * self.pace * (1 + _LENGTH_SLACK) ** 2
        sigma = objective_sigma(lambda sigma: bend / sigma, self.epsilon - kept, self.delta)
        if sigma is None:
            raise parameter_error("epsilon", "CentralObjective", "large enough for its delta and pace", self.epsilon)
        strength = sigma / self.pace
        final = KNormNoise(SHARE * self.pace / math.sqrt(columns + 1))
        return ObjectiveNoise(GaussianNoise(sigma * (1 + _LENGTH_SLACK)), strength, kept * final.beta / 2, final)

    def guarantee(self, sizes: Sequence[int]) -> Guarantee:
        checked_sizes(sizes)
        return Guarantee(
            self.epsilon,
            self.delta,
            "Objective perturbation with normal noise (Kifer, Smith and Thakurta 2012), by the privacy profile of "
            "proofs.md for one record replaced, with a little noise for what the minimiser is inexact.",
        )

    def train(self, parts: Sequence[Part]) -> Trained:
        everything = joined(parts)
        columns = everything.features.shape[1] + everything.unseen
        return _Perturbing(everything, LOSSES[self.loss], self.noise(columns))


@dataclass(frozen=True, repr=False)
class _Perturbing(Trained):
    """The noise comes first: every release is a training of its own."""

    part: Part
    residual: Residual
    noise: ObjectiveNoise

    def draws(self, count: int, rng: np.random.Generator) -> Reals:
        columns = self.part.features.shape[1]
        if not count:
            return np.zeros((0, columns))
        inside = self.noise.inside.sample(count, columns, rng).T
        found = minimise_many(self.part, self.residual, self.noise.strength, inside, tolerance=self.noise.tolerance)
        return np.asarray(found.T + self.noise.final.sample(count, columns, rng, self.part.unseen))
