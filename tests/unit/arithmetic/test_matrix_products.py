"""Matrix products of ring elements against the definition."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest

from cofit.arithmetic import IntegerRing, RingArray, Shape
from cofit.arithmetic.ring import matmul_shape
from cofit.errors import ShapeError
from unit.arithmetic.reference import Integers, mapped, matrix_product, packed, random_integers, unpacked

SHAPES: list[tuple[Shape, Shape]] = [
    ((3, 4), (4, 5)), ((3, 4), (4,)), ((4,), (4, 5)), ((4,), (4,)), ((1, 1), (1, 1)), ((1, 9), (9, 1)),
    ((17, 33), (33, 9)), ((33, 17), (17,)), ((17,), (17, 33)), ((65,), (65,)),
    ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((3, 4), (4, 0)), ((0, 4), (4,)), ((3, 0), (0,)), ((0,), (0, 5)),
    ((4,), (4, 0)), ((0,), (0,)), ((0, 0), (0, 0)),
]  # fmt: skip
LAYOUTS = ["C", "transposed", "strided"]


def laid_out(ring: IntegerRing, values: Integers, layout: str) -> RingArray:
    """Return the same elements, contiguous or as a view of something larger."""
    if layout == "transposed":
        return packed(ring, np.ascontiguousarray(values.T)).T
    if layout == "strided":
        wide = ring.zeros(tuple(2 * n for n in values.shape))
        view = wide[tuple(slice(None, None, 2) for _ in values.shape)]
        view[...] = packed(ring, values)
        return view
    return packed(ring, values)


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_matmul(ring: IntegerRing, shapes: tuple[Shape, Shape]) -> None:
    a, b = (random_integers(ring, shape, seed) for seed, shape in enumerate(shapes))
    want = matrix_product(ring, a, b)
    for layouts in itertools.product(LAYOUTS, repeat=2):
        got = ring.matmul(laid_out(ring, a, layouts[0]), laid_out(ring, b, layouts[1]))
        assert got.shape == want.shape
        assert unpacked(ring, got).tolist() == want.tolist(), layouts


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((6, 4), (4,)), ((4,), (4, 5)), ((4,), (4,))], ids=str)
@pytest.mark.parametrize("terms", [2, 3])
def test_matmul_sum(ring: IntegerRing, terms: int, shapes: tuple[Shape, Shape], layout: str) -> None:
    lhs = [random_integers(ring, shapes[0], 2 * t) for t in range(terms)]
    rhs = [random_integers(ring, shapes[1], 2 * t + 1) for t in range(terms)]
    got = ring.matmul_sum([laid_out(ring, x, layout) for x in lhs], [packed(ring, x) for x in rhs])
    want = matrix_product(ring, lhs[0], rhs[0])
    for a, b in zip(lhs[1:], rhs[1:], strict=True):
        want = mapped(ring, operator.add, want, matrix_product(ring, a, b))
    assert unpacked(ring, got).tolist() == want.tolist()


def test_terms_of_different_layouts(ring: IntegerRing) -> None:
    """One matrix lies by rows, the other by columns: neither kernel fits both without a copy."""
    mats = [random_integers(ring, (5, 3), t) for t in range(2)]
    vecs = [random_integers(ring, (3,), t + 2) for t in range(2)]
    want = mapped(ring, operator.add, *(matrix_product(ring, m, v) for m, v in zip(mats, vecs, strict=True)))
    for layouts in (("C", "transposed"), ("transposed", "C"), ("transposed", "transposed")):
        arrays = [laid_out(ring, m, layout) for m, layout in zip(mats, layouts, strict=True)]
        got = ring.matmul_sum(arrays, [packed(ring, v) for v in vecs])
        assert unpacked(ring, got).tolist() == want.tolist()


@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 4), (3, 4)), ((3,), (4,)), ((3, 4), (3,)), ((3,), (4, 3)), ((), (3,)), ((3,), ()), ((2, 3, 4), (4, 2)),
     ((2, 3), (2, 3, 4))],
)  # fmt: skip
def test_shapes_that_do_not_fit(ring: IntegerRing, a: Shape, b: Shape) -> None:
    with pytest.raises(ShapeError, match="Cannot multiply shapes"):
        ring.matmul(ring.zeros(a), ring.zeros(b))


def test_matmul_shape_is_that_of_numpy() -> None:
    for a, b in SHAPES:
        assert matmul_shape(a, b) == np.matmul(np.zeros(a), np.zeros(b)).shape
