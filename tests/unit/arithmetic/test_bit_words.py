"""GF(2)^64: XOR and AND of words as a ring."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from cofit.arithmetic import Z128
from cofit.arithmetic.bit_words import BITS
from cofit.errors import InvalidInputError, RingMismatchError, ShapeError


@pytest.fixture
def words() -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    return np.random.default_rng(7).integers(0, 2**64, size=(2, 3, 5), dtype=np.uint64)


Words = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]


def test_sum_and_difference_are_xor(words: Words) -> None:
    a, b = words
    for got in (BITS.add(a, b), BITS.sub(a, b)):
        assert got.tolist() == [
            [int(x) ^ int(y) for x, y in zip(*rows, strict=True)] for rows in zip(a, b, strict=True)
        ]
    assert not BITS.add(a, a).any()
    assert (BITS.neg(a) == a).all()


def test_product_is_and(words: Words) -> None:
    a, b = words
    want = [[int(x) & int(y) for x, y in zip(*rows, strict=True)] for rows in zip(a, b, strict=True)]
    assert BITS.mul(a, b).tolist() == want


def test_mul_sum_is_xor_of_ands(words: Words) -> None:
    a, b = words
    c = a[::-1]
    assert (BITS.mul_sum([a, b, c], [b, c, a]) == (a & b) ^ (b & c) ^ (c & a)).all()
    assert (BITS.mul_sum([a], [b]) == a & b).all()


def test_mul_sum_leaves_its_operands_alone(words: Words) -> None:
    a, b = words.copy()
    before = a.copy(), b.copy()
    BITS.mul_sum([a, b], [b, a])
    assert (a == before[0]).all()
    assert (b == before[1]).all()


def test_sum_is_xor_over_an_axis(words: Words) -> None:
    a = words[0]
    assert (BITS.sum(a, 0) == a[0] ^ a[1] ^ a[2]).all()
    assert int(BITS.sum(a)) == int(np.bitwise_xor.reduce(a.reshape(-1)))
    assert BITS.sum(a).shape == ()
    assert int(BITS.sum(np.zeros(0, np.uint64))) == 0


def test_broadcasting(words: Words) -> None:
    a = words[0]
    assert (BITS.mul(a, a[:1]) == a & a[0]).all()
    assert (BITS.add(a[:, :1], a[:1]) == a[:, :1] ^ a[:1]).all()
    for operation in (BITS.add, BITS.sub, BITS.mul):
        with pytest.raises(ShapeError):
            operation(a, a[:2])


def test_mul_sum_keeps_a_broadcast_shape(words: Words) -> None:
    a = words[0]
    assert (BITS.mul_sum([a, a], [a[:1], a]) == (a & a[:1]) ^ a).all()


def test_other_elements_are_refused(words: Words) -> None:
    good, bad = words[0], Z128.zeros((3, 5))
    for operation in (BITS.add, BITS.sub, BITS.mul):
        with pytest.raises(RingMismatchError):
            operation(good, bad)
    for bad_words in (bad, np.zeros((3, 5), np.int64)):
        with pytest.raises(RingMismatchError):
            BITS.neg(bad_words)
        with pytest.raises(RingMismatchError):
            BITS.sum(bad_words)
        with pytest.raises(RingMismatchError):
            BITS.to_int(bad_words)


def test_there_is_no_matrix_product(words: Words) -> None:
    with pytest.raises(InvalidInputError, match="not defined"):
        BITS.matmul(words[0], words[0].T)


def test_integers() -> None:
    assert BITS.from_int(np.array([0, 1, 2**64 - 1], dtype=np.uint64)).tolist() == [0, 1, 2**64 - 1]
    assert BITS.to_int(BITS.from_int([3])).tolist() == [3]
    assert (BITS.bits, BITS.element_bytes) == (1, 8)
    assert pickle.loads(pickle.dumps(BITS)) is BITS


@pytest.mark.parametrize("values", [[1.5], np.array([-1]), np.array([1j])], ids=repr)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_what_is_no_word_is_refused(values: object) -> None:
    with pytest.raises(InvalidInputError):
        BITS.from_int(values)
