"""The local steps of replicated sharing against Python integers."""

from __future__ import annotations

import numpy as np
import pytest

from cofit import kernels

from .reference import Integers, Words, decode, encode, random_words, reduce

pytestmark = pytest.mark.usefixtures("isa")

SIZES = [0, 1, 7, 8, 65, 511, 512, 513, 1030]


def drawn(rng: np.random.Generator, count: int, n: int, words: int) -> list[Words]:
    return [random_words(rng, (n,), max(words, 1)) for _ in range(count)]


def values(arrays: list[Words], words: int) -> list[Integers]:
    return [decode(array, max(words, 1)) for array in arrays]


def total(words: int, plus: list[Integers], minus: list[Integers], n: int) -> Words:
    """The sum over the ring, or the XOR where ``words`` is 0."""
    result = np.zeros(n, dtype=object)
    for value in plus:
        result = result ^ value if words == 0 else result + value
    for value in minus:
        result = result ^ value if words == 0 else result - value
    return encode(reduce(result, max(words, 1)), max(words, 1))


@pytest.mark.parametrize("words", [0, 1, 2])
def test_signed_sum(rng: np.random.Generator, words: int) -> None:
    for n in SIZES:
        for adds, subtracts in ((1, 0), (0, 1), (2, 2), (8, 8), (40, 40)):
            plus, minus = drawn(rng, adds, n, words), drawn(rng, subtracts, n, words)
            expected = total(words, values(plus, words), values(minus, words), n)
            out = np.full(n * max(words, 1), 7, np.uint64)
            kernels.signed_sum(plus, minus, out, words)
            np.testing.assert_array_equal(out, expected)
            target = (plus or minus)[0]
            kernels.signed_sum(plus, minus, target, words)
            np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("words", [0, 1, 2])
def test_cross_product(rng: np.random.Generator, words: int) -> None:
    for n in SIZES:
        a, b, plus, minus = (drawn(rng, count, n, words) for count in (2, 2, 3, 1))
        (a_0, a_1), (b_0, b_1) = values(a, words), values(b, words)
        terms = [a_0 & (b_0 ^ b_1), a_1 & b_0] if words == 0 else [a_0 * (b_0 + b_1), a_1 * b_0]
        expected = total(words, [*terms, *values(plus, words)], values(minus, words), n)
        out = np.full(n * max(words, 1), 7, np.uint64)
        kernels.cross_product(a, b, plus, minus, out, words)
        np.testing.assert_array_equal(out, expected)
        kernels.cross_product(a, b, plus, minus, b[1], words)
        np.testing.assert_array_equal(b[1], expected)
        kernels.cross_product(a, [b[0], b[0]], [], [], out, words)
        squares = [a_0 & (b_0 ^ b_0), a_1 & b_0] if words == 0 else [a_0 * (b_0 + b_0), a_1 * b_0]
        np.testing.assert_array_equal(out, total(words, squares, [], n))


@pytest.mark.parametrize("cols", [1, 3, 8, 100, 513, 1030])
def test_squared_distances(rng: np.random.Generator, words: int, cols: int) -> None:
    for rows in (0, 1, 2, 7):
        n = rows * cols
        a, plus, minus = (drawn(rng, count, n, words) for count in (2, 3, 1))
        row = drawn(rng, 2, cols, words)
        own, following = (x - np.tile(m, rows) for x, m in zip(values(a, words), values(row, words), strict=True))
        terms = [own * own, 2 * own * following]
        expected = total(words, [*terms, *values(plus, words)], values(minus, words), n)
        out = np.full(n * words, 7, np.uint64)
        kernels.squared_distances(a, row, plus, minus, out, words)
        np.testing.assert_array_equal(out, expected)
        kernels.squared_distances(a, row, [], [], a[0], words)
        np.testing.assert_array_equal(a[0], total(words, terms, [], n))


def test_squared_distances_of_extreme_elements(words: int) -> None:
    least, most = (encode(reduce(np.array([v] * 9, object), words), words) for v in (-(2 ** (64 * words - 1)), -1))
    out = np.empty(9 * words, np.uint64)
    kernels.squared_distances([least, most], [most, least], [], [], out, words)
    own = -(2 ** (64 * words - 1)) + 1
    np.testing.assert_array_equal(out, encode(reduce(np.array([own * (own - 2 * own)] * 9, object), words), words))


