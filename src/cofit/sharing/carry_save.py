"""Addition of several bit-sliced numbers, down to the carry signals of the last two.

Three numbers become two of the same sum (Wallace, IEEE Trans. EC 1964): s = a + b + c bit by bit without carries,
s_j = a_j XOR b_j XOR c_j, and the carries 2 ((a XOR c)(b XOR c) XOR c), one AND a bit. Of m numbers all disjoint
triples are reduced at once: one round.
"""

from __future__ import annotations

from collections.abc import Sequence

from cofit.sharing.scheme import Scheme
from cofit.sharing.shares import BitShare


def levels(count: int) -> int:
    """Return how many rounds of ANDs it takes until two of ``count`` numbers are left."""
    rounds = 0
    while count > 2:
        count -= count // 3
        rounds += 1
    return rounds


def carry_signals(scheme: Scheme, numbers: Sequence[BitShare]) -> tuple[BitShare, BitShare]:
    """Return generate and propagate signals of two numbers whose sum, modulo 2^k, is that of all (k rows each)."""
    rest = list(numbers)
    while len(rest) > 2:
        triples = [rest[i : i + 3] for i in range(0, len(rest) - 2, 3)]
        left = scheme.stack_rows([scheme.xor(a, c) for a, _, c in triples])
        right = scheme.stack_rows([scheme.xor(b, c) for _, b, c in triples])
        product = scheme.and_(left, right)
        width = rest[0].rows
        reduced: list[BitShare] = []
        for place, (a, b, c) in enumerate(triples):
            carries = scheme.xor(scheme.select_rows(product, slice(place * width, (place + 1) * width)), c)
            reduced += [scheme.xor(scheme.xor(a, b), c), _doubled(scheme, carries)]
        rest = reduced + rest[3 * len(triples) :]
    u, v = rest
    return scheme.and_(u, v), scheme.xor(u, v)


def _doubled(scheme: Scheme, number: BitShare) -> BitShare:
    """Return twice a number: its rows one place up, and a row of zeros."""
    lowest = scheme.select_rows(number, slice(0, 1))
    zero = scheme.xor(lowest, lowest)
    return scheme.stack_rows([zero, scheme.select_rows(number, slice(0, number.rows - 1))])
