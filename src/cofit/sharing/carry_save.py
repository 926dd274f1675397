"""Addition of several bit-sliced numbers, down to the carry signals of the last two.

Three numbers become two of the same sum (Wallace, IEEE Trans. EC 1964): s = a + b + c bit by bit without carries,
s_j = a_j XOR b_j XOR c_j, and the carries 2 ((a XOR c)(b XOR c) XOR c), one AND a bit. Of m numbers all disjoint
triples are reduced at once: one round.
"""

from __future__ import annotations

from collections.abc import Sequence

from cofit.sharing.boolean import Boolean
from cofit.sharing.shares import BitShare


def levels(count: int) -> int:
    """Return how many rounds of ANDs it takes until two of ``count`` numbers are left."""
    rounds = 0
    while count > 2:
        count -= count // 3
        rounds += 1
    return rounds


def carry_signals(boolean: Boolean, numbers: Sequence[BitShare]) -> tuple[BitShare, BitShare]:
    """Return generate and propagate signals of two numbers whose sum, modulo 2^k, is that of all (k rows each)."""
    rest = list(numbers)
    while len(rest) > 2:
        triples = [rest[i : i + 3] for i in range(0, len(rest) - 2, 3)]
        left = boolean.stack_rows([boolean.xor(a, c) for a, _, c in triples])
        right = boolean.stack_rows([boolean.xor(b, c) for _, b, c in triples])
        product = boolean.and_(left, right)
        width = rest[0].rows
        reduced: list[BitShare] = []
        for place, (a, b, c) in enumerate(triples):
            carries = boolean.xor(boolean.select_rows(product, slice(place * width, (place + 1) * width)), c)
            reduced += [boolean.xor(boolean.xor(a, b), c), _doubled(boolean, carries)]
        rest = reduced + rest[3 * len(triples) :]
    u, v = rest
    return boolean.and_(u, v), boolean.xor(u, v)


def _doubled(boolean: Boolean, number: BitShare) -> BitShare:
    """Return twice a number: its rows one place up, and a row of zeros."""
    lowest = boolean.select_rows(number, slice(0, 1))
    zero = boolean.xor(lowest, lowest)
    return boolean.stack_rows([zero, boolean.select_rows(number, slice(0, number.rows - 1))])
