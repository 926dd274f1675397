"""GF(2^64) and rows of bits against carry-less products of Python integers."""

from __future__ import annotations

import numpy as np
import pytest

from cofit import kernels

from .proof_reference import all_masks, gf_form, gf_mul, grid_points, numbers, xor_of
from .reference import Words, random_words

pytestmark = pytest.mark.usefixtures("isa")

LARGEST = 2**64 - 1
SIZES = [0, 1, 2, 3, 7, 8, 9, 31]


def empty(*shape: int) -> Words:
    return np.full(shape, 0xDEADBEEF, dtype=np.uint64)


def test_products(rng: np.random.Generator) -> None:
    edges = [0, 1, 2, 0x1B, 2**60, 2**63, 2**64 - 2, LARGEST]
    for a in [*edges, *numbers(random_words(rng, (20,), 1))]:
        for b in [*edges, int(rng.integers(0, 2**64, dtype=np.uint64))]:
            assert kernels.gf_mul(a, b) == gf_mul(a, b)


def test_the_field_has_its_order() -> None:
    """x^(2^64) = x, and x^((2^64 - 1) / q) is not one for a prime q."""

    def power(a: int, exponent: int) -> int:
        result = 1
        for bit in bin(exponent)[2:]:
            result = kernels.gf_mul(result, result)
            result = kernels.gf_mul(result, a) if bit == "1" else result
        return result

    for a in (2, 3, 0xDEADBEEF12345678):
        assert power(a, 2**64) == a
    for factor in (3, 5, 17, 257, 641, 65537, 6700417):
        assert any(power(a, (2**64 - 1) // factor) != 1 for a in (2, 3, 7))


def test_scale(rng: np.random.Generator) -> None:
    for n in SIZES:
        values, weights = random_words(rng, (n,), 1), random_words(rng, (n,), 1)
        out = empty(n)
        kernels.gf_scale(values, weights, out)
        assert numbers(out) == [gf_mul(v, w) for v, w in zip(numbers(values), numbers(weights), strict=True)]
        one = random_words(rng, (1,), 1)
        expected = [gf_mul(v, int(one[0])) for v in numbers(values)]
        kernels.gf_scale(values, one, values)
        assert numbers(values) == expected


def test_fold(rng: np.random.Generator) -> None:
    for h in SIZES:
        x = random_words(rng, (2 * h,), 1)
        for r in (0, 1, LARGEST, int(rng.integers(0, 2**64, dtype=np.uint64))):
            expected = [int(x[i]) ^ gf_mul(r, int(x[i] ^ x[h + i])) for i in range(h)]
            out = empty(h)
            kernels.gf_fold(x, r, out)
            assert numbers(out) == expected
            same = x.copy()
            kernels.gf_fold(same, r, same[:h])
            assert numbers(same[:h]) == expected
            np.testing.assert_array_equal(same[h:], x[h:])


def check_forms(xs: list[Words], ys: list[Words], masks: list[int]) -> None:
    assert kernels.gf_form(xs, ys, masks) == gf_form([*map(numbers, xs)], [*map(numbers, ys)], masks)
    half = len(xs[0]) // 2
    x_low, y_low = ([numbers(array[:half]) for array in arrays] for arrays in (xs, ys))
    x_sum, y_sum = ([numbers(array[:half] ^ array[half:]) for array in arrays] for arrays in (xs, ys))
    assert kernels.gf_halves(xs, ys, masks) == (gf_form(x_low, y_low, masks), gf_form(x_sum, y_sum, masks))


@pytest.mark.parametrize("masks", all_masks(), ids=str)
def test_forms(rng: np.random.Generator, masks: list[int]) -> None:
    for h in (0, 1, 5, 16, 261) if len(masks) == 2 else (1, 9):
        xs, ys = ([random_words(rng, (2 * h,), 1) for _ in masks] for _ in range(2))
        check_forms(xs, ys, masks)


def test_forms_of_the_largest_elements() -> None:
    for m in (1, 3):
        arrays = [np.full(18, LARGEST, dtype=np.uint64)] * m
        check_forms(arrays, arrays, [2**m - 1] * m)


def test_outer(rng: np.random.Generator) -> None:
    for width in (0, 1, 3):
        omega, beta = random_words(rng, (width,), 1), random_words(rng, (64,), 1)
        x = random_words(rng, (64 * width,), 1)
        expected = [gf_mul(int(x[i]), gf_mul(int(omega[i // 64]), int(beta[i % 64]))) for i in range(64 * width)]
        out = empty(64 * width)
        kernels.gf_outer(omega, beta, x, out)
        assert numbers(out) == expected
        kernels.gf_outer(omega, beta, x, x)
        assert numbers(x) == expected


def check_grid(xs: list[Words], ys: list[Words], masks: list[int], beta: Words, omega: Words) -> None:
    out = empty(81)
    kernels.bit_grid(xs, ys, masks, beta, omega, out)
    expected = []
    for rows in grid_points():
        left = [np.bitwise_xor.reduce(x[rows], axis=0) for x in xs]
        right = [np.bitwise_xor.reduce(y[rows], axis=0) for y in ys]
        bits = np.zeros(len(omega), dtype=np.uint64)
        for x, mask in zip(left, masks, strict=True):
            for b, y in enumerate(right):
                if mask >> b & 1:
                    bits ^= x & y
        total = 0
        for weight, word in zip(numbers(omega), numbers(bits), strict=True):
            total ^= gf_mul(weight, xor_of(numbers(beta), word))
        expected.append(total)
    assert numbers(out) == expected


@pytest.mark.parametrize("masks", all_masks(), ids=str)
def test_grid(rng: np.random.Generator, masks: list[int]) -> None:
    for width in (0, 1, 7, 8, 19) if len(masks) == 2 else (3,):
        xs, ys = ([random_words(rng, (16, width), 1) for _ in masks] for _ in range(2))
        check_grid(xs, ys, masks, random_words(rng, (64,), 1), random_words(rng, (width,), 1))


def test_grid_of_the_largest_words() -> None:
    largest = np.full((16, 33), LARGEST, dtype=np.uint64)
    single = largest.copy()
    single[1:] = 0
    beta = np.uint64(1) << np.arange(64, dtype=np.uint64)
    check_grid([largest, single], [single, single], [3, 1], beta, largest[0])
    check_grid([single], [single], [1], largest[0].repeat(2)[:64].copy(), largest[0])


def test_gather(rng: np.random.Generator) -> None:
    for count, width in [(1, 3), (2, 1), (7, 5), (8, 8), (9, 9), (16, 17), (16, 0), (81, 2), (255, 1), (256, 9)]:
        rows, coefs = random_words(rng, (count, width), 1), random_words(rng, (count,), 1)
        out = empty(64 * width)
        kernels.bit_gather(rows, coefs, out)
        columns = [numbers(rows[:, v]) for v in range(width)]
        expected = [
            xor_of(numbers(coefs), sum((word >> b & 1) << q for q, word in enumerate(column)))
            for column in columns
            for b in range(64)
        ]
        assert numbers(out) == expected


def test_weighted(rng: np.random.Generator) -> None:
    for count, width in [(1, 1), (3, 9), (16, 8), (256, 1), (2, 0)]:
        rows, coefs = random_words(rng, (count, width), 1), random_words(rng, (count,), 1)
        beta, omega = random_words(rng, (64,), 1), random_words(rng, (width,), 1)
        expected = 0
        for q in range(count):
            for v in range(width):
                expected ^= gf_mul(int(coefs[q]), gf_mul(int(omega[v]), xor_of(numbers(beta), int(rows[q, v]))))
        assert kernels.bit_weighted(rows, coefs, beta, omega) == expected
