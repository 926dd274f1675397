"""Secrets and errors have the laws that the proof names, exactly: no word of the stream favours a value."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Generator, Shape
from cofit.sharing.pair.rlwe.residues import ternary

THIRD = (2**64 - 1) // 3


class Drawn(Generator):
    """A stream of chosen words."""

    def __init__(self, *rows: list[int]) -> None:
        super().__init__(bytes(32))
        self._rows = list(rows)

    def words(self, shape: Shape) -> npt.NDArray[np.uint64]:
        return np.array(self._rows.pop(0), np.uint64).reshape(shape)


def test_as_many_words_lead_to_each_value() -> None:
    """The words 1 to 2^64 - 1, in three ranges of (2^64 - 1) / 3."""
    edges = [1, THIRD, THIRD + 1, 2 * THIRD, 2 * THIRD + 1, 2**64 - 1]
    assert ternary(Drawn(edges), 6).view(np.int64).tolist() == [-1, -1, 0, 0, 1, 1]


def test_the_word_that_is_left_over_is_drawn_again() -> None:
    stream = Drawn([5, 0, 0, 2**64 - 1], [7, 0, THIRD + 1, 7], [9, 2**64 - 1, 9, 9])
    assert ternary(stream, 4).view(np.int64).tolist() == [-1, 1, 0, 1]
