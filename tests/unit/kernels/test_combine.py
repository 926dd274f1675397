"""Linear combinations and bilinear forms against Python integers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cofit import kernels
from support.pairwise import pairwise

from .reference import Integers, Words, decode, encode, every_isa, random_words, reduce

SIZES = [0, 1, 7, 31, 32, 33, 63, 64, 65, 128, 191, 255, 256, 257, 513, 2100]


@pytest.fixture(params=[0, 1, 2], ids=["bits", "64", "128"])
def words(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def drawn(rng: np.random.Generator, count: int, n: int, words: int) -> list[Words]:
    return [random_words(rng, (n,), max(words, 1)) for _ in range(count)]


def values(arrays: list[Words], words: int) -> list[Integers]:
    return [decode(array, max(words, 1)) for array in arrays]


def coefficients_of(rng: np.random.Generator, rows: int, cols: int, words: int, kind: str) -> Words:
    """Elements of a matrix: uniform and extreme ones, or mostly 0, 1 and -1 (of bits: no word and every word)."""
    matrix = random_words(rng, (rows, cols), max(words, 1)).reshape(rows, cols, max(words, 1))
    if kind == "simple":
        one, minus_one = (np.full(max(words, 1), 2**64 - 1, np.uint64) for _ in range(2))
        if words:
            one[:] = [1, 0][:words]
        choice = rng.integers(0, 4, (rows, cols))
        for number, element in enumerate((np.zeros(max(words, 1), np.uint64), one, minus_one)):
            matrix[choice == number] = element
    elif kind == "zero":
        matrix[:] = 0
    return np.ascontiguousarray(matrix.reshape(rows, cols * max(words, 1)))


def times(words: int, a: Integers, b: Integers) -> Integers:
    product: Integers = a & b if words == 0 else a * b
    return product


def total(words: int, plus: list[Integers], minus: list[Integers], n: int) -> Words:
    result = np.zeros(n, dtype=object)
    for value in plus:
        result = result ^ value if words == 0 else result + value
    for value in minus:
        result = result ^ value if words == 0 else result - value
    return encode(reduce(result, max(words, 1)), max(words, 1))


def combination(words: int, matrix: Words, arrays: list[Words], n: int) -> list[Words]:
    rows = decode(matrix, max(words, 1))
    inputs = values(arrays, words)
    return [total(words, [times(words, x, f) for x, f in zip(inputs, row, strict=True)], [], n) for row in rows]


@pytest.mark.parametrize("kind", ["any", "simple", "zero"])
def test_combine(rng: np.random.Generator, words: int, kind: str) -> None:
    for n, inputs, outs in pairwise(SIZES, (1, 2, 5, 9, 40), (1, 2, 3, 7)):
        arrays = drawn(rng, inputs, n, words)
        before = [x.copy() for x in arrays]
        matrix = coefficients_of(rng, outs, inputs, words, kind)
        expected = combination(words, matrix, arrays, n)
        for isa in every_isa():
            got = [np.full(n * max(words, 1), 7, np.uint64) for _ in range(outs)]
            kernels.combine(arrays, matrix, got, words)
            np.testing.assert_array_equal(got, expected, isa)
            np.testing.assert_array_equal(arrays, before, isa)


def test_as_many_arrays_as_there_may_be(rng: np.random.Generator, words: int) -> None:
    """An array may be given more than once."""
    arrays = drawn(rng, 5, 70, words)
    inputs = [arrays[i % 5] for i in range(64)]
    matrix = coefficients_of(rng, 64, 64, words, "simple")
    combined = combination(words, matrix, inputs, 70)
    summed = total(words, values(inputs, words), values(inputs[1:], words), 70)
    for isa in every_isa():
        got = [np.empty_like(arrays[0]) for _ in range(64)]
        kernels.combine(inputs, matrix, got, words)
        np.testing.assert_array_equal(got, combined, isa)
        kernels.signed_sum(inputs, inputs[1:], got[0], words)
        np.testing.assert_array_equal(got[0], summed, isa)


def test_arrays_at_the_same_place_of_their_pages(rng: np.random.Generator, words: int) -> None:
    """Those that a cache holds few of; and arrays that start anywhere."""
    n, inputs = 2048, 12
    block = random_words(rng, (inputs * n,), max(words, 1)).reshape(inputs, -1)
    matrix = coefficients_of(rng, 4, inputs, words, "any")
    shifted = [block[a, max(words, 1) * a :][: 100 * max(words, 1)] for a in range(inputs)]
    for arrays, size in ((list(block), n), (shifted, 100)):
        expected = combination(words, matrix, arrays, size)
        for isa in every_isa():
            got = np.empty((4, size * max(words, 1)), np.uint64)
            kernels.combine(arrays, matrix, list(got), words)
            np.testing.assert_array_equal(got, expected, isa)


def form(words: int, a: list[Words], b: list[Words], matrix: Words) -> list[Integers]:
    rows, left, right = decode(matrix, max(words, 1)), values(a, words), values(b, words)
    pairs = [(c, d) for c in range(len(a)) for d in range(len(b))]
    return [times(words, times(words, left[c], right[d]), rows[c, d]) for c, d in pairs]


@pytest.mark.parametrize(("terms", "kind", "words"), pairwise([1, 2, 3, 8], ["any", "simple", "zero"], [0, 1, 2]))
def test_bilinear(rng: np.random.Generator, words: int, terms: int, kind: str) -> None:
    for n, adds, subtracts in pairwise(SIZES[::2], (0, 1, 3, 40), (0, 1, 40)):
        a, b = drawn(rng, terms, n, words), drawn(rng, terms, n, words)
        plus, minus = drawn(rng, adds, n, words), drawn(rng, subtracts, n, words)
        matrix = coefficients_of(rng, terms, terms, words, kind)
        products = form(words, a, b, matrix)
        expected = total(words, [*products, *values(plus, words)], values(minus, words), n)
        for isa in every_isa():
            out = np.full(n * max(words, 1), 7, np.uint64)
            kernels.bilinear(a, b, matrix, plus, minus, out, words)
            np.testing.assert_array_equal(out, expected, isa)
            for target in (a[0], b[-1], *plus[:1], *minus[-1:]):
                before = target.copy()
                kernels.bilinear(a, b, matrix, plus, minus, target, words)
                np.testing.assert_array_equal(target, expected, isa)
                target[:] = before


def test_bilinear_squares_and_takes_lists_of_two_lengths(rng: np.random.Generator, words: int) -> None:
    a, b = drawn(rng, 2, 100, words), drawn(rng, 3, 100, words)
    out = np.empty_like(a[0])
    for left, right in ((a, a), (a, b), (b, a)):
        matrix = coefficients_of(rng, len(left), len(right), words, "any")
        expected = total(words, form(words, left, right, matrix), [], 100)
        for isa in every_isa():
            kernels.bilinear(left, right, matrix, [], [], out, words)
            np.testing.assert_array_equal(out, expected, isa)


@pytest.mark.usefixtures("isa")
def test_any_shape_is_taken_as_flat(rng: np.random.Generator) -> None:
    a, b = (rng.integers(0, 2**64, (2, 3, 5), dtype=np.uint64) for _ in range(2))
    three, five = (np.array(value, np.uint64) for value in (3, 5))
    outs = [np.empty((2, 3, 5), np.uint64) for _ in range(2)]
    kernels.combine([a, b], np.array([[3, 5], [1, 0]], np.uint64), outs, 1)
    np.testing.assert_array_equal(outs[0], three * a + five * b)
    np.testing.assert_array_equal(outs[1], a)
    single = np.empty((), np.uint64)
    kernels.bilinear([np.asarray(a[0, 0, 0])], [np.asarray(b[0, 0, 0])], np.array(3, np.uint64), [], [], single, 1)
    assert single[()] == (three * a * b)[0, 0, 0]


RECORD = np.dtype([("lo", "<u8"), ("hi", "<u8")])
OTHER_RECORDS = [
    np.dtype([("lo", "<u8"), ("up", "<u8")]),
    np.dtype([("lo", "<i8"), ("hi", "<u8")]),
    np.dtype([("lo", "<u4"), ("hi", "<u4")]),
    np.dtype([("lo", "<u8")]),
    np.dtype([("lo", "<u8"), ("hi", "<u8"), ("top", "<u8")]),
]


@pytest.mark.usefixtures("isa")
def test_records_of_two_words_are_elements(rng: np.random.Generator) -> None:
    a, b = random_words(rng, (5,), 2), random_words(rng, (5,), 2)
    out: Any = np.empty((5, 1), RECORD)
    storage = np.zeros(88, np.uint8)
    shifted: Any = storage[8:].view(RECORD)  # whole words, half a record late
    shifted[:] = a.view(RECORD)
    matrix = np.array([[1, 0, 2, 1]], np.uint64)
    kernels.combine([shifted, b], matrix, [out], 2)
    np.testing.assert_array_equal(out.reshape(-1).view(np.uint64), combination(2, matrix, [a, b], 5)[0])
    unaligned: Any = storage[4:84].view(RECORD)
    with pytest.raises(ValueError, match=r"'inputs\[0\]' parameter of combine must be an aligned array"):
        kernels.combine([unaligned], z(2), [out], 2)
    for other in OTHER_RECORDS:
        wrong: Any = np.zeros(5, other)
        with pytest.raises(TypeError, match=r"'inputs\[0\]' parameter of combine must be a NumPy array of uint64"):
            kernels.combine([wrong], z(2), [out], 2)
    with pytest.raises(TypeError, match="'a' parameter of add must be a NumPy array of uint64"):
        kernels.add(shifted, b, np.empty_like(a), 2)


def z(*shape: int) -> Words:
    return np.zeros(shape, np.uint64)


Call = Callable[[], None]
REFUSED: list[tuple[str, Call]] = [
    ("'words' parameter of combine must be 1 (Z_2^64), 2", lambda: kernels.combine([z(2)], z(1, 1), [z(2)], 3)),
    ("'inputs' parameter of combine must be a list of 1 to 64 arrays", lambda: kernels.combine([], z(0), [z(2)], 1)),
    ("a list of 1 to 64 arrays. Got 65", lambda: kernels.combine([z(2)] * 65, z(1, 65), [z(2)], 1)),
    ("'outs' parameter of combine must be a list of 1 to 64 arrays", lambda: kernels.combine([z(2)], z(0), [], 1)),
    ("'inputs[1]' parameter of combine", lambda: kernels.combine([z(2), z(3)], z(1, 2), [z(2)], 1)),
    ("'inputs[0]' parameter of combine must be an array of whole", lambda: kernels.combine([z(3)], z(2), [z(3)], 2)),
    ("'inputs[0]' parameter of combine must be a C-contig", lambda: kernels.combine([z(4)[::2]], z(1), [z(2)], 1)),
    ("'outs[1]' parameter of combine", lambda: kernels.combine([z(2)], z(2, 1), [z(2), z(3)], 1)),
    ("'coefficients' parameter of combine", lambda: kernels.combine([z(2)], z(1, 2), [z(2)], 1)),
    ("'coefficients' parameter of combine", lambda: kernels.combine([z(2)], z(1, 1), [z(2)], 2)),
    ("'words' parameter of bilinear", lambda: kernels.bilinear([z(2)], [z(2)], z(1), [], [], z(2), -1)),
    ("'a' parameter of bilinear", lambda: kernels.bilinear([z(2)] * 9, [z(2)], z(9), [], [], z(2), 1)),
    ("'b' parameter of bilinear", lambda: kernels.bilinear([z(2)], [], z(0), [], [], z(2), 1)),
    ("'a[0]' parameter of bilinear", lambda: kernels.bilinear([z(3)], [z(2)], z(1), [], [], z(2), 1)),
    ("'b[1]' parameter of bilinear", lambda: kernels.bilinear([z(2)] * 2, [z(2), z(1)], z(4), [], [], z(2), 1)),
    ("'coefficients' parameter of bilinear", lambda: kernels.bilinear([z(2)] * 2, [z(2)] * 2, z(3), [], [], z(2), 1)),
    ("'plus[0]' parameter of bilinear", lambda: kernels.bilinear([z(2)], [z(2)], z(1), [z(3)], [], z(2), 1)),
    ("'minus' parameter of bilinear", lambda: kernels.bilinear([z(2)], [z(2)], z(1), [], [z(2)] * 65, z(2), 1)),
    ("'out' parameter of bilinear must be", lambda: kernels.bilinear([z(3)], [z(3)], z(2), [], [], z(3), 2)),
]


@pytest.mark.parametrize(("message", "call"), REFUSED)
def test_arguments_that_do_not_fit_are_refused_by_name(message: str, call: Call) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match=r"'inputs\[0\]' parameter of combine must be a NumPy array of uint64"):
        kernels.combine([np.zeros(2)], z(1), [z(2)], 1)  # type: ignore[list-item]
    with pytest.raises(TypeError, match="'coefficients' parameter of combine must be a NumPy array of uint64"):
        kernels.combine([z(2)], 5, [z(2)], 1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'outs' parameter of combine must be a list of NumPy arrays"):
        kernels.combine([z(2)], z(1), z(2), 1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'coefficients' parameter of bilinear must be a NumPy array of uint64"):
        kernels.bilinear([z(2)], [z(2)], None, [], [], z(2), 1)  # type: ignore[arg-type]


def test_results_have_memory_of_their_own() -> None:
    base = z(12)
    with pytest.raises(ValueError, match=r"'outs\[0\]' parameter of combine must be memory of its own\. .*s\[1\]'"):
        kernels.combine([z(8), base[:8]], z(1, 2), [base[4:]], 1)
    with pytest.raises(ValueError, match=r"overlaps 'inputs\[0\]'"):
        kernels.combine([base], z(1), [base], 1)
    with pytest.raises(ValueError, match=r"'outs\[1\]' parameter of combine .* overlaps 'outs\[0\]'"):
        kernels.combine([z(12)], z(2, 1), [base, base], 1)
    with pytest.raises(ValueError, match=r"'out' parameter of bilinear .* partly overlaps 'b\[0\]'"):
        kernels.bilinear([z(8)], [base[:8]], z(1), [], [], base[4:], 1)
    constant = z(2)
    constant.flags.writeable = False
    with pytest.raises(ValueError, match=r"'outs\[0\]' parameter of combine must be a writable array"):
        kernels.combine([z(2)], z(1), [constant], 1)
    kernels.combine([constant], constant[:1], [z(2)], 1)
