"""Sums and products of relations against Python integers."""

from __future__ import annotations

import numpy as np
import pytest

from cofit import kernels

from .proof_reference import SUMS, all_masks, bits_of, coefficients_of, form, limbs
from .reference import Words, decode, encode, integers, random_words, reduce

pytestmark = pytest.mark.usefixtures("isa")

SIZES = [0, 1, 2, 3, 17, 130]


def filled(*shape: int) -> Words:
    """An output whose old content must not matter."""
    return np.full(shape, 0xDEADBEEF, dtype=np.uint64)


def chosen_sums(values: list[int], bits: list[int]) -> list[int]:
    return [sum(value for value, b in zip(values, bits, strict=True) if b >> k & 1) for k in range(SUMS)]


def check_subset_sums(values: Words, coefficients: np.typing.NDArray[np.uint8], words: int) -> None:
    out = filled(SUMS * words)
    kernels.subset_sums(values, coefficients, out, words)
    expected = chosen_sums(list(decode(values, words)), bits_of(coefficients))
    np.testing.assert_array_equal(out, encode(reduce(integers((SUMS,), expected), words), words))


def test_subset_sums(rng: np.random.Generator, words: int) -> None:
    for n in SIZES:
        check_subset_sums(random_words(rng, (n,), words), coefficients_of(rng, n), words)
    largest = np.full(300 * words, 2**64 - 1, dtype=np.uint64)
    check_subset_sums(largest, np.full((300, 7), 255, dtype=np.uint8), words)


def check_claimed_sums(
    xs: list[Words],
    ys: list[Words],
    masks: list[int],
    coefficients: np.typing.NDArray[np.uint8],
    terms: int,
    words: int,
) -> None:
    out = filled(SUMS, 2 * words + 1)
    kernels.claimed_sums(xs, ys, masks, coefficients, terms, out, words)
    forms = form([decode(x, words) for x in xs], [decode(y, words) for y in ys], masks)
    claims = [int(sum(claim)) for claim in forms.reshape(len(coefficients), terms)]
    expected = [limbs(total, 2 * words + 1) for total in chosen_sums(claims, bits_of(coefficients))]
    np.testing.assert_array_equal(out, np.array(expected, dtype=np.uint64))


@pytest.mark.parametrize("masks", all_masks(), ids=str)
def test_claimed_sums(rng: np.random.Generator, words: int, masks: list[int]) -> None:
    for n, terms in [(0, 1), (1, 1), (5, 3), (130, 1), (33, 2), (3, 63), (4, 64), (2, 65), (1, 200)]:
        if len(masks) == 20 and n * terms > 100:
            continue
        xs, ys = ([random_words(rng, (n * terms,), words) for _ in masks] for _ in range(2))
        check_claimed_sums(xs, ys, masks, coefficients_of(rng, n), terms, words)


