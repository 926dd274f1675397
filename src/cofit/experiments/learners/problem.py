"""A problem to learn: public data, how predictions are judged, and who is compared."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Task:
    """What a contender is asked: to learn from some rows, with ``draws`` releases, and to predict others.

    owners: the places of the rows of each owner among those to learn from. epsilon, delta: 0 and 0 without privacy.
    """

    features: Reals
    targets: npt.NDArray[Any]
    owners: tuple[Places, ...]
    test: Reals
    truth: npt.NDArray[Any]
    epsilon: float
    delta: float
    draws: int
    seed: int

    def rng(self) -> np.random.Generator:
        """Return what the noise is drawn with: the same for equal tasks. Ask once, or noise would be drawn twice."""
        return np.random.default_rng([self.seed, len(self.targets), round(1000 * self.epsilon)])


class Contender(ABC):
    """A way to learn. label: in the table. guaranteed: whether epsilon and delta of the task hold for every record."""

    label: ClassVar[str]
    guaranteed: ClassVar[bool] = True
    private: ClassVar[bool] = True

    @abstractmethod
    def figures(self, task: Task) -> list[float]:
        """Return the figure of merit of each release."""


class Problem(ABC):
    """Public data. name, about: for the table. unit: of the figure of merit, as in ``result.Figure``."""

    name: ClassVar[str]
    about: ClassVar[str]
    unit: ClassVar[str] = "accuracy"
    contenders: ClassVar[Sequence[Contender]]

    @abstractmethod
    def load(self) -> tuple[Reals, npt.NDArray[Any]]:
        """Return features, scaled by public bounds to [-1, 1], and targets."""

    @abstractmethod
    def folds(self, count: int, seed: int) -> list[tuple[Places, Places]]:
        """Return the rows to learn from and those held out, of every fold."""

    @cached_property
    def data(self) -> tuple[Reals, npt.NDArray[Any]]:
        """What ``load`` returns, once."""
        return self.load()

    @property
    def digest(self) -> str:
        """SHA-256 of the data: what results belong to."""
        digest = hashlib.sha256()
        for array in self.data:
            digest.update(f"{array.dtype.str} {array.shape} ".encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def contender(self, label: str) -> Contender:
        """Return the contender of that label."""
        return next(one for one in self.contenders if one.label == label)
