"""Arithmetic mod a prime against Python integers."""

from __future__ import annotations

import numpy as np
import pytest

from cofit import kernels

from .proof_reference import PRIMES, all_masks, bits_of, coefficients_of, form, numbers
from .reference import Words, decode, random_words

pytestmark = pytest.mark.usefixtures("isa")

SIZES = [0, 1, 2, 7, 8, 9, 31, 130]


@pytest.fixture(params=PRIMES)
def prime(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def elements(rng: np.random.Generator, shape: tuple[int, ...], prime: int) -> Words:
    """Uniform elements, some of them replaced by extreme ones."""
    uniform = rng.integers(0, prime, size=shape, dtype=np.uint64)
    extreme = rng.choice(np.array([0, 1, prime - 1, prime // 2], dtype=np.uint64), size=shape)
    return np.where(rng.random(shape) < 0.3, extreme, uniform)


def empty(*shape: int) -> Words:
    return np.full(shape, 0xDEADBEEF, dtype=np.uint64)


def test_weights(rng: np.random.Generator, prime: int) -> None:
    for n in SIZES:
        coefficients = coefficients_of(rng, n)
        for sigma in (elements(rng, (56,), prime), np.full(56, prime - 1, dtype=np.uint64)):
            out = empty(n)
            kernels.field_weights(coefficients, sigma, prime, out)
            expected = [sum(s for k, s in enumerate(numbers(sigma)) if b >> k & 1) for b in bits_of(coefficients)]
            assert numbers(out) == [total % prime for total in expected]


@pytest.mark.parametrize("terms", [1, 3])
def test_scale(rng: np.random.Generator, words: int, prime: int, terms: int) -> None:
    for n in SIZES:
        values, weights = random_words(rng, (n * terms,), words), elements(rng, (n,), prime)
        out = empty(n * terms)
        kernels.field_scale(values, weights, terms, prime, out, words)
        plain = list(decode(values, words))
        assert numbers(out) == [value * int(weights[j // terms]) % prime for j, value in enumerate(plain)]
        kernels.field_scale(values, None, terms, prime, out, words)
        assert numbers(out) == [value % prime for value in plain]
    edges = [k * prime + d for k in range(2**64 // prime + 1) for d in (-1, 0, 1)]
    near = np.array([edge for edge in edges if 0 <= edge < 2**64], dtype=np.uint64)
    out = empty(len(near))
    kernels.field_scale(near, None, 1, prime, out, 1)
    assert numbers(out) == [int(value) % prime for value in near]
    kernels.field_scale(near, np.full(len(near), prime - 1, dtype=np.uint64), 1, prime, out, 1)
    assert numbers(out) == [int(value) * (prime - 1) % prime for value in near]


def test_scale_in_place(rng: np.random.Generator, prime: int) -> None:
    values, weights = random_words(rng, (9,), 1), elements(rng, (9,), prime)
    expected = [v * w % prime for v, w in zip(numbers(values), numbers(weights), strict=True)]
    kernels.field_scale(values, weights, 1, prime, values, 1)
    assert numbers(values) == expected


def test_combine(rng: np.random.Generator, words: int, prime: int) -> None:
    for count, n, rows in [(1, 1, 1), (56, 3, 2), (56, 17, 1), (3, 8, 4), (0, 2, 1), (2, 0, 3), (57, 9, 1)]:
        values, sigma = random_words(rng, (count, n), words), elements(rng, (rows, count), prime)
        out = empty(rows, n)
        kernels.field_combine(values, sigma, prime, out, words)
        plain = decode(values, words)
        expected = [
            sum(int(sigma[r, k]) * int(plain[k, j]) for k in range(count)) % prime
            for r in range(rows)
            for j in range(n)
        ]
        assert numbers(out) == expected
    largest = np.full((300, words), 2**64 - 1, dtype=np.uint64)
    out = empty(1, 1)
    kernels.field_combine(largest, np.full((1, 300), prime - 1, dtype=np.uint64), prime, out, words)
    assert numbers(out) == [300 * (2 ** (64 * words) - 1) * (prime - 1) % prime]


def test_fold(rng: np.random.Generator, prime: int) -> None:
    for h in SIZES:
        x = elements(rng, (2 * h,), prime)
        for r in (0, 1, prime - 1, int(rng.integers(0, prime))):
            out = empty(h)
            kernels.field_fold(x, r, prime, out)
            expected = [(int(x[i]) + r * (int(x[h + i]) - int(x[i]))) % prime for i in range(h)]
            assert numbers(out) == expected
            same = x.copy()
            kernels.field_fold(same, r, prime, same[:h])
            assert numbers(same[:h]) == expected
            np.testing.assert_array_equal(same[h:], x[h:])


def expected_form(xs: list[Words], ys: list[Words], masks: list[int], prime: int) -> int:
    total = form([x.astype(object) for x in xs], [y.astype(object) for y in ys], masks)
    return int(sum(total)) % prime


def check_forms(xs: list[Words], ys: list[Words], masks: list[int], prime: int) -> None:
    assert kernels.field_form(xs, ys, masks, prime) == expected_form(xs, ys, masks, prime)
    half = len(xs[0]) // 2
    low = expected_form([x[:half] for x in xs], [y[:half] for y in ys], masks, prime)
    x_change, y_change = ([a[half:].astype(object) - a[:half] for a in arrays] for arrays in (xs, ys))
    change = int(sum(form(x_change, y_change, masks))) % prime
    assert kernels.field_halves(xs, ys, masks, prime) == (low, change)


@pytest.mark.parametrize("masks", all_masks(), ids=str)
def test_forms(rng: np.random.Generator, prime: int, masks: list[int]) -> None:
    for h in (0, 1, 5, 64, 131) if len(masks) < 20 else (1, 9):
        xs, ys = ([elements(rng, (2 * h,), prime) for _ in masks] for _ in range(2))
        check_forms(xs, ys, masks, prime)


def test_forms_of_the_largest_elements(prime: int) -> None:
    for m, n in ((1, 1000), (2, 600), (20, 20)):
        low, high = np.zeros(n // 2, dtype=np.uint64), np.full(n // 2, prime - 1, dtype=np.uint64)
        for array in (np.concatenate([high, high]), np.concatenate([low, high]), np.concatenate([high, low])):
            check_forms([array] * m, [array] * m, [2**m - 1] * m, prime)
