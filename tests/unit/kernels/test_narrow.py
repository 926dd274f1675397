"""Numbers of a few bytes, and truncation with them, against Python integers."""

from __future__ import annotations

import numpy as np
import pytest

from cofit import kernels

from .reference import Integers, Words, decode, encode, random_words, reduce

pytestmark = pytest.mark.usefixtures("isa")

SIZES = [0, 1, 2, 7, 8, 65, 127, 128, 129, 300]


@pytest.fixture(params=[1, 2])
def words(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def unpacked(array: Words, size: int, n: int, fill: Words) -> Integers:
    data = array.tobytes()
    assert data[n * size :] == fill.tobytes()[n * size :], "what is left of the last word is the mask's"
    found = np.empty(n, object)
    found[:] = [int.from_bytes(data[i * size : (i + 1) * size], "little") for i in range(n)]
    return found


def drawn(rng: np.random.Generator, n: int, size: int) -> tuple[Words, Integers]:
    """Uniform numbers, with noise in what is left of the last word."""
    data = rng.bytes(8 * -(-n * size // 8))
    array = np.frombuffer(data, np.uint64).copy()
    found = np.empty(n, object)
    found[:] = [int.from_bytes(data[i * size : (i + 1) * size], "little") for i in range(n)]
    return array, found


def empty(n: int, size: int) -> Words:
    return np.full(-(-n * size // 8), 0x0707070707070707, np.uint64)


def test_narrow_and_widen(rng: np.random.Generator, words: int) -> None:
    for n in SIZES:
        values = random_words(rng, (n,), words)
        for size in range(1, 8 * words + 1):
            out, (noisy, numbers) = empty(n, size), drawn(rng, n, size)
            kernels.narrow(values, size, noisy, out, words)
            expected = decode(values, words) % (1 << 8 * size)
            np.testing.assert_array_equal(unpacked(out, size, n, noisy), expected)
            back = np.full(n * words, 7, np.uint64)
            kernels.widen(out, size, back, words)
            np.testing.assert_array_equal(decode(back, words), expected)
            kernels.widen(noisy, size, back, words)
            np.testing.assert_array_equal(decode(back, words), numbers)


@pytest.mark.parametrize("n", SIZES)
def test_every_step_of_a_truncation(rng: np.random.Generator, words: int, n: int) -> None:
    bits = 64 * words
    for shift in (1, 8, 9, 24, 30, 33, 57, min(65, bits - 3), bits - 2):
        size = -(-shift // 8)
        r_0, r_1, share, *opened = (random_words(rng, (n,), words) for _ in range(6))
        (top, top_numbers), (hidden, hidden_numbers), (third, third_numbers) = (drawn(rng, n, size) for _ in range(3))
        mask = reduce(decode(r_0, words) + decode(r_1, words), words)
        out, high = np.full(n * words, 7, np.uint64), empty(n, size)
        kernels.mask_parts(r_0, r_1, share, top, shift, out, high, words)
        np.testing.assert_array_equal(out, encode(reduce(-(mask >> shift) - decode(share, words), words), words))
        expected = ((mask >> bits - 1) - top_numbers) % (1 << 8 * size)
        np.testing.assert_array_equal(unpacked(high, size, n, top), expected)

        c = reduce(sum((decode(o, words) for o in opened), np.full(n, 1 << bits - 2, object)), words)
        kernels.open_masked(opened, top, hidden, shift, out, high, words)
        shifted = (c >> shift) - ((1 << bits - 2) >> shift)
        np.testing.assert_array_equal(out, encode(reduce(shifted, words), words))
        expected = ((1 - (c >> bits - 1)) * top_numbers - hidden_numbers) % (1 << 8 * size)
        np.testing.assert_array_equal(unpacked(high, size, n, hidden), expected)

        for parts, numbers in (([top], top_numbers), ([hidden, third], hidden_numbers + third_numbers)):
            kernels.add_high(share, parts, shift, out, words)
            expected = decode(share, words) + (numbers << bits - shift)
            np.testing.assert_array_equal(out, encode(reduce(expected, words), words))
        kernels.add_high(share, [third], shift, share, words)
        np.testing.assert_array_equal(share, encode(reduce(decode(share, words), words), words))


@pytest.mark.parametrize("shift", [1, 20, 33, 61, 62])
def test_a_whole_truncation(rng: np.random.Generator, words: int, shift: int) -> None:
    """As in sharing/rep3/proof.md: the summands of all parties make z / 2^shift, up to the carry."""
    bits, n, size = 64 * words, 1000, -(-shift // 8)
    limit = 1 << (bits - 2)
    z = np.array([int(v) % (2 * limit) - limit for v in decode(random_words(rng, (n,), words), words)], dtype=object)
    r_0, r_1, out_0 = (random_words(rng, (n,), words) for _ in range(3))
    (top_0, _), (high_0, first), (high_2, last) = (drawn(rng, n, size) for _ in range(3))
    out_2, opened, y_1 = (np.empty(n * words, np.uint64) for _ in range(3))
    top_1, heard_0, heard_1 = (empty(n, size) for _ in range(3))
    kernels.mask_parts(r_0, r_1, out_0, top_0, shift, out_2, top_1, words)
    masked = [encode(reduce(z, words), words), r_0, r_1]
    kernels.open_masked(masked, top_0, high_0, shift, opened, heard_0, words)
    kernels.open_masked(masked, top_1, high_2, shift, opened, heard_1, words)
    kernels.add_high(opened, [heard_0, heard_1], shift, y_1, words)
    y_0, y_2 = (np.empty(n * words, np.uint64) for _ in range(2))
    kernels.add_high(out_0, [high_0], shift, y_0, words)
    kernels.add_high(out_2, [high_2], shift, y_2, words)
    result = sum(decode(y, words) for y in (y_0, y_1, y_2))
    assert set(reduce(result - (z >> shift), words)) <= {0, 1}
    assert len(set(first)) > 1 < len(set(last))


def z(n: int) -> Words:
    return np.zeros(n, np.uint64)


def test_arguments_that_do_not_fit_are_refused_by_name() -> None:
    for size in (0, 9):
        with pytest.raises(ValueError, match=r"'bytes' parameter of narrow must be a number from 1 to 8"):
            kernels.narrow(z(3), size, z(3), z(3), 1)
        with pytest.raises(ValueError, match=r"'bytes' parameter of widen must be a number from 1 to 8"):
            kernels.widen(z(3), size, z(3), 1)
    with pytest.raises(ValueError, match=r"'out' parameter of narrow must be an array of shape \(2,\)"):
        kernels.narrow(z(3), 5, z(2), z(3), 1)
    with pytest.raises(ValueError, match=r"'packed' parameter of widen must be an array of shape \(2,\)"):
        kernels.widen(z(1), 5, z(3), 1)
    with pytest.raises(ValueError, match=r"'out_top' parameter of mask_parts must be an array of shape \(1,\)"):
        kernels.mask_parts(z(3), z(3), z(3), z(1), 9, z(3), z(3), 1)
    with pytest.raises(ValueError, match=r"'out_share' parameter of mask_parts must be memory of its own"):
        shared = z(3)
        kernels.mask_parts(z(3), z(3), shared, z(1), 9, shared, z(1), 1)
    with pytest.raises(ValueError, match=r"'hidden' parameter of open_masked must be an array of shape \(2,\)"):
        kernels.open_masked([z(3)], z(2), z(1), 33, z(3), z(2), 1)
    with pytest.raises(ValueError, match=r"'parts\[1\]' parameter of add_high must be an array of shape \(2,\)"):
        kernels.add_high(z(3), [z(2), z(1)], 33, z(3), 1)


def test_a_shift_that_leaves_one_bit_is_refused() -> None:
    """The number that is added before a truncation, 2^(k-2), would not be a whole number after it."""
    for words in (1, 2):
        n, most = 3 * words, 64 * words - 2
        refused = rf"'shift' parameter of {{}} must be a number from 1 to {most}"
        for shift in (0, most + 1, most + 2):
            with pytest.raises(ValueError, match=refused.format("mask_parts")):
                kernels.mask_parts(z(n), z(n), z(n), z(n), shift, z(n), z(n), words)
            with pytest.raises(ValueError, match=refused.format("open_masked")):
                kernels.open_masked([z(n)], z(n), z(n), shift, z(n), z(n), words)
            with pytest.raises(ValueError, match=refused.format("add_high")):
                kernels.add_high(z(n), [z(n)], shift, z(n), words)
