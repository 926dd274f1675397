"""Tables that are made a block at a time: what comes out is what the whole table would be, and it never exists."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cofit.arithmetic import Z64, FixedPoint
from cofit.arithmetic.row_blocks import BLOCK_BYTES, RowBlocks, block_rows, encoded_blocks
from cofit.errors import RangeError


class Held(RowBlocks):
    """An array as if it were not one."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self.array = array

    @property
    def shape(self) -> tuple[int, int]:
        rows, cols = self.array.shape
        return rows, cols

    def __getitem__(self, rows: slice) -> npt.NDArray[Any]:
        return self.array[rows]


def numbered(block: npt.NDArray[Any], first: int) -> npt.NDArray[Any]:
    places = np.arange(first, first + len(block), dtype=np.float64)[:, np.newaxis]
    return np.hstack([block, places])


def test_blocks_are_all_rows_in_order_and_know_their_places() -> None:
    cols = 1000
    array = np.random.default_rng(0).uniform(-1, 1, (3 * block_rows(cols) + 7, cols))
    made = Held(array).then(numbered, cols + 1)
    blocks = list(made.blocks())
    assert len(blocks) > 3 and max(block.nbytes for block in blocks) <= BLOCK_BYTES
    whole = np.concatenate(blocks)
    np.testing.assert_array_equal(whole[:, :cols], array)
    np.testing.assert_array_equal(whole[:, cols], np.arange(len(array)))
    assert made.shape == whole.shape and len(made) == len(array)
    np.testing.assert_array_equal(made[5:9][:, cols], [5, 6, 7, 8])


def test_elements_are_those_of_the_whole_table() -> None:
    array, format = np.random.default_rng(1).uniform(-1, 1, (700, 900)), FixedPoint(24, Z64)
    blocks = encoded_blocks(Held(array), format, 1.0)
    np.testing.assert_array_equal(np.concatenate(list(blocks.blocks())), format.encode(array, 1.0))


def test_a_value_beyond_the_bound_is_refused_with_its_block() -> None:
    array = np.zeros((1000, 1000))
    array[900, 3] = 2.0
    first = 900 // block_rows(1000) * block_rows(1000)
    with pytest.raises(RangeError, match=f"rows from {first} on"):
        list(encoded_blocks(Held(array), FixedPoint(24, Z64), 1.0).blocks())


def test_nobody_takes_all_rows_by_mistake() -> None:
    rows = Held(np.zeros((2, 2))).then(partial(numbered), 3)
    with pytest.raises(TypeError, match="do not fit"):
        np.asarray(rows)
    assert "(2, 3)" in repr(rows)
