"""What the experiments of the paper effectively do. It explains their numbers; it is never to be recommended.

Pentyala et al. (2022) train with scikit-learn at C = 1 and call that Lambda = 1. But scikit-learn puts the penalty
beside the *sum* of the losses: (1/2) ||w||^2 + sum_i l_i, which is Lambda = 1/n in the objective that the sensitivity
2 / (n Lambda) speaks of. The weights then move by up to 2, and the noise is for 2 / n: epsilon is n times what is said.

For the comparison with Pathak, Rane and Raj (2010) and Jayaraman, Wang, Evans and Gu (2018) the paper points to the
code of the latter (github.com/bargavj/distributedMachineLearning, ``model_wrapper.py``). It adds a Laplace variable to
every coordinate, of a scale for the Euclidean norm; in the 1-norm, which such noise is for, the average of the models
moves by up to sqrt(d) times as much. What holds is sqrt(d) epsilon; or, with a delta, about what normal noise of that
standard deviation gives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from cofit.baselines.method import Guarantee, Method, Part, joined
from cofit.baselines.noise import KNormNoise, LaplaceNoise, check_positive
from cofit.baselines.perturbed import Perturbed
from cofit.baselines.sensitivity import Local, check_objective, checked_sizes, local
from cofit.errors import parameter_error
from cofit.privacy.zcdp import delta_of

SOURCES = ("pathak", "jayaraman")


@dataclass(frozen=True)
class AsPublished(Method):
    """By a curator: the minimiser with Lambda = 1/n, and noise of density exp(-epsilon n ||eta|| / 2).

    ``epsilon`` is what the noise is computed from; the guarantee is the far larger one that holds.
    """

    epsilon: float

    name: ClassVar[str] = "as-published"
    title: ClassVar[str] = "one curator, as in the paper's experiments (noise n times too small)"

    def __post_init__(self) -> None:
        check_positive(type(self).__name__, "epsilon", self.epsilon)

    def guarantee(self, sizes: Sequence[int]) -> Guarantee:
        return self._guarantee(sum(checked_sizes(sizes)))

    def train(self, parts: Sequence[Part]) -> Perturbed:
        return self._trained([joined(parts)])

    def _guarantee(self, rows: int) -> Guarantee:
        moved, scale = _facts(rows).sensitivity, self._noise(rows).beta
        return Guarantee(
            moved / scale,
            0.0,
            f"The penalty is beside the sum of the losses, so that one record moves the weights by up to {moved:.3g}; "
            f"the noise is for {scale * self.epsilon:.3g}. Hence not epsilon = {self.epsilon:g}, but {rows} times it "
            f"(a little less where |sigmoid(z) - y| is provably below 1).",
        )

    def _trained(self, parts: Sequence[Part]) -> Perturbed:
        sizes = checked_sizes([len(part.labels) for part in parts])
        weights = [_facts(size).weights(part) for size, part in zip(sizes, parts, strict=True)]
        return Perturbed(np.mean(weights, axis=0), [self._noise(size) for size in sizes], parts[0].unseen)

    def _noise(self, rows: int) -> KNormNoise:
        return KNormNoise(2 / (rows * self.epsilon))


@dataclass(frozen=True)
class FederatedAsPublished(AsPublished):
    """By every owner on its own rows, then averaged: the baseline of the paper as its experiments run it."""

    name: ClassVar[str] = "federated-as-published"
    title: ClassVar[str] = "every owner alone, as in the paper's experiments (noise n_j times too small)"

    def guarantee(self, sizes: Sequence[int]) -> Guarantee:
        return self._guarantee(max(checked_sizes(sizes)))

    def train(self, parts: Sequence[Part]) -> Perturbed:
        return self._trained(parts)


@dataclass(frozen=True)
class AveragedAsPublished(Method):
    """Local models averaged, with a Laplace variable on every coordinate: the code that the paper compares with.

    ``columns``: how many weights there are (the guarantee depends on it); ``delta``: that of the guarantee (0: pure);
    ``source``: whose scale, 2 / (n_(1) Lambda epsilon) of ``pathak`` or m times less of ``jayaraman``.
    """

    epsilon: float
    columns: int
    delta: float = 0.0
    l2: float = 1.0
    source: str = "jayaraman"

    name: ClassVar[str] = "averaged-as-published"
    title: ClassVar[str] = "local models averaged, as in the published code (noise for the wrong norm)"

    def __post_init__(self) -> None:
        check_positive("AveragedAsPublished", "epsilon", self.epsilon)
        check_positive("AveragedAsPublished", "columns", self.columns)
        check_objective("AveragedAsPublished", self.l2, "tight")
        if not 0 <= self.delta < 1:
            raise parameter_error("delta", "AveragedAsPublished", "at least 0 and below 1", self.delta)
        if self.source not in SOURCES:
            raise parameter_error("source", "AveragedAsPublished", f"one of {list(SOURCES)}", self.source)

    @property
    def turns(self) -> bool:
        return False  # independent Laplace noise is not the same in all directions

    def guarantee(self, sizes: Sequence[int]) -> Guarantee:
        smallest = local(min(checked_sizes(sizes)), self.l2, "tight")
        ratio = smallest.sensitivity / len(sizes) / self._noise(sizes).scale
        pure = math.sqrt(self.columns) * ratio
        epsilon = min(pure, _concentrated_epsilon(ratio, self.delta)) if self.delta else pure
        return Guarantee(
            epsilon,
            self.delta,
            f"In the 1-norm, which independent Laplace noise is for, one record moves the average by up to sqrt(d) "
            f"times as much as in the Euclidean norm, which the scale is for; epsilon = {self.epsilon:g} fails.",
        )

    def train(self, parts: Sequence[Part]) -> Perturbed:
        sizes = checked_sizes([len(part.labels) for part in parts])
        if any(part.features.shape[1] != self.columns or part.unseen for part in parts):
            got = [part.features.shape[1] for part in parts]
            raise parameter_error("columns", "AveragedAsPublished", "that of the data", got)
        weights = [local(size, self.l2, "tight").weights(part) for size, part in zip(sizes, parts, strict=True)]
        return Perturbed(np.mean(weights, axis=0), [self._noise(sizes)])

    def _noise(self, sizes: Sequence[int]) -> LaplaceNoise:
        models = len(sizes) if self.source == "jayaraman" else 1
        return LaplaceNoise(2 / (models * min(sizes) * self.l2 * self.epsilon))


def _concentrated_epsilon(ratio: float, delta: float) -> float:
    """The epsilon of independent Laplace noise at this delta: ratio^2 / 2 of concentrated privacy, in any dimension."""
    rho = Fraction(ratio) ** 2 / 2
    low, high = 0.0, 1.0
    while delta_of(rho, Fraction(high)) > delta:
        low, high = high, 2 * high
    while high > low * (1 + 1e-6) and high > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(rho, Fraction(middle)) > delta else (low, middle)
    return high


def _facts(rows: int) -> Local:
    return local(rows, 1 / rows, "tight")
