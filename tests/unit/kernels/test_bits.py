"""Packed bits and bit planes."""

from __future__ import annotations

import numpy as np
import pytest

from cofit import kernels
from support.pairwise import pairwise

from .reference import decode, random_words

pytestmark = pytest.mark.usefixtures("isa")

SIZES = [0, 1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 129, 511, 512, 513, 577, 1021]


def words_for(n: int) -> int:
    return (n + 63) // 64


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_pack_and_unpack(rng: np.random.Generator, rows: int) -> None:
    for n in SIZES:
        bits = rng.integers(0, 2, size=(rows, n), dtype=np.uint8)
        packed = np.full((rows, words_for(n)), 2**64 - 1, dtype=np.uint64)
        kernels.pack_bits(bits, packed)
        for r in range(rows):
            number = sum(int(word) << (64 * w) for w, word in enumerate(packed[r]))
            assert number == sum(int(bit) << j for j, bit in enumerate(bits[r]))
        out = np.full((rows, n), 7, dtype=np.uint8)
        kernels.unpack_bits(packed, out)
        np.testing.assert_array_equal(out, bits)


def test_unpack_ignores_padding() -> None:
    out = np.full((2, 65), 7, dtype=np.uint8)
    kernels.unpack_bits(np.full((2, 2), 2**64 - 1, dtype=np.uint64), out)
    np.testing.assert_array_equal(out, np.ones((2, 65), dtype=np.uint8))


@pytest.mark.parametrize("position", [0, 7, 63, 64, 100])
def test_pack_refuses_other_values(position: int) -> None:
    for value in (2, 3, 128, 255):
        bits = np.zeros((1, 101), dtype=np.uint8)
        bits[0, position] = value
        with pytest.raises(ValueError, match="'bits' parameter of pack_bits must be an array of zeros and ones"):
            kernels.pack_bits(bits, np.zeros((1, 2), dtype=np.uint64))


def test_planes(rng: np.random.Generator, words: int) -> None:
    for n in SIZES:
        values = random_words(rng, (n,), words)
        planes = np.full((64 * words, words_for(n)), 2**64 - 1, dtype=np.uint64)
        kernels.to_planes(values, planes, words)
        numbers = decode(values, words)
        for b in range(0, 64 * words, 1 if n < 100 else 13):
            plane = sum(int(word) << (64 * w) for w, word in enumerate(planes[b]))
            assert plane == sum(((int(number) >> b) & 1) << i for i, number in enumerate(numbers))
        if n % 64:
            planes[:, -1] |= np.uint64(2**64 - 2 ** (n % 64))  # padding must not matter
        back = np.full_like(values, 7)
        kernels.from_planes(planes, back, words)
        np.testing.assert_array_equal(back, values)


@pytest.mark.parametrize("width", [1, 3, 4, 7, 8, 9, 21])
def test_bit_forms(rng: np.random.Generator, width: int) -> None:
    """Only the words from begin to end are written, and every one of them is the sum of the products that are named."""
    for rights, forms, lefts in pairwise((1, 3, 4, 5, 32, 63, 64), (1, 3, 7), (1, 2, 16)):
        matrix = random_words(rng, (forms, lefts), 1)
        matrix[0, 0] = 0
        left, right = random_words(rng, (lefts, width), 1), random_words(rng, (rights, width), 1)
        expected = np.zeros((forms, width), dtype=np.uint64)
        for r in range(forms):
            for p in range(lefts):
                for q in range(rights):
                    if int(matrix[r, p]) >> q & 1:
                        expected[r] ^= left[p] & right[q]
        for begin, end in {(0, width), (width // 3, width), (0, width // 2), (width // 3, width // 2 + 1), (1, 1)}:
            out = np.full((forms, width), 7, dtype=np.uint64)
            kernels.bit_forms(matrix, left, right, out, begin, end)
            np.testing.assert_array_equal(out[:, begin:end], expected[:, begin:end])
            assert (out[:, :begin] == 7).all() and (out[:, end:] == 7).all()


def test_bit_forms_ignore_bits_beyond_the_rows(rng: np.random.Generator) -> None:
    left, right = random_words(rng, (2, 5), 1), random_words(rng, (3, 5), 1)
    matrix = random_words(rng, (4, 2), 1)
    plain, full = (np.zeros((4, 5), dtype=np.uint64) for _ in range(2))
    kernels.bit_forms(matrix & np.uint64(7), left, right, plain, 0, 5)
    kernels.bit_forms(matrix | np.uint64(2**64 - 8), left, right, full, 0, 5)
    np.testing.assert_array_equal(plain, full)


def test_bit_forms_without_any_form_or_left_row() -> None:
    out = np.full((2, 3), 7, dtype=np.uint64)
    none = np.zeros((0, 3), dtype=np.uint64)
    kernels.bit_forms(np.zeros((2, 0), np.uint64), none, np.zeros((1, 3), np.uint64), out, 0, 3)
    np.testing.assert_array_equal(out, np.zeros((2, 3)))
    kernels.bit_forms(np.zeros((0, 1), np.uint64), np.zeros((1, 3), np.uint64), out, none.copy(), 0, 3)
