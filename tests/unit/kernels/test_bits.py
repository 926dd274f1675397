"""Packed bits and bit planes."""

from __future__ import annotations

import numpy as np
import pytest

from cofit import kernels

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
@pytest.mark.parametrize("value", [2, 3, 128, 255])
def test_pack_refuses_other_values(position: int, value: int) -> None:
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