@pytest.mark.parametrize("cols", [0, 1, 63, 64, 65, 200])
@pytest.mark.parametrize("adds_bits", [False, True])
def test_signed_by_bits(rng: np.random.Generator, words: int, cols: int, adds_bits: bool) -> None:
    for rows in (0, 1, 3):
        n = rows * cols
        bits = rng.integers(0, 2, (rows, cols), dtype=np.uint8)
        packed = np.empty((rows, -(-cols // 64)), np.uint64)
        kernels.pack_bits(bits, packed)
        packed[:, cols // 64 :] |= ~np.uint64(0) << np.uint64(cols % 64)  # what pads is not read
        b = bits.reshape(-1).astype(object)
        a, minus = (drawn(rng, 1, n, words) for _ in range(2))
        for given, taken in ((a, minus), (a, []), ([], minus)):
            flipped = [(1 - 2 * b) * value for value in values(given, words)] + [b] * adds_bits
            expected = total(words, flipped, values(taken, words), n)
            out = np.full((rows, cols * words), 7, np.uint64)
            kernels.signed_by_bits(packed, given, adds_bits, taken, out, words)
            np.testing.assert_array_equal(out.reshape(-1), expected)


def test_unmask(rng: np.random.Generator, words: int) -> None:
    bits = 64 * words
    for n in SIZES:
        opened, (share, top, out_mask) = drawn(rng, 3, n, words), drawn(rng, 3, n, words)
        c = reduce(sum(values(opened, words), np.full(n, 1 << (bits - 2), dtype=object)), words)
        for shift in (1, 24, min(65, bits - 3), bits - 2):
            wrap = (1 - (c >> (bits - 1))) * decode(top, words) * (1 << (bits - shift))
            minus = [decode(share, words), decode(out_mask, words)]
            for adds_opened in (False, True):
                shifted = [(c >> shift) - ((1 << (bits - 2)) >> shift)] if adds_opened else []
                out = np.full(n * words, 7, np.uint64)
                kernels.unmask(opened, share, top, out_mask, shift, adds_opened, out, words)
                np.testing.assert_array_equal(out, total(words, [wrap, *shifted], minus, n))


def test_any_shape_is_taken_as_flat(rng: np.random.Generator) -> None:
    a, b = (rng.integers(0, 2**64, (2, 3, 5), dtype=np.uint64) for _ in range(2))
    out = np.empty((2, 3, 5), np.uint64)
    kernels.signed_sum([a], [b], out, 1)
    np.testing.assert_array_equal(out, a - b)
    single = np.empty((), np.uint64)
    kernels.signed_sum([np.asarray(a[0, 0, 0])], [], single, 1)
    assert single == a[0, 0, 0]
    with pytest.raises(ValueError, match=r"'plus\[0\]' parameter of signed_sum must be a C-contiguous array"):
        kernels.signed_sum([a[:, ::2]], [], np.empty((2, 2, 5), np.uint64), 1)


def z(n: int) -> Words:
    return np.zeros(n, np.uint64)


def test_arguments_that_do_not_fit_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"'words' parameter of signed_sum must be 1 .* or 0 .* Got 3"):
        kernels.signed_sum([z(2)], [], z(2), 3)
    with pytest.raises(ValueError, match=r"'plus\[1\]' parameter of signed_sum must be an array of shape \(2,\)"):
        kernels.signed_sum([z(2), z(3)], [], z(2), 1)
    with pytest.raises(ValueError, match=r"'minus' parameter of signed_sum must be a list of 1 to 64 arrays"):
        kernels.signed_sum([], [z(2)] * 65, z(2), 1)
    with pytest.raises(ValueError, match=r"'b' parameter of cross_product must be a list of 2 arrays"):
        kernels.cross_product([z(2), z(2)], [z(2)], [], [], z(2), 1)
    with pytest.raises(ValueError, match=r"'out' parameter of cross_product must be memory of its own or exactly"):
        shared = z(6)
        kernels.cross_product([shared[:4], z(4)], [z(4), z(4)], [], [], shared[2:], 1)
    with pytest.raises(ValueError, match=r"'out' parameter of signed_sum must be an array of whole elements"):
        kernels.signed_sum([z(3)], [], z(3), 2)
    for words, shift in ((1, 0), (1, 63), (1, 64), (2, 127)):
        most = 64 * words - 2
        with pytest.raises(ValueError, match=rf"'shift' parameter of unmask must be a number from 1 to {most}"):
            kernels.unmask([z(2)], z(2), z(2), z(2), shift, True, z(2), words)
