"""Places in polynomials: only the wanted products meet at a result, and no block is larger than a polynomial."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest

from cofit.arithmetic import Z64
from cofit.sharing.pair.rlwe.packing import MatrixPacking, Packing, RowsPacking
from cofit.sharing.pair.rlwe.parameters import parameters_for

SMALL = replace(parameters_for(64), degree=64)
"""Polynomials so short that all products of coefficients can be listed, and that they are full."""


def meetings(packing: Packing, piece: int, block: int) -> dict[int, list[tuple[int, int, int]]]:
    """What meets at every exponent modulo N: a row and a column of X, and the number of an element of the client.

    With the polynomial of a full block of rows; elements of the client are numbered from 1.
    """
    shape = packing.operand_shape
    operand = np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64).reshape(shape)
    coefficients = packing.polynomials(piece, operand)[block]
    found = defaultdict(list)
    width = min(packing.width, packing.matrix_shape[1] - block * packing.width)
    for i in range(packing.block_rows):
        for j in range(width):
            at = i * packing.step + packing.width - 1 - j
            for e in np.flatnonzero(coefficients):
                found[int((at + e) % SMALL.degree)].append((i, block * packing.width + j, int(coefficients[e])))
    return found


@pytest.mark.parametrize(
    "shape", [(4, 4, 4), (8, 8, 1), (1, 64, 1), (64, 1, 1), (3, 7, 3), (5, 3, 2), (2, 2, 16), (9, 9, 9)]
)
def test_a_result_of_a_matrix_is_its_sum_and_nothing_else(shape: tuple[int, int, int]) -> None:
    packing = MatrixPacking(*shape, SMALL)
    assert packing.block_rows * packing.width * packing.block_columns <= SMALL.degree
    seen: Counter[tuple[int, int]] = Counter()
    for piece in range(packing.pieces):
        for block in range(packing.blocks):
            found = meetings(packing, piece, block)
            inner = range(block * packing.width, min(shape[1], (block + 1) * packing.width))
            for reply in packing.replies(piece):
                rows, columns = (range(part.start, part.stop) for part in reply.results)
                cells = [(row, column) for row in rows for column in columns]
                for (row, column), place in zip(cells, reply.places, strict=True):
                    expected = [(row - rows.start, j, j * shape[2] + column + 1) for j in inner]
                    assert sorted(found[int(place)]) == expected
                    seen[row, column] += len(inner)
    assert seen == {(row, column): shape[1] for row in range(shape[0]) for column in range(shape[2])}


@pytest.mark.parametrize("shape", [(4, 4), (2, 16), (1, 64), (8, 1), (7, 5), (3, 7), (5, 40), (20, 3)])
def test_a_result_of_rows_is_its_sum_and_nothing_else(shape: tuple[int, int]) -> None:
    packing = RowsPacking(*shape, SMALL)
    assert packing.block_rows**2 * packing.width <= SMALL.degree
    seen: Counter[int] = Counter()
    for piece in range(packing.pieces):
        for block in range(packing.blocks):
            found = meetings(packing, piece, block)
            inner = range(block * packing.width, min(shape[1], (block + 1) * packing.width))
            for reply in packing.replies(piece):
                start = reply.rows.start
                for row, place in zip(range(start, reply.rows.stop), reply.places, strict=True):
                    expected = [(row - start, j, row * shape[1] + j + 1) for j in inner]
                    assert sorted(found[int(place)]) == expected
                    seen[row] += len(inner)
    assert seen == dict.fromkeys(range(shape[0]), shape[1])


def test_blocks_take_the_fewest_bytes() -> None:
    """Against all shapes of blocks, one by one."""
    rng = np.random.default_rng(3)
    for rows, inner, columns in rng.integers(1, 40, (30, 3)).tolist():
        packing = MatrixPacking(rows, inner, columns, SMALL)
        least = min(
            -(-columns // t) * (-(-inner // d) * 4 + -(-rows // n) * 3)
            for t in range(1, columns + 1)
            for n in range(1, rows + 1)
            for d in range(1, inner + 1)
            if n * d * t <= SMALL.degree
        )
        assert packing.requests * 4 + packing.answers * 3 == least, "of 4 limbs and of 3"


def test_polynomials_are_of_the_ring() -> None:
    packing = MatrixPacking(2, 3, 4, parameters_for(64))
    assert packing.polynomials(0, Z64.zeros((3, 4))).shape == (packing.blocks, 8192)
