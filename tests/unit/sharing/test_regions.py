"""Regions of a matrix that parties know, and chunks of its blocks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from cofit.arithmetic import Place, Shape
from cofit.sharing.regions import Region, cut, joined_regions, paste


def rows_at(*ends: int) -> list[Place]:
    return [(slice(a, b), slice(0, 4)) for a, b in itertools.pairwise(ends)]


REGIONS: dict[str, tuple[Shape, list[tuple[Place, int | None]], Place | None, list[Region] | None]] = {
    "nobody": ((5, 4), list(zip(rows_at(0, 2, 5), (None, None), strict=True)), None, None),
    "rows": (
        (5, 4),
        list(zip(rows_at(0, 2, 5), (1, None), strict=True)),
        None,
        [Region((slice(0, 2), slice(0, 4)), 1), Region((slice(2, 5), slice(0, 4)), None)],
    ),
    "neighbours": (
        (9, 4),
        list(zip(rows_at(0, 2, 5, 9), (1, 1, 0), strict=True)),
        None,
        [Region((slice(0, 5), slice(0, 4)), 1), Region((slice(5, 9), slice(0, 4)), 0)],
    ),
    "no rows": (
        (5, 4),
        list(zip(rows_at(0, 0, 5), (0, 1), strict=True)),
        None,
        [Region((slice(0, 5), slice(0, 4)), 1)],
    ),
    "constant": (
        (5, 5),
        list(zip(rows_at(0, 2, 5), (1, None), strict=True)),
        (slice(None), slice(4, 5)),
        [Region((slice(0, 2), slice(0, 5)), 1), Region((slice(2, 5), slice(0, 5)), None)],
    ),
    "a gap": ((6, 4), list(zip(rows_at(0, 2, 5), (1, 0), strict=True)), None, None),
    "a vector": ((5,), [((slice(0, 5),), 1)], None, None),
}


@pytest.mark.parametrize("name", REGIONS)
def test_regions_of_a_joined_matrix(name: str) -> None:
    shape, pieces, constant, want = REGIONS[name]
    regions = joined_regions(shape, pieces, constant)
    assert (None if regions is None else list(regions)) == want


@pytest.mark.parametrize("size", [1, 5, 7, 12])
@pytest.mark.parametrize("view", [False, True])
def test_chunks_of_a_block(size: int, view: bool) -> None:
    whole = np.arange(70, dtype=np.uint64).reshape(7, 10)
    block = whole[1:6, 2:7] if view else whole[1:6]
    copied, flat = np.zeros_like(whole), block.reshape(-1)
    target = copied[1:6, 2:7] if view else copied[1:6]
    for start in range(0, block.size, size):
        chunk = slice(start, min(start + size, block.size))
        np.testing.assert_array_equal(cut(block, chunk), flat[chunk])
        paste(target, chunk, cut(block, chunk))
    np.testing.assert_array_equal(target, block)
    assert copied.sum() == block.sum(), "something was written elsewhere"
