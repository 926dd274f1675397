"""Linear combinations and bilinear forms of arrays, in all rings, against Python integers."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.arithmetic import F61, Z64, Z128, IntegerRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.errors import RingMismatchError, ShapeError
from unit.arithmetic.reference import Integers, integers, packed, random_integers, signed, unpacked

WORDS = (Z64, Z128, BITS)


def reduced(ring: IntegerRing, values: Integers) -> Integers:
    return integers([signed(ring, int(v)) for v in np.asarray(values, dtype=object).flat], np.shape(values))


def drawn(ring: IntegerRing, count: int, shape: Shape, seed: int) -> list[Integers]:
    return [random_integers(ring, shape, 100 * seed + i) for i in range(count)]


def elements(ring: IntegerRing, arrays: list[Integers]) -> list[RingArray]:
    return [packed(ring, x) for x in arrays]


@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3), (0, 4), (130,)], ids=str)
def test_combinations(ring: IntegerRing, shape: Shape) -> None:
    for count, outs in ((1, 1), (3, 2), (12, 5)):
        arrays, matrix = drawn(ring, count, shape, count), random_integers(ring, (outs, count), outs)
        got = ring.combined(elements(ring, arrays), packed(ring, matrix))
        assert isinstance(got, tuple)
        assert len(got) == outs
        for array, row in zip(got, matrix, strict=True):
            want = reduced(ring, sum((x * int(f) for x, f in zip(arrays, row, strict=True)), np.zeros(shape, object)))
            assert unpacked(ring, array).tolist() == want.tolist()
            assert array.shape == shape


def test_many_arrays(ring: IntegerRing) -> None:
    arrays, matrix = drawn(ring, 40, (9,), 3), random_integers(ring, (40, 40))
    got = ring.combined(elements(ring, arrays), packed(ring, matrix))
    want = reduced(ring, matrix @ np.stack(arrays))
    assert [unpacked(ring, x).tolist() for x in got] == want.tolist()
    total = ring.signed_sum(elements(ring, arrays), elements(ring, arrays[1:]))
    assert unpacked(ring, total).tolist() == arrays[0].tolist()


@pytest.mark.parametrize(
    ("left", "right"),
    [((), ()), ((7,), (7,)), ((2, 3), (2, 3)), ((0, 4), (0, 4)), ((130,), (130,)), ((4, 3), (3,)), ((3,), (4, 3)),
     ((4, 1), (3,)), ((5,), ())],
    ids=str,
)  # fmt: skip
def test_bilinear_forms_broadcast(ring: IntegerRing, left: Shape, right: Shape) -> None:
    shape = np.broadcast_shapes(left, right)
    for terms, adds, subtracts in ((1, 0, 0), (2, 1, 2), (3, 40, 40)):
        a, b = drawn(ring, terms, left, 1), drawn(ring, terms, right, 2)
        plus, minus = drawn(ring, adds, shape, 3), drawn(ring, subtracts, shape, 4)
        matrix = random_integers(ring, (terms, terms))
        want = sum(plus, np.zeros(shape, object)) - sum(minus, np.zeros(shape, object))
        for c in range(terms):
            for d in range(terms):
                want = want + int(matrix[c, d]) * (a[c] * b[d])
        x, y = elements(ring, a), elements(ring, b)
        got = ring.bilinear(x, y, packed(ring, matrix), elements(ring, plus), elements(ring, minus))
        assert got.shape == shape
        assert unpacked(ring, got).tolist() == reduced(ring, want).tolist()
        if not adds and not subtracts:
            assert (ring.bilinear(x, y, packed(ring, matrix)) == got).all()


def test_arrays_with_other_strides(ring: IntegerRing) -> None:
    stored = drawn(ring, 3, (6, 5), 1)
    matrix = random_integers(ring, (3, 3))
    views = [x.T[::2] for x in elements(ring, stored)]
    plain = [np.ascontiguousarray(x) for x in views]
    transposed = packed(ring, matrix.T).T
    for got, want in zip(ring.combined(views, transposed), ring.combined(plain, packed(ring, matrix)), strict=True):
        assert (got == want).all()
    got = ring.bilinear(views, views[::-1], transposed, views[:1], views[1:2])
    assert (got == ring.bilinear(plain, plain[::-1], packed(ring, matrix), plain[:1], plain[1:2])).all()


def test_nothing_is_changed_and_nothing_is_shared(ring: IntegerRing) -> None:
    arrays = elements(ring, drawn(ring, 2, (70,), 1))
    before = [x.copy() for x in arrays]
    unit = packed(ring, integers([1, 0, 0, 1], (2, 2)))
    got = ring.combined(arrays, unit)
    form = ring.bilinear(arrays, arrays, unit)
    for x, y, copy in zip(arrays, got, before, strict=True):
        assert (x == y).all()
        assert not np.shares_memory(x, y)
        y[...] = form
        assert (x == copy).all()
    assert not np.shares_memory(got[0], got[1])


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 200])
def test_bits(n: int) -> None:
    """A coefficient is a word of bits as well: usually none or all of them."""
    rng = np.random.default_rng(n)
    a, b = rng.integers(0, 2**64, (2, 3, n), dtype=np.uint64)
    masks = rng.integers(0, 2, (3, 3), dtype=np.uint64) * np.uint64(2**64 - 1)
    masks[1, 1] = 0xF0F0
    rows = [(a[0] & f) ^ (a[1] & g) ^ (a[2] & h) for f, g, h in masks]
    np.testing.assert_array_equal(BITS.combined(list(a), masks), rows)
    want = a[2] ^ b[0] ^ b[1]
    for c in range(3):
        for d in range(3):
            want = want ^ (masks[c, d] & a[c] & b[d])
    np.testing.assert_array_equal(BITS.bilinear(list(a), list(b), masks, [a[2], b[0]], [b[1]]), want)
    column = [x.reshape(-1, 1) for x in a]
    broadcast = BITS.bilinear(column, list(b), masks)
    assert broadcast.shape == (n, n)
    if n:
        np.testing.assert_array_equal(np.diagonal(broadcast), want ^ a[2] ^ b[0] ^ b[1])


@pytest.mark.parametrize("ring", WORDS, ids=str)
def test_other_elements_and_shapes_are_refused(ring: Ring) -> None:
    good, other = ring.zeros((2, 3)), (Z64 if ring is Z128 else Z128).zeros((2, 3))
    square = ring.zeros((1, 1))
    for arrays, coefficients in (([other], square), ([good], other[:1, :1])):
        with pytest.raises(RingMismatchError):
            ring.combined(arrays, coefficients)
        with pytest.raises(RingMismatchError):
            ring.bilinear(arrays, [good], coefficients)
    with pytest.raises(ValueError, match="'coefficients' parameter of combine"):
        ring.combined([good], ring.zeros((1, 2)))
    with pytest.raises(ValueError, match=r"'inputs\[1\]' parameter of combine"):
        ring.combined([good, good[:1]], ring.zeros((1, 2)))
    with pytest.raises(ShapeError):
        ring.bilinear([good], [ring.zeros((3, 2))], square)


def test_the_field_reduces_every_result() -> None:
    high = np.full(4, F61.modulus - 1, np.uint64)
    (got,) = F61.combined([high] * 40, np.full((1, 40), F61.modulus - 1, np.uint64))
    assert got.tolist() == [40] * 4
