"""The local engine: products where the arrays are, the same as the ring's own."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.arithmetic import Generator, IntegerRing, RingArray
from cofit.arithmetic.engine import LOCAL
from cofit.errors import InvalidInputError


def drawn(ring: IntegerRing, *shapes: tuple[int, ...]) -> list[RingArray]:
    generator = Generator(bytes(range(32)))
    return [generator.ring(ring, shape) for shape in shapes]


def test_products_are_those_of_the_ring(ring: IntegerRing) -> None:
    a, b, v, w, x, y = drawn(ring, (5, 3), (5, 3), (3,), (3,), (5,), (5,))
    placed = LOCAL.place(ring, (a, b))
    assert (placed.shape, placed.count, placed.ring) == ((5, 3), 2, ring)
    np.testing.assert_array_equal(placed.matmul_sum((v, w)), ring.add(ring.matmul(a, v), ring.matmul(b, w)))
    back = placed.transposed().matmul_sum((x, y))
    np.testing.assert_array_equal(back, ring.add(ring.matmul(a.T, x), ring.matmul(b.T, y)))
    np.testing.assert_array_equal(placed.only(1).matmul_sum((v,)), ring.matmul(b, v))
    for got, part in zip(placed.matmul(v), (a, b), strict=True):
        np.testing.assert_array_equal(got, ring.matmul(part, v))
    pairs = placed.matvec_pairs((v, w, w, v))
    for got, (part, vector) in zip(pairs, ((a, v), (a, w), (b, w), (b, v)), strict=True):
        np.testing.assert_array_equal(got, ring.matmul(part, vector))


def test_inner_products_of_chosen_pairs(ring: IntegerRing) -> None:
    a, b, c, d = drawn(ring, (5, 3), (5, 3), (5, 3), (5, 3))
    left, right = LOCAL.place(ring, (a, b)), LOCAL.place(ring, (c, d))
    got = left.inner_sum((0, 1, 1), right, (1, 0, 1))
    np.testing.assert_array_equal(got, ring.inner_sum((a, b, b), (d, c, d)))
    if ring.reduces:
        shifted = left.inner_sum((0,), right, (1,), 7)
        np.testing.assert_array_equal(shifted, ring.inner_sum((ring.sar(a, 7),), (ring.sar(d, 7),)))
    else:
        with pytest.raises(InvalidInputError, match=r"Shifting the summands of a value needs a ring Z_2\^k"):
            left.inner_sum((0,), right, (1,), 7)


def test_nothing_is_copied(ring: IntegerRing) -> None:
    (a,) = drawn(ring, (5, 3))
    placed = LOCAL.place(ring, (a,))
    block = placed.block((slice(1, 4), slice(0, 2)))
    assert block.shape == (3, 2)
    for view in (placed, placed.transposed(), block, placed.only(0)):
        assert np.shares_memory(view.fetch()[0], a)
