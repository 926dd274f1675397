"""What the kernels for proofs of products compute, on Python integers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from .reference import Integers, Words

PRIMES = [2**61 - 1, 2**60 + 33, 1729382256910270481]  # the largest, the least, and one between them
SUMS, BYTES = 56, 7
# Masks of a form by how many arrays it has: those of replicated sharing, and others with a zero among them.
MASKS = {
    1: [[1], [0]],
    2: [[3, 1], [0, 3]],
    6: [[63, 5, 0, 32, 21, 62]],
    20: [[2**20 - 1] * 20, [(a * 0x9E3779B97F) & (2**20 - 1) if a % 5 else 0 for a in range(20)]],
}


def all_masks() -> list[list[int]]:
    return [masks for group in MASKS.values() for masks in group]


def coefficients_of(rng: np.random.Generator, n: int) -> NDArray[np.uint8]:
    drawn = rng.integers(0, 256, size=(n, BYTES), dtype=np.uint8)
    drawn[rng.random(n) < 0.1] = 255
    drawn[rng.random(n) < 0.1] = 0
    return drawn


def bits_of(coefficients: NDArray[np.uint8]) -> list[int]:
    """Bit l of a number is bit l of its relation."""
    return [int.from_bytes(row.tobytes(), "little") for row in coefficients]


def form(xs: Sequence[Integers], ys: Sequence[Integers], masks: Sequence[int]) -> Integers:
    total: Integers = xs[0] * 0
    for x, mask in zip(xs, masks, strict=True):
        for b, y in enumerate(ys):
            if mask >> b & 1:
                total = total + x * y
    return total


def limbs(value: int, count: int) -> list[int]:
    assert 0 <= value < 2 ** (64 * count)
    return [value >> (64 * k) & (2**64 - 1) for k in range(count)]


def gf_mul(a: int, b: int) -> int:
    carryless = 0
    for i in range(64):
        if b >> i & 1:
            carryless ^= a << i
    for i in range(127, 63, -1):
        if carryless >> i & 1:
            carryless ^= (2**64 + 0x1B) << (i - 64)
    return carryless


def gf_form(xs: Sequence[Sequence[int]], ys: Sequence[Sequence[int]], masks: Sequence[int]) -> int:
    total = 0
    for x, mask in zip(xs, masks, strict=True):
        for i, factor in enumerate(x):
            right = 0
            for b, y in enumerate(ys):
                right ^= y[i] if mask >> b & 1 else 0
            total ^= gf_mul(factor, right)
    return total


def xor_of(values: Sequence[int], chosen: int) -> int:
    """The sum of the values that are bits of ``chosen``."""
    total = 0
    for i, value in enumerate(values):
        total ^= value if chosen >> i & 1 else 0
    return total


def grid_points() -> list[list[int]]:
    """The rows that a point of {0, 1, inf}^4 adds up, for every point by its number."""
    choices = ([0], [1], [0, 1])
    points = []
    for reversed_point in product(range(3), repeat=4):
        point = reversed_point[::-1]
        rows = [sum(k << j for j, k in enumerate(ks)) for ks in product(*(choices[e] for e in point))]
        points.append(rows)
    return points


def numbers(array: Words) -> list[int]:
    return [int(word) for word in array.ravel()]
