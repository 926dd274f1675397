"""Products with one column of weights, or with several side by side: where there are several classes, w is a matrix.

A vector stands for one column; its sums and products are single numbers, in arrays of one element. With a matrix they
are as many numbers as it has columns. The rounds are the same.
"""

from __future__ import annotations

from cofit.secret import SecretArray
from cofit.secret.sums import Multiplied, by_element, by_rows, matrix


def column_sums(weights: SecretArray) -> SecretArray:
    """Return the sum of every column, as a vector."""
    return weights.sum().reshape(1) if weights.ndim == 1 else weights.sum(axis=0)


def along(row: SecretArray, weights: SecretArray) -> Multiplied:
    """The product of a row with every column."""
    return by_rows(row, weights) if weights.ndim == 1 else matrix(weights.T, row)


def pairs(numbers: SecretArray, sums: SecretArray) -> Multiplied:
    """Every one of some numbers times that of every column: as many rows, and a column for each."""
    if sums.size == 1:
        return by_element(numbers, sums.repeated(len(numbers)))
    return by_element(numbers.reshape(-1, 1), sums.reshape(1, -1))


def beside(numbers: SecretArray, weights: SecretArray) -> SecretArray:
    """Return numbers, one for every row of the weights, in the shape in which they meet these element by element."""
    return numbers if weights.ndim == 1 else numbers.reshape(-1, 1)