def test_claimed_sums_of_the_largest_elements(words: int) -> None:
    largest = np.full(80 * words, 2**64 - 1, dtype=np.uint64)
    for m, terms in ((1, 1), (2, 4), (20, 40)):
        coefficients = np.full((80 // terms, 7), 255, dtype=np.uint8)
        check_claimed_sums([largest] * m, [largest] * m, [2**m - 1] * m, coefficients, terms, words)


def test_claimed_sums_of_many_relations(words: int) -> None:
    n, largest = 2**16 + 3, 2 ** (64 * words) - 1
    elements, out = np.full(n * words, 2**64 - 1, dtype=np.uint64), filled(SUMS, 2 * words + 1)
    kernels.claimed_sums([elements] * 2, [elements] * 2, [3, 3], np.full((n, 7), 255, dtype=np.uint8), 1, out, words)
    expected = limbs(4 * n * largest**2, 2 * words + 1)
    np.testing.assert_array_equal(out, np.array([expected] * SUMS, dtype=np.uint64))


def check_claimed_matrix(ys: list[Words], vs: list[Words], masks: list[int], words: int) -> None:
    size = 2 * words + 1
    out = filled(SUMS, SUMS, size)
    kernels.claimed_matrix(ys, vs, masks, out, words)
    right = [decode(v, words).T for v in vs]
    expected = integers((SUMS, SUMS), [0] * SUMS**2)
    for y, mask in zip(ys, masks, strict=True):
        chosen = [v for b, v in enumerate(right) if mask >> b & 1]
        if chosen and len(right[0]):
            expected = expected + decode(y, words) @ sum(chosen[1:], chosen[0])
    flat = [limb for total in expected.ravel() for limb in limbs(int(total), size)]
    np.testing.assert_array_equal(out.ravel(), np.array(flat, dtype=np.uint64))


@pytest.mark.parametrize(
    ("masks", "n"), [([1], 1), ([3, 1], 0), ([3, 1], 33), ([0, 2], 5), ([7, 0, 4], 32), ([2**20 - 1] * 20, 2)]
)
def test_claimed_matrix(rng: np.random.Generator, words: int, masks: list[int], n: int) -> None:
    ys, vs = ([random_words(rng, (SUMS, n), words) for _ in masks] for _ in range(2))
    check_claimed_matrix(ys, vs, masks, words)


def test_claimed_matrix_of_the_largest_elements(words: int) -> None:
    largest = np.full((SUMS, 40 * words), 2**64 - 1, dtype=np.uint64)
    check_claimed_matrix([largest] * 3, [largest] * 3, [7, 7, 7], words)


def check_projections(mask: Words, matrix: Words, words: int, threads: int = 0) -> None:
    """``mask`` has a word for every row; its first words are taken for columns."""
    rows, cols = matrix.shape[0], matrix.shape[1] // words
    numbers = decode(matrix, words)
    bits = np.array([[int(m) >> k & 1 for m in mask] for k in range(SUMS)], dtype=object).reshape(SUMS, len(mask))
    out, transposed = filled(SUMS, cols * words), filled(SUMS, rows * words)
    kernels.project(mask[:rows].copy(), matrix, out, words, threads)
    kernels.project_t(mask[:cols].copy(), matrix, transposed, words, threads)
    for got, side, entries in ((out, bits[:, :rows], numbers), (transposed, bits[:, :cols], numbers.T)):
        sums = side @ entries if entries.size else integers((SUMS, entries.shape[1]), [0] * (SUMS * entries.shape[1]))
        np.testing.assert_array_equal(got, encode(reduce(sums, words), words))


@pytest.mark.parametrize(
    ("rows", "cols"),
    [(0, 3), (3, 0), (1, 1), (2, 5), (4, 4), (5, 16), (17, 3), (31, 33), (33, 31), (64, 64), (65, 7), (40, 70)],
)
def test_projections(rng: np.random.Generator, words: int, rows: int, cols: int) -> None:
    check_projections(random_words(rng, (max(rows, cols),), 1), random_words(rng, (rows, cols), words), words)


def test_projections_of_the_largest_elements(words: int) -> None:
    matrix = np.full((70, 20 * words), 2**64 - 1, dtype=np.uint64)
    check_projections(np.full(70, 2**64 - 1, dtype=np.uint64), matrix, words)


def test_projections_of_many_rows(words: int) -> None:
    n = 2**16 + 5
    matrix, mask = np.full((n, words), 2**64 - 1, dtype=np.uint64), np.full(n, 2**56 - 1, dtype=np.uint64)
    for kernel, array in ((kernels.project, matrix), (kernels.project_t, matrix.reshape(1, n * words))):
        out = filled(SUMS, words)
        kernel(mask, array, out, words)
        assert set(decode(out, words).ravel()) == {2 ** (64 * words) - n}


@pytest.mark.parametrize(("rows", "cols"), [(211, 700), (3001, 40)])
def test_threads_do_not_change_projections(rng: np.random.Generator, words: int, rows: int, cols: int) -> None:
    matrix = random_words(rng, (rows, cols), words)
    for kernel, depth, lanes in ((kernels.project, rows, cols), (kernels.project_t, cols, rows)):
        mask = random_words(rng, (depth,), 1)
        alone, together = filled(SUMS, lanes * words), filled(SUMS, lanes * words)
        kernel(mask, matrix, alone, words, 1)
        kernel(mask, matrix, together, words, 3)
        np.testing.assert_array_equal(alone, together)
        flat = matrix if kernel is kernels.project else matrix.reshape(rows, cols, words).swapaxes(0, 1)
        column = decode(np.ascontiguousarray(flat.reshape(depth, -1)[:, -words:]), words).ravel()
        last = sum(int(value) for value, m in zip(column, mask, strict=True) if int(m) >> 55 & 1)
        assert int(decode(together[55], words)[-1]) == last % 2 ** (64 * words)
