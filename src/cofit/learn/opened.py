"""The layout of what a run opens: one vector, the noisy weights and then what a score needs beside them.

One object owns it. The party program and its cleartext twin put the parts together by it, models take them apart by it,
and the audit log, the certificate and the ledger say by it what was opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
Piece = TypeVar("Piece")
REASON = "the noisy weights: the one release of this study"
KEPT_REASON = "what prepares rows for their score; the weights stay shared"


@dataclass(frozen=True)
class OpenedPart:
    """Numbers that are opened beside the weights, as whole steps of 2^-bits. ``word``, ``words``: what they are called.

    ``blank``: a value that they might have. ``scores``: they are part of every score, as the weights are.
    """

    name: str
    count: int
    bits: int
    word: str
    words: str
    blank: float = 0.0
    scores: bool = False


@dataclass(frozen=True)
class Opened:
    """``weights``: how many. ``steps``: how many steps of theirs make 1. ``parts``: what follows, in order.

    outputs: how many numbers there are for every column of the data, and for the intercept: one for every class where
    there are several. The weights of a column are side by side, and so are the numbers of a part.
    """

    weights: int
    steps: float = 1.0
    parts: tuple[OpenedPart, ...] = ()
    outputs: int = 1

    @property
    def count(self) -> int:
        """How many numbers there are."""
        return self.weights + sum(part.count for part in self.parts)

    @property
    def of_scores(self) -> int:
        """How many of them, the first, are part of every score: all others prepare the rows."""
        return self.weights + sum(part.count for part in self.parts if part.scores)

    def joined(self, weights: Piece, named: Mapping[str, Piece]) -> list[Piece]:
        """Return the pieces in their order: the weights, and one for each part."""
        if set(named) != {part.name for part in self.parts}:
            raise ValueError(f"The parts of a release are {[part.name for part in self.parts]}, not {list(named)}.")
        return [weights, *(named[part.name] for part in self.parts)]

    def in_units(self, opened: npt.NDArray[Any], kept: int = 0) -> Reals:
        """Return what was opened in units of weights, and of each part. kept: how many of the first were not."""
        scales = [self.steps] * self.weights + [2.0**part.bits for part in self.parts for _ in range(part.count)]
        return np.asarray(opened.astype(np.float64) / np.array(scales[kept:]))

    def part(self, released: Reals, name: str) -> Reals:
        """Return one part of what ``in_units`` returned, of several releases that of each; empty if absent."""
        start = self.weights
        for part in self.parts:
            if part.name == name:
                return released[..., start : start + part.count]
            start += part.count
        return released[..., :0]

    def by_output(self, released: Reals) -> Reals:
        """Return the weights of what ``in_units`` returned, of several releases those of each: the last axes are
        columns, with the intercept, and outputs."""
        return released[..., : self.weights].reshape(*released.shape[:-1], -1, self.outputs)

    def blank(self) -> tuple[float, ...]:
        """Return what a release might be, of weights 0: for models that are not scored."""
        return (*[0.0] * self.weights, *(part.blank for part in self.parts for _ in range(part.count)))

    def in_words(self, shared: bool = False) -> str:
        """Return what is opened, for people. shared: what is part of every score is not."""
        if not shared:
            return ", ".join(["the noisy weights", *(part.words for part in self.parts)])
        prepared = [part.words for part in self.parts if not part.scores]
        return ", ".join([*prepared, "nothing of the weights, which stay shared"])

    def counted(self, shared: bool = False) -> str:
        """Return how many numbers of each kind there are."""
        counts = {"weights": self.weights, **{part.word: part.count for part in self.parts}}
        if shared:
            counts = {part.word: part.count for part in self.parts if not part.scores}
        return ", ".join(f"{word}: {count}" for word, count in counts.items())
