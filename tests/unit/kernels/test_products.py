"""matvec, matvec_t and matmul against Python integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cofit import kernels

from .reference import Words, decode, encode, every_isa, integers, product, random_words, reduce

SHAPES = [
    (0, 0), (0, 5), (5, 0), (1, 1), (1, 2), (2, 1), (3, 4), (4, 3), (5, 7), (7, 8), (8, 9), (9, 16), (17, 13),
    (63, 64), (64, 65), (65, 63), (31, 127),
]  # fmt: skip
DEPTHS = [
    (0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 1, 1), (2, 3, 5), (6, 4, 8), (7, 5, 9), (13, 2, 17), (17, 31, 19),
    (33, 257, 5), (97, 3, 2), (2, 3, 515), (1, 300, 1),
]  # fmt: skip


def filled(size: int) -> Words:
    """An output whose old content must not matter."""
    return np.full(size, 0xDEADBEEF, dtype=np.uint64)


def check_matvec(mats: list[Words], vecs: list[Words], words: int, threads: int) -> None:
    rows, cols = mats[0].shape[0], mats[0].shape[1] // words
    assert cols * words == mats[0].shape[1]
    expected = integers((rows,), [0] * rows)
    for mat, vec in zip(mats, vecs, strict=True):
        expected = expected + product(decode(mat, words), decode(vec, words))
    encoded = encode(reduce(expected, words), words)
    for isa in every_isa():
        out = filled(rows * words)
        kernels.matvec(mats, vecs, out, words, threads)
        np.testing.assert_array_equal(out, encoded, isa)


def check_matvec_t(mats: list[Words], vecs: list[Words], words: int, threads: int) -> None:
    cols = mats[0].shape[1] // words
    expected = integers((cols,), [0] * cols)
    for mat, vec in zip(mats, vecs, strict=True):
        expected = expected + product(decode(mat, words).T, decode(vec, words))
    encoded = encode(reduce(expected, words), words)
    for isa in every_isa():
        out = filled(cols * words)
        kernels.matvec_t(mats, vecs, out, words, threads)
        np.testing.assert_array_equal(out, encoded, isa)


def check_matmul(lhs: list[Words], rhs: list[Words], words: int, threads: int) -> None:
    rows, cols = lhs[0].shape[0], rhs[0].shape[1] // words
    expected = integers((rows, cols), [0] * (rows * cols))
    for left, right in zip(lhs, rhs, strict=True):
        expected = expected + product(decode(left, words), decode(right, words))
    encoded = encode(reduce(expected, words), words)
    for isa in every_isa():
        out = filled(rows * cols * words).reshape(rows, cols * words)
        kernels.matmul(lhs, rhs, out, words, threads)
        np.testing.assert_array_equal(out, encoded, isa)


@pytest.mark.parametrize("terms", [1, 2, 3, 8])
def test_matrix_vector_products_of_every_shape(rng: np.random.Generator, words: int, terms: int) -> None:
    for rows, cols in SHAPES if terms <= 2 else SHAPES[::4]:
        mats = [random_words(rng, (rows, cols), words) for _ in range(terms)]
        check_matvec(mats, [random_words(rng, (cols,), words) for _ in range(terms)], words, 1)
        check_matvec_t(mats, [random_words(rng, (rows,), words) for _ in range(terms)], words, 1)


def check_pairs(mats: list[Words], words: int, threads: int, rng: np.random.Generator) -> None:
    rows, cols = mats[0].shape[0], mats[0].shape[1] // words
    for transposed in (False, True):
        kernel, size, length = (
            (kernels.matvec_t_pairs, cols, rows) if transposed else (kernels.matvec_pairs, rows, cols)
        )
        vecs = random_words(rng, (2 * len(mats), length), words)
        whole = [decode(mat, words) for mat in mats]
        products = (
            product(whole[n // 2].T if transposed else whole[n // 2], decode(v, words)) for n, v in enumerate(vecs)
        )
        expected = np.array([encode(reduce(values, words), words) for values in products])
        for isa in every_isa():
            out = filled(2 * len(mats) * size * words).reshape(2 * len(mats), size * words)
            kernel(mats, vecs, out, words, threads)
            np.testing.assert_array_equal(out, expected, isa)


@pytest.mark.parametrize("terms", [1, 3, 8])
def test_pairs_of_matrix_vector_products_of_every_shape(rng: np.random.Generator, words: int, terms: int) -> None:
    for rows, cols in SHAPES if terms == 3 else SHAPES[::4]:
        check_pairs([random_words(rng, (rows, cols), words) for _ in range(terms)], words, 1, rng)


@pytest.mark.parametrize(("shape", "threads"), [((211, 307), 3), ((2, 9001), 2), ((9001, 2), 3)])
def test_threads_do_not_change_pairs(
    rng: np.random.Generator, words: int, shape: tuple[int, int], threads: int
) -> None:
    check_pairs([random_words(rng, shape, words) for _ in range(3)], words, threads, rng)


@pytest.mark.parametrize("terms", [1, 2, 8])
def test_matrix_products_of_every_shape(rng: np.random.Generator, words: int, terms: int) -> None:
    for rows, depth, cols in DEPTHS if terms <= 2 else DEPTHS[::4]:
        lhs = [random_words(rng, (rows, depth), words) for _ in range(terms)]
        rhs = [random_words(rng, (depth, cols), words) for _ in range(terms)]
        check_matmul(lhs, rhs, words, 1)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("shape", [(311, 521), (2, 80021), (80021, 2)])
def test_threads_do_not_change_matrix_vector_products(
    rng: np.random.Generator, words: int, threads: int, shape: tuple[int, int]
) -> None:
    rows, cols = shape
    mats = [random_words(rng, shape, words) for _ in range(3)]
    right = [random_words(rng, (cols,), words) for _ in range(3)]
    left = [random_words(rng, (rows,), words) for _ in range(3)]
    for kernel, vecs, size in ((kernels.matvec, right, rows), (kernels.matvec_t, left, cols)):
        for isa in every_isa():
            alone, together = filled(size * words), filled(size * words)
            kernel(mats, vecs, alone, words, 1)
            kernel(mats, vecs, together, words, threads)
            np.testing.assert_array_equal(alone, together, isa)


@pytest.mark.parametrize(("shape", "threads"), [((83, 79, 89), 2), ((301, 67, 31), 3), ((5, 300, 333), 3)])
def test_threads_do_not_change_matrix_products(
    rng: np.random.Generator, words: int, shape: tuple[int, int, int], threads: int
) -> None:
    rows, depth, cols = shape
    lhs, rhs = [random_words(rng, (rows, depth), words)], [random_words(rng, (depth, cols), words)]
    check_matmul(lhs, rhs, words, threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_large_products_with_threads_equal_the_reference(rng: np.random.Generator, words: int, threads: int) -> None:
    mats = [random_words(rng, (211, 307), words) for _ in range(4)]
    check_matvec(mats, [random_words(rng, (307,), words) for _ in mats], words, threads)
    check_matvec_t(mats, [random_words(rng, (211,), words) for _ in mats], words, threads)


def test_products_of_the_largest_elements(words: int) -> None:
    mat = np.full((37, 1031 * words), 2**64 - 1, dtype=np.uint64)
    check_matvec([mat, mat], [mat[0], mat[1]], words, 1)
    check_matvec_t([mat, mat], [mat[0, : 37 * words].copy()] * 2, words, 1)
    check_matmul([mat], [np.full((1031, 9 * words), 2**64 - 1, dtype=np.uint64)], words, 1)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_products_of_arbitrary_elements(words: int, data: st.DataObject) -> None:
    rows, depth, cols = (data.draw(st.integers(0, 9)) for _ in range(3))
    element = st.integers(0, 2 ** (64 * words) - 1)

    def draw(*shape: int) -> Words:
        size = int(np.prod(shape, dtype=int))
        return encode(integers(shape, data.draw(st.lists(element, min_size=size, max_size=size))), words)

    mat = draw(rows, depth)
    check_matvec([mat], [draw(depth)], words, 1)
    check_matvec_t([mat], [draw(rows)], words, 1)
    check_matmul([mat], [draw(depth, cols)], words, 1)


def test_numpy_agrees_in_the_64_bit_ring(rng: np.random.Generator) -> None:
    mat, vec = random_words(rng, (113, 257), 1), random_words(rng, (257,), 1)
    for isa in every_isa():
        out = filled(113)
        kernels.matvec([mat], [vec], out, 1)
        np.testing.assert_array_equal(out, mat @ vec, isa)
