"""A curator whom everybody trusts with all rows: without privacy, and with noise on the weights.

``CentralOutput`` is what training inside the computation must equal in distribution, up to the grid and the tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from cofit.baselines.method import Guarantee, Method, Part, joined
from cofit.baselines.noise import calibrated, check_budget
from cofit.baselines.perturbed import Perturbed
from cofit.baselines.sensitivity import check_objective, checked_sizes, local


@dataclass(frozen=True)
class CentralNoPrivacy(Method):
    """The minimiser on all rows, published as it is."""

    l2: float = 1.0

    name: ClassVar[str] = "central"
    title: ClassVar[str] = "one trusted curator, no privacy"

    def __post_init__(self) -> None:
        check_objective("CentralNoPrivacy", self.l2, "paper")

    def guarantee(self, sizes: Sequence[int]) -> Guarantee:
        checked_sizes(sizes)
        return Guarantee(None, 0.0, "No noise is added, so nothing is guaranteed to any record.")

    def train(self, parts: Sequence[Part]) -> Perturbed:
        everything = joined(parts)
        return Perturbed(local(len(everything.labels), self.l2, "paper").weights(everything), [])


@dataclass(frozen=True)
class CentralOutput(Method):
    """Output perturbation by a trusted curator: the minimiser on all n rows, plus noise for 2 G / (n Lambda).

    Chaudhuri, Monteleoni and Sarwate (2011), algorithm 1; normal noise as an alternative.
    """

    epsilon: float
    delta: float = 0.0
    l2: float = 1.0
    mechanism: str = "knorm"
    sensitivity: str = "paper"

    name: ClassVar[str] = "central-output"
    title: ClassVar[str] = "one trusted curator, output perturbation"

    def __post_init__(self) -> None:
        check_budget("CentralOutput", self.mechanism, self.epsilon, self.delta)
        check_objective("CentralOutput", self.l2, self.sensitivity)

    def guarantee(self, sizes: Sequence[int]) -> Guarantee:
        moved = local(sum(checked_sizes(sizes)), self.l2, self.sensitivity).sensitivity
        return Guarantee(
            self.epsilon,
            self.delta,
            f"Output perturbation (Chaudhuri, Monteleoni and Sarwate 2011): one record moves the weights by "
            f"{moved:.3g} at most, and the noise is calibrated to that.",
        )

    def train(self, parts: Sequence[Part]) -> Perturbed:
        everything = joined(parts)
        facts = local(len(everything.labels), self.l2, self.sensitivity)
        noise = calibrated(self.mechanism, facts.sensitivity, self.epsilon, self.delta)
        return Perturbed(facts.weights(everything), [noise], everything.unseen)
