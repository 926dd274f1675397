"""Objective perturbation by every owner on its own rows; the models are averaged.

Chaudhuri, Monteleoni and Sarwate (2011), algorithm 2, with c = 1/4 for the logistic loss. With n rows and Lambda = l2,

    epsilon' = epsilon - ln(1 + 2 c / (n Lambda) + c^2 / (n Lambda)^2)
    if epsilon' > 0: Delta = 0; otherwise Delta = c / (n (e^(epsilon / 4) - 1)) - Lambda and epsilon' = epsilon / 2
    draw b of density proportional to exp(-epsilon' ||b|| / 2)
    publish the minimiser of J(w) + <b, w> / n + (Delta / 2) ||w||^2

``sensitivity="tight"`` replaces the first line's logarithm by ln(1 + c / (n Lambda)), which is enough (``proofs.md``),
and e^(epsilon / 4) by e^(epsilon / 2) accordingly. The 2 in the density cannot be had smaller: the published weights
can be anywhere, so that |sigmoid(z) - y| has no better bound than 1.

The theorem is about the *exact* minimiser; with another one it says nothing, because the noise is inside. Here a
thousandth of epsilon is kept for that (``SHARE``): the minimiser is computed to a public tolerance and published with
K-norm noise that hides so much, about a thousandth of what the method has anyway. In the manner of Iyengar et al. 2019;
the argument is in ``proofs.md``.

Why not the implementation of IBM's diffprivlib (0.6.6 was read). With rows of length 1, no intercept and
``data_norm=1`` its constants are those above (replace-one neighbours, C = 1 / (n Lambda)), and its noise has the right
law. But its solver stops where no coordinate of the gradient exceeds 1e-4 by default: in 1874 dimensions up to 0.0043,
more than the 0.0023 by which one record of 856 moves the gradient, and nothing accounts for that. With its intercept,
or rows longer than 1, it takes c ||x|| where c ||x||^2 is needed, too little; it fails on data of one class, which
tells something of them; and it cannot be imported beside scikit-learn 1.9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cofit.baselines.method import Guarantee, Method, Part, Reals, Trained
from cofit.baselines.minimiser import minimise
from cofit.baselines.noise import KNormNoise, check_budget
from cofit.baselines.sensitivity import check_objective, checked_sizes

CURVATURE = 0.25
SHARE = 1e-3
_LENGTH_SLACK = 1e-8  # rows may be longer than 1 by 1e-9, from rounding


@dataclass(frozen=True)
class Perturbation:
    """What an owner of so many rows adds: <b, w> / n with the noise b, (extra / 2) ||w||^2, and noise at the end."""

    rows: int
    l2: float
    extra: float
    linear: KNormNoise
    tolerance: float
    final: KNormNoise

    def release(self, part: Part, rng: np.random.Generator) -> Reals:
        """Train once, with fresh noise."""
        dimension = part.features.shape[1]
        b = self.linear.sample(1, dimension, rng, part.unseen)[0]
        found = minimise(part, self.l2 + self.extra, tolerance=self.tolerance, linear=b / self.rows)
        return np.asarray(found.weights + self.final.sample(1, dimension, rng, part.unseen)[0])


def perturbation(rows: int, l2: float, epsilon: float, sensitivity: str) -> Perturbation:
    """Return what makes the training of an owner with so many rows epsilon-differentially private."""
    kept = SHARE * epsilon
    spent = epsilon - kept
    power = 2 if sensitivity == "paper" else 1
    curvature = CURVATURE * (1 + _LENGTH_SLACK)
    noise_epsilon = spent - power * math.log1p(curvature / (rows * l2))
    extra = 0.0
    if noise_epsilon <= 0:
        noise_epsilon = spent / 2
        extra = curvature / (rows * math.expm1(spent / (2 * power))) - l2
    beta = 2 * (1 + _LENGTH_SLACK) / noise_epsilon
    tolerance = SHARE * kept * beta / (2 * rows * (l2 + extra))
    return Perturbation(rows, l2, extra, KNormNoise(beta), tolerance, KNormNoise(2 * tolerance / kept))


@dataclass(frozen=True)
class FederatedObjective(Method):
    """Objective perturbation by every owner, then the plain average."""

    epsilon: float
    l2: float = 1.0
    sensitivity: str = "paper"

    name: ClassVar[str] = "federated-objective"
    title: ClassVar[str] = "every owner alone, objective perturbation, averaged"

    def __post_init__(self) -> None:
        check_budget("FederatedObjective", "knorm", self.epsilon, 0.0)
        check_objective("FederatedObjective", self.l2, self.sensitivity)

    def guarantee(self, sizes: Sequence[int]) -> Guarantee:
        checked_sizes(sizes)
        return Guarantee(
            self.epsilon,
            0.0,
            "Every owner's model is objective perturbation (Chaudhuri, Monteleoni and Sarwate 2011) on its own rows, "
            "with a little noise for what the minimiser is inexact; a record belongs to one owner, so that the models "
            "compose in parallel, and averaging them costs nothing.",
        )

    def train(self, parts: Sequence[Part]) -> Trained:
        sizes = checked_sizes([len(part.labels) for part in parts])
        return _Perturbing(parts, [perturbation(size, self.l2, self.epsilon, self.sensitivity) for size in sizes])


@dataclass(frozen=True, repr=False)
class _Perturbing(Trained):
    """The noise comes first: every release is a training of its own."""

    parts: Sequence[Part]
    perturbations: Sequence[Perturbation]

    def draws(self, count: int, rng: np.random.Generator) -> Reals:
        pairs = list(zip(self.perturbations, self.parts, strict=True))
        released = np.zeros((count, self.parts[0].features.shape[1]))
        for index in range(count):
            released[index] = np.mean([how.release(part, rng) for how, part in pairs], axis=0)
        return released
