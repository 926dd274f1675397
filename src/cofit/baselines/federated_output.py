"""The paper's baseline: every owner trains on its own rows, perturbs, and publishes; the models are averaged.

Pentyala et al. (2022), "Baseline Method". Nobody is trusted and nothing is computed jointly; each owner's noise is for
its own, smaller number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cofit.baselines.method import Guarantee, Method, Part
from cofit.baselines.noise import calibrated, check_budget
from cofit.baselines.perturbed import Perturbed
from cofit.baselines.sensitivity import check_objective, checked_sizes, local


@dataclass(frozen=True)
class FederatedOutput(Method):
    """Output perturbation by every owner: its minimiser, plus noise for 2 G / (n_j Lambda); then the plain average."""

    epsilon: float
    delta: float = 0.0
    l2: float = 1.0
    mechanism: str = "knorm"
    sensitivity: str = "paper"

    name: ClassVar[str] = "federated-output"
    title: ClassVar[str] = "every owner alone, output perturbation, averaged"

    def __post_init__(self) -> None:
        check_budget("FederatedOutput", self.mechanism, self.epsilon, self.delta)
        check_objective("FederatedOutput", self.l2, self.sensitivity)

    def guarantee(self, sizes: Sequence[int]) -> Guarantee:
        checked_sizes(sizes)
        return Guarantee(
            self.epsilon,
            self.delta,
            "Every owner's model is output perturbation (Chaudhuri, Monteleoni and Sarwate 2011) on its own rows; a "
            "record belongs to one owner, so that the models compose in parallel, and averaging them costs nothing.",
        )

    def train(self, parts: Sequence[Part]) -> Perturbed:
        checked_sizes([len(part.labels) for part in parts])
        facts = [local(len(part.labels), self.l2, self.sensitivity) for part in parts]
        weights = np.mean([fact.weights(part) for fact, part in zip(facts, parts, strict=True)], axis=0)
        noise = [calibrated(self.mechanism, fact.sensitivity, self.epsilon, self.delta) for fact in facts]
        return Perturbed(weights, noise, parts[0].unseen)
