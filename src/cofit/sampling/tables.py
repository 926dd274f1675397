"""Public tables from which a secret number is drawn with the probabilities of any law on 0 .. 2^J - 1.

Walker's alias method (Electronics Letters 1974; ACM TOMS 1977), in integers. The law is rounded to weights W_v, whole
numbers that add up to 2^(B+J). 2^J slots hold 2^B each: slot i holds t_i of its own number i and 2^B - t_i of one
other, its alias, so that every number has W_v in all. A draw is a uniform slot, and in it the number itself with
probability t_i / 2^B, else the alias: v has probability W_v / 2^(B+J), exactly.

Distance. Every weight is rounded to the nearest integer, and the largest one then takes what the sum lacks: at most 2^J
halves in all, so that the total variation is at most half of 2 * 2^(J-1) 2^-(B+J) = 2^-(B+1), and what the law itself
was off before.

As rows of bits (``Table.matrix``): for every bit of t_i and of (i XOR alias) the coefficients of the products of the
lower and of the upper half of the bits of i (its algebraic normal form), which is what ``Lookup`` takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cofit.arithmetic.integers import Words

FEWEST_INDEX_BITS = 2
MOST_INDEX_BITS = 12
"""The upper half of an index has at most 6 bits, so that its products are the bits of one word."""


@dataclass(frozen=True)
class Table:
    """t_i and the alias of every slot i, for slots that hold 2^precision."""

    precision: int
    own: tuple[int, ...]
    alias: tuple[int, ...]

    @property
    def index_bits(self) -> int:
        """J."""
        return (len(self.own) - 1).bit_length()

    @cached_property
    def matrix(self) -> Words:
        """The coefficients, shape (B + J, 2^lower): bit q of [r, p] for lower product p and upper product q.

        Rows: the bits of t from the highest, then those of (i XOR alias) from the lowest.
        """
        lower, upper = halves(self.index_bits)
        size = (self.precision + 7) // 8
        packed = np.frombuffer(b"".join(t.to_bytes(size, "big") for t in self.own), np.uint8).reshape(-1, size)
        thresholds = np.unpackbits(packed, axis=1)[:, -self.precision :]
        moved = np.arange(len(self.own)) ^ np.array(self.alias)
        moves = (moved[:, None] >> np.arange(self.index_bits)) & 1
        bits = np.concatenate([thresholds, moves.astype(np.uint8)], axis=1)
        for j in range(self.index_bits):  # the coefficient of a product is the sum over all indices within it
            pairs = bits.reshape(-1, 2, 1 << j, bits.shape[1])
            pairs[:, 1] ^= pairs[:, 0]
        products = bits.reshape(1 << upper, 1 << lower, -1).astype(np.uint64)
        weights = np.uint64(1) << np.arange(1 << upper, dtype=np.uint64)
        return np.ascontiguousarray(np.einsum("qpr,q->rp", products, weights))


def halves(index_bits: int) -> tuple[int, int]:
    """Return how many bits of an index are the lower and the upper half."""
    return index_bits // 2, index_bits - index_bits // 2


def products_of_bits(bits: int) -> int:
    """Return how many ANDs all products of so many bits take."""
    return (1 << bits) - bits - 1


def table_cost(index_bits: int, precision: int) -> int:
    """Return about how many ANDs a draw takes: the products of both halves, the table's bits, the coin, the move."""
    coin = precision + precision // 3 + precision // 3
    return sum(map(products_of_bits, halves(index_bits))) + precision + 2 * index_bits + coin


def rounded_weights(shares: Sequence[int], unit_bits: int) -> list[int]:
    """Return whole numbers that add up to 2^unit_bits, in proportion to ``shares`` (large whole numbers)."""
    total = sum(shares)
    weights = [((share << (unit_bits + 1)) // total + 1) >> 1 for share in shares]
    largest = max(range(len(weights)), key=lambda v: weights[v])
    weights[largest] += (1 << unit_bits) - sum(weights)
    return weights


def alias_table(weights: Sequence[int], precision: int) -> Table:
    """Return the table of 2^J weights that add up to 2^(precision + J)."""
    full = 1 << precision
    left = list(weights)
    own, alias = [0] * len(left), list(range(len(left)))  # a slot that is all its own is its alias, too
    small = [v for v, weight in enumerate(left) if weight < full]
    large = [v for v, weight in enumerate(left) if weight >= full]
    while small:
        poor = small.pop()
        rich = large[-1]
        own[poor], alias[poor] = left[poor], rich
        left[rich] -= full - left[poor]
        if left[rich] < full:
            small.append(large.pop())
    return Table(precision, tuple(own), tuple(alias))
