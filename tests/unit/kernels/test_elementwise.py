"""Maps over flat arrays against Python integers."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cofit import kernels

from .reference import EXTREMES, Words, decode, encode, integers, random_words, reduce, signed

pytestmark = pytest.mark.usefixtures("isa")

SIZES = [0, 1, 2, 3, 5, 8, 31, 63, 64, 65, 127, 255, 256, 257, 769]

Binary = Callable[[Words, Words, Words, int], None]
BINARY: list[tuple[Binary, Callable[[object, object], object]]] = [
    (kernels.add, operator.add),
    (kernels.sub, operator.sub),
    (kernels.mul, operator.mul),
]


@pytest.mark.parametrize(("kernel", "reference"), BINARY, ids=["add", "sub", "mul"])
def test_binary(
    rng: np.random.Generator, words: int, kernel: Binary, reference: Callable[[object, object], object]
) -> None:
    for n in SIZES:
        a, b, scalar = (random_words(rng, (size,), words) for size in (n, n, 1))
        for second in (b, scalar):
            expected = encode(reduce(np.asarray(reference(decode(a, words), decode(second, words))), words), words)
            out = np.zeros_like(a)
            kernel(a, second, out, words)
            np.testing.assert_array_equal(out, expected)
            in_place = a.copy()
            kernel(in_place, second, in_place, words)
            np.testing.assert_array_equal(in_place, expected)
        in_second = b.copy()
        kernel(a, in_second, in_second, words)
        kernel(a, b, out, words)
        np.testing.assert_array_equal(in_second, out)


def test_all_pairs_of_extreme_elements(words: int) -> None:
    values = EXTREMES[words]
    a = integers((len(values) ** 2,), [x for x in values for _ in values])
    b = integers((len(values) ** 2,), [y for _ in values for y in values])
    out = encode(a, words)
    for kernel, reference in BINARY:
        kernel(encode(a, words), encode(b, words), out, words)
        np.testing.assert_array_equal(out, encode(reduce(np.asarray(reference(a, b)), words), words))


def test_scalar_inside_out_is_read_first(words: int) -> None:
    a = encode(integers((9,), range(1, 10)), words)
    kernels.mul(a, a[2 * words : 3 * words], a, words)
    np.testing.assert_array_equal(a, encode(integers((9,), [3 * i for i in range(1, 10)]), words))


@pytest.mark.parametrize("terms", [1, 2, 3, 8])
def test_mul_sum(rng: np.random.Generator, words: int, terms: int) -> None:
    for n in SIZES:
        lhs = [random_words(rng, (n,), words) for _ in range(terms)]
        rhs = [random_words(rng, (1 if t == 1 else n,), words) for t in range(terms)]
        total = integers((n,), [0] * n)
        for a, b in zip(lhs, rhs, strict=True):
            total = total + decode(a, words) * decode(b, words)
        expected = encode(reduce(total, words), words)
        out = np.zeros_like(lhs[0])
        kernels.mul_sum(lhs, rhs, out, words)
        np.testing.assert_array_equal(out, expected)
        kernels.mul_sum(lhs, rhs, lhs[-1], words)
        np.testing.assert_array_equal(lhs[-1], expected)


def test_neg(rng: np.random.Generator, words: int) -> None:
    for n in SIZES:
        a = random_words(rng, (n,), words)
        expected = encode(reduce(-decode(a, words), words), words)
        out = np.zeros_like(a)
        kernels.neg(a, out, words)
        np.testing.assert_array_equal(out, expected)
        kernels.neg(a, a, words)
        np.testing.assert_array_equal(a, expected)


def test_shifts_by_every_amount(rng: np.random.Generator, words: int) -> None:
    a = random_words(rng, (37,), words)
    values = list(decode(a, words))
    out = np.zeros_like(a)
    for bits in range(64 * words):
        kernels.shl(a, bits, out, words)
        np.testing.assert_array_equal(out, encode(reduce(integers((37,), [v << bits for v in values]), words), words))
        kernels.shr(a, bits, out, words)
        np.testing.assert_array_equal(out, encode(integers((37,), [v >> bits for v in values]), words))
        kernels.sar(a, bits, out, words)
        arithmetic = integers((37,), [signed(v, words) >> bits for v in values])
        np.testing.assert_array_equal(out, encode(reduce(arithmetic, words), words))


@pytest.mark.parametrize("kernel", [kernels.shl, kernels.shr, kernels.sar], ids=["shl", "shr", "sar"])
def test_shifts_in_place_and_of_every_size(
    rng: np.random.Generator, words: int, kernel: Callable[[Words, int, Words, int], None]
) -> None:
    for n in SIZES:
        a = random_words(rng, (n,), words)
        out = np.zeros_like(a)
        kernel(a, 13, out, words)
        kernel(a, 13, a, words)
        np.testing.assert_array_equal(a, out)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_ring_laws(words: int, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 9))
    element = st.integers(0, 2 ** (64 * words) - 1)
    a, b, c = (encode(integers((n,), data.draw(st.lists(element, min_size=n, max_size=n))), words) for _ in range(3))

    def apply(kernel: Binary, x: Words, y: Words) -> Words:
        out = np.empty_like(x)
        kernel(x, y, out, words)
        return out

    left = apply(kernels.mul, a, apply(kernels.add, b, c))
    right = apply(kernels.add, apply(kernels.mul, a, b), apply(kernels.mul, a, c))
    np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(apply(kernels.sub, apply(kernels.add, a, b), b), a)
    np.testing.assert_array_equal(apply(kernels.mul, a, b), apply(kernels.mul, b, a))
