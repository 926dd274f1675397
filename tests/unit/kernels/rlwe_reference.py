"""Polynomials modulo X^n + 1 on Python integers: slow, obvious, the yardstick of the RLWE kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PRIMES = {
    64: (2**50 - 16383, 2**50 - 212991),
    128: (2**50 - 16383,),
    8192: (2**50 - 16383, 2**50 - 212991, 2**50 - 1097727, 2**50 - 1490943),
    16384: (2**50 - 2162687, 2**50 - 2850815, 2**50 - 4718591),
}
"""Of every degree that is tested."""


def root(p: int, n: int) -> int:
    """The root of X^n + 1 that the smallest number gives."""
    return next(psi for x in range(2, 100) if pow(psi := pow(x, (p - 1) // (2 * n), p), n, p) == p - 1)


def value(polynomial: Sequence[int], index: int, p: int) -> int:
    """What a transform has at an index: the value at psi^(2 i + 1), i the index with its bits reversed."""
    n = len(polynomial)
    i = int(format(index, f"0{n.bit_length() - 1}b")[::-1], 2)
    x = pow(root(p, n), 2 * i + 1, p)
    total = 0
    for coefficient in reversed(polynomial):
        total = (total * x + coefficient) % p
    return total


def product(a: Sequence[int], b: Sequence[int], p: int) -> list[int]:
    """The product modulo X^n + 1 and p, term by term."""
    n = len(a)
    out = [0] * n
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[(i + j) % n] += x * y if i + j < n else -x * y
    return [x % p for x in out]


def joined(residues: NDArray[np.uint64], primes: Sequence[int]) -> list[int]:
    """The numbers from 0 to q - 1 that columns of residues stand for."""
    q = math.prod(primes)
    weights = [q // p * pow(q // p, -1, p) for p in primes]
    return [sum(int(r) * w for r, w in zip(column, weights, strict=True)) % q for column in residues.T]


def residues(numbers: Sequence[int], primes: Sequence[int]) -> NDArray[np.uint64]:
    """The inverse of ``joined``."""
    return np.array([[x % p for x in numbers] for p in primes], dtype=np.uint64)
