r"""How reference rows vary, computed to the same last digit on every machine.

A study may name the table of its reference; then everybody makes the map, and all must have the same one. A singular
value decomposition of a library does not give that: it adds up in an order of its own. Here

- sums are of integers, exact in whatever order (below 2^53 in 64-bit floating point, or in 64-bit integers), or are
  rounded once from the exact sum (``math.fsum``);
- all else is done element by element, by single operations of IEEE 754 (+, -, *, /, square root), which round alike
  everywhere.

Rows are rounded to ``_BITS`` fractional bits. Eigenvectors are those of the smaller of both products of the rows, by
Jacobi's rotations, of disjoint pairs at once [GolubVanLoan2013, section 8.5]. That takes seconds for 256 rows or
columns, and grows with the cube: of larger tables ``spread_rows`` takes some.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MOST_SIDE, MOST_ROWS = 256, 4096
_BITS, _PART_BITS = 24, 22
_LEAST, _NOTHING = 2.0**-40, 2.0**-60  # beside the largest entry: what is left of others, and what is not rotated
_MOST_SWEEPS = 30


def spread_rows(rows: Reals) -> Reals:
    """Return the rows, or of more than can be used some that lie evenly among them: at most 4,096, or 256 where there
    are more than 256 columns."""
    most = MOST_ROWS if rows.shape[1] <= MOST_SIDE else MOST_SIDE
    if len(rows) <= most:
        return rows
    return rows[np.arange(most) * len(rows) // most]


def prepared_exactly(x: Reals) -> Reals:
    """Return rows less half of their own mean, at length 1; a row of zeros stays."""
    largest = np.abs(x).max(axis=1, keepdims=True)
    x = x / np.where(largest > 0, largest, 1.0)
    apart = x - np.array([math.fsum(row) for row in x])[:, np.newaxis] / (2 * x.shape[1])
    return _at_length_1(apart)


def decomposed(z: Reals) -> tuple[Reals, Reals, Reals]:
    """Return the mean of the rows, their variances along orthonormal directions, largest first, and these, one in a
    row."""
    rows, cols = z.shape
    whole = np.rint(np.ldexp(z, _BITS))
    mean = whole.astype(np.int64).sum(axis=0) / rows
    apart = np.rint(whole - mean)
    if rows <= cols:
        variances, vectors = _eigen(_scaled(apart @ apart.T, rows))
        directions = _at_length_1(_product(vectors, apart))
    else:
        integers: Integers = apart.astype(np.int64)
        variances, directions = _eigen(_scaled((integers.T @ integers).astype(np.float64), rows))
    order = np.argsort(-variances, kind="stable")
    return np.ldexp(mean, -_BITS), np.maximum(variances[order], 0.0), directions[order]


def _scaled(products: Reals, rows: int) -> Reals:
    return np.ldexp(products, -2 * _BITS) / rows


def _product(vectors: Reals, apart: Reals) -> Reals:
    """Return vectors of length 1 times rows of integers: both parts of the vectors' digits, each by an exact sum."""
    high = np.rint(np.ldexp(vectors, _PART_BITS))
    low = np.rint(np.ldexp(np.ldexp(vectors, _PART_BITS) - high, _PART_BITS))
    return np.asarray(high @ apart + np.ldexp(low @ apart, -_PART_BITS))


def _at_length_1(rows: Reals) -> Reals:
    lengths = np.sqrt([math.fsum(row) for row in rows * rows])[:, np.newaxis]
    return np.asarray(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0))


def _eigen(matrix: Reals) -> tuple[Reals, Reals]:
    """Return eigenvalues of a symmetric matrix, and eigenvectors, one in a row."""
    size = len(matrix) + len(matrix) % 2
    a, vectors = np.zeros((size, size)), np.eye(size)
    a[: len(matrix), : len(matrix)] = matrix
    largest, order, half = float(np.abs(a).max()), np.arange(size), size // 2
    for _ in range(_MOST_SWEEPS):
        if np.abs(a - np.diag(np.diag(a))).max() <= _LEAST * largest:
            break
        for _ in range(size - 1):
            p, q = order[:half], order[half:][::-1]
            c, s = _rotations(a[p, p], a[q, q], a[p, q], _NOTHING * largest)
            for table in (a, vectors):
                above, below = table[p], table[q]
                table[p] = c[:, np.newaxis] * above - s[:, np.newaxis] * below
                table[q] = s[:, np.newaxis] * above + c[:, np.newaxis] * below
            left, right = a[:, p], a[:, q]
            a[:, p], a[:, q] = c * left - s * right, s * left + c * right
            order = np.concatenate([order[:1], order[-1:], order[1:-1]])
    return np.diag(a)[: len(matrix)].copy(), vectors[: len(matrix), : len(matrix)]


def _rotations(first: Reals, second: Reals, between: Reals, nothing: float) -> tuple[Reals, Reals]:
    """Return cosines and sines of the rotations that bring entries between pairs to 0."""
    small = np.abs(between) <= nothing
    ratio = (second - first) / np.where(small, 1.0, 2 * between)
    tangent = np.where(ratio >= 0, 1.0, -1.0) / (np.abs(ratio) + np.sqrt(ratio * ratio + 1))
    tangent = np.where(small, 0.0, tangent)
    cosine = 1 / np.sqrt(tangent * tangent + 1)
    return cosine, tangent * cosine
