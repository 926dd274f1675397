"""What every method of the comparison is: it trains on the owners' parts, and draws releases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError

Reals = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
PREPARATIONS = ("unit", "centred")
_LENGTH_SLACK = 1e-9


@dataclass(frozen=True, repr=False)
class Part:
    """One owner's rows, each of Euclidean length at most 1, and their labels, 0 and 1.

    unseen: how many columns the data have beside these, all of them zero in every row, also in those that are scored.
    Weights there change no score, so they are never made; but the length of K-norm noise depends on them.
    """

    features: Reals
    labels: Labels
    unseen: int = 0

    def __post_init__(self) -> None:
        if self.features.ndim != 2 or self.labels.shape != self.features.shape[:1] or not len(self.labels):
            raise InvalidInputError(
                f"A part must have rows, and a label for each of them. Got features of shape {self.features.shape} and "
                f"labels of shape {self.labels.shape} instead."
            )
        if not (np.linalg.norm(self.features, axis=1) <= 1 + _LENGTH_SLACK).all():
            raise InvalidInputError("The rows of a part must have length 1 or less: normalise them first.")
        if not np.isin(self.labels, (0, 1)).all():
            raise InvalidInputError("The labels of a part must be 0 and 1.")

    def __repr__(self) -> str:
        return f"<Part, {self.features.shape[0]} rows, {self.features.shape[1]} columns>"


@dataclass(frozen=True)
class Guarantee:
    """What a method guarantees for one record replaced. ``epsilon``: None where nothing is guaranteed.

    ``why``: one sentence, with the source; the argument is in ``proofs.md`` beside the methods.
    """

    epsilon: float | None
    delta: float
    why: str


class Trained(ABC):
    """A trained method that can draw releases; drawing again costs no training where the noise comes last."""

    @abstractmethod
    def draws(self, count: int, rng: np.random.Generator) -> Reals:
        """Return ``count`` independent releases of the weights, shape (count, columns); not those of unseen columns."""


class Method(ABC):
    """A way from the owners' parts to published weights: a frozen dataclass of its public settings."""

    name: ClassVar[str]
    title: ClassVar[str]

    @property
    def prepared(self) -> str:
        """The rows that it takes. ``unit``: divided by their length; ``centred``: before that, less half their mean."""
        return "unit"

    @property
    def turns(self) -> bool:
        """Whether rows that are turned, all alike, give weights of the same law, turned: no direction is special."""
        return True

    @abstractmethod
    def guarantee(self, sizes: Sequence[int]) -> Guarantee:
        """Return what is guaranteed when the owners hold so many rows."""

    @abstractmethod
    def train(self, parts: Sequence[Part]) -> Trained:
        """Train on the parts of all owners."""


def joined(parts: Sequence[Part]) -> Part:
    """Return all rows as those of one owner: what only a trusted curator may see."""
    if not parts:
        raise InvalidInputError("There must be at least one owner.")
    if len({part.unseen for part in parts}) > 1:
        raise InvalidInputError("All owners must have the same columns: the numbers of unseen ones differ.")
    features, labels = np.vstack([part.features for part in parts]), np.concatenate([part.labels for part in parts])
    return Part(features, labels, parts[0].unseen)
