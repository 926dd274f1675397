"""From secret binary digits to a secret number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cofit.arithmetic import IntegerRing
from cofit.secret import SecretArray, SecretBits, bits_to_array


def weighted_sum(digits: SecretBits, weights: Sequence[int], ring: IntegerRing) -> SecretArray:
    """Return sum_j weights[j] digits[j] for every element, as integers of ``ring``. Exact.

    The digits become ring elements: 2 rounds and 3 elements a digit with ``rep3``; the sum is local.
    """
    rows = bits_to_array(digits, ring).reshape(digits.width, -1)
    return rows.weighted_by(np.array(weights, dtype=object)).reshape(digits.shape)


def binary_number(digits: SecretBits, ring: IntegerRing) -> SecretArray:
    """Return sum_j 2^j digits[j] for every element."""
    return weighted_sum(digits, [1 << j for j in range(digits.width)], ring)
