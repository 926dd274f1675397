"""Local models, averaged inside a secure computation, with noise added once before anything is published.

Every owner trains on its own rows, as in ``FederatedOutput``; but nobody sees its model, so that one noise vector is
enough. Both sources add it to the average of m models; they differ in how much.

- Pathak, Rane and Raj (2010) take the scale of the smallest owner's own model, 2 / (n_(1) epsilon Lambda).
- Jayaraman, Wang, Evans and Gu (2018) use that the average moves m times less: 2 G / (m n_(1) epsilon Lambda).

The noise is that of density exp(-||eta|| / scale), which the sensitivity in the Euclidean norm asks for. The code that
was published with the second paper draws a Laplace variable of that scale for every coordinate instead, about
sqrt(d / 2) times less noise: that is sqrt(d) epsilon, not epsilon (``AveragedAsPublished``).

Here the average and its noise are computed in the clear, in floating point; ``averaged_in_mpc`` runs the protocol.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cofit.baselines.method import Guarantee, Method, Part, Reals
from cofit.baselines.noise import calibrated, check_budget
from cofit.baselines.perturbed import Perturbed
from cofit.baselines.sensitivity import Local, check_objective, checked_sizes, local


@dataclass(frozen=True)
class Budget:
    """What the noise on the average spends: (epsilon, delta) by this mechanism."""

    mechanism: str
    epsilon: float
    delta: float


class Averaged(Method):
    """An average of local models with noise for the smallest owner. ``l2`` and ``sensitivity`` as everywhere."""

    l2: float
    sensitivity: str

    @abstractmethod
    def budget(self, owners: int) -> Budget:
        """Return what the noise on the average of so many models spends."""

    def local(self, sizes: Sequence[int]) -> Local:
        """Return the facts of the smallest owner: its model moves most."""
        return local(min(checked_sizes(sizes)), self.l2, self.sensitivity)

    def models(self, parts: Sequence[Part]) -> list[Reals]:
        """Train every owner's model on its rows."""
        return [local(len(part.labels), self.l2, self.sensitivity).weights(part) for part in parts]

    def train(self, parts: Sequence[Part]) -> Perturbed:
        moved = self.local([len(part.labels) for part in parts]).sensitivity / len(parts)
        budget = self.budget(len(parts))
        noise = calibrated(budget.mechanism, moved, budget.epsilon, budget.delta)
        return Perturbed(np.mean(self.models(parts), axis=0), [noise], parts[0].unseen)


@dataclass(frozen=True)
class Pathak(Averaged):
    """Pathak, Rane and Raj (2010): noise on the average as if it moved as far as the smallest owner's model."""

    epsilon: float
    l2: float = 1.0
    sensitivity: str = "paper"

    name: ClassVar[str] = "pathak"
    title: ClassVar[str] = "local models averaged in MPC, noise for the smallest owner (Pathak et al.)"

    def __post_init__(self) -> None:
        check_budget("Pathak", "knorm", self.epsilon, 0.0)
        check_objective("Pathak", self.l2, self.sensitivity)

    def budget(self, owners: int) -> Budget:
        return Budget("knorm", self.epsilon / owners, 0.0)

    def guarantee(self, sizes: Sequence[int]) -> Guarantee:
        owners = len(checked_sizes(sizes))
        return Guarantee(
            self.epsilon / owners,
            0.0,
            f"Pathak, Rane and Raj (2010) prove epsilon = {self.epsilon:g}. One record moves one of {owners} models, "
            f"and the average {owners} times less than the noise is for, so that epsilon = "
            f"{self.epsilon / owners:g} holds.",
        )


@dataclass(frozen=True)
class Jayaraman(Averaged):
    """Jayaraman, Wang, Evans and Gu (2018), output perturbation: noise for what one record moves the average."""

    epsilon: float
    delta: float = 0.0
    l2: float = 1.0
    mechanism: str = "knorm"
    sensitivity: str = "paper"

    name: ClassVar[str] = "jayaraman"
    title: ClassVar[str] = "local models averaged in MPC, noise for the average (Jayaraman et al.)"

    def __post_init__(self) -> None:
        check_budget("Jayaraman", self.mechanism, self.epsilon, self.delta)
        check_objective("Jayaraman", self.l2, self.sensitivity)

    def budget(self, owners: int) -> Budget:
        return Budget(self.mechanism, self.epsilon, self.delta)

    def guarantee(self, sizes: Sequence[int]) -> Guarantee:
        moved = self.local(sizes).sensitivity / len(sizes)
        return Guarantee(
            self.epsilon,
            self.delta,
            f"Jayaraman, Wang, Evans and Gu (2018): one record moves one of {len(sizes)} models, and their average by "
            f"{moved:.3g} at most, which the noise is calibrated to.",
        )
