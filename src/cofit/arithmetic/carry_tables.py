"""Carries of a sum u + v, four bits at a time, where one side knows u and the other v: all on bit planes.

A group of four bits of u is one of 16 numbers. Its *table* is Theta_x = [u >= x], x = 1 ... 15. Whoever knows v picks
from a table of u, or from a sharing of it under XOR, entry by entry:

    generate   [u + v >= 16] = Theta_(16 - v)
    propagate  [u + v = 15]  = Theta_(15 - v) xor Theta_(16 - v)

with Theta_0 = 1 and Theta_16 = 0: both are linear in the table. The highest group gives the top bit of u + v in the
place of the first, and whether one more flips it in the place of the second, so that joining all groups as carries are
joined (``sharing/adder.py``) leaves the top bit of the sum. These are linear in the table, too: with h = 8,

    top bit    Theta_(h - v) xor Theta_(2h - v) xor Theta_(3h - v)
    flips      the sum over x = h - 1, 2h - 1, 3h - 1 of Theta_(x - v) xor Theta_(x + 1 - v)

where Theta is 1 at and below 0, and 0 from 16 on.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cofit.arithmetic.integers import Words

GROUP = 4
ENTRIES = 15
_HALF = 8
_CACHED = 256  # words of a row, so that what a choice holds stays in the cache


def group_count(bits: int) -> int:
    """Return in how many groups a number of so many bits goes."""
    return -(-bits // GROUP)


def tables(planes: Words) -> Words:
    """Return the tables of numbers with these bit planes, shape (4 groups, words): shape (groups, 15, words)."""
    groups = planes.reshape(-1, GROUP, planes.shape[1])
    entries = groups[:, :1]
    for bit in range(1, GROUP):
        high = groups[:, bit : bit + 1]
        entries = np.concatenate([entries | high, high, entries & high], axis=1)
    return entries


def signals(table: Words, planes: Words, *, constant: bool) -> Words:
    """Return our part of the signals, from our part of the tables: shape (2 groups - 1, numbers, words).

    planes: of v, for several numbers v and one u, shape (numbers, 4 groups, words). constant: whether ours is the part
    that has the public Theta_0. First all generate signals, from the lowest group; then the propagate signals, but that
    of the lowest group, which nobody needs.
    """
    groups, _, words = table.shape
    out = np.empty((2 * groups - 1, len(planes), words), np.uint64)
    v = planes.reshape(len(planes), groups, GROUP, words)
    for start in range(0, words, _CACHED):
        piece = slice(start, start + _CACHED)
        entries, some = _with_ends(table[..., piece], constant=constant), v[..., piece]
        at, before = entries[:-1, :0:-1], entries[:-1, -2::-1]  # Theta_(16 - v) and Theta_(15 - v), for every v
        out[: groups - 1, :, piece] = _chosen(at, some[:, :-1]).swapaxes(0, 1)
        out[groups:-1, :, piece] = _chosen((at ^ before)[1:], some[:, 1:-1]).swapaxes(0, 1)
        for row, places in zip((groups - 1, -1) if groups > 1 else (0,), _TOP, strict=False):
            out[row, :, piece] = _chosen(_sums(entries[-1], places)[None], some[:, -1:])[:, 0]
    return out


def _with_ends(table: Words, *, constant: bool) -> Words:
    """Return Theta_0, ..., Theta_16 of every group."""
    groups, _, words = table.shape
    entries = np.zeros((groups, ENTRIES + 2, words), np.uint64)
    entries[:, 1:-1] = table
    if constant:
        entries[:, 0] = np.iinfo(np.uint64).max
    return entries


def _chosen(choices: Words, v: Words) -> Words:
    """Return the one of 16 choices that v names: of shapes (groups, 16, words) and (numbers, groups, 4, words)."""
    left = choices[None]
    for bit in reversed(range(GROUP)):
        half = left.shape[2] // 2
        low, high = left[:, :, :half], left[:, :, half:]
        left = low ^ ((low ^ high) & v[:, :, bit, None])
    return left[:, :, 0]


def _sums(entries: Words, places: npt.NDArray[np.intp]) -> Words:
    """Return, for every v, the sum of the entries at its places."""
    return np.asarray(np.bitwise_xor.reduce(entries[places], axis=1))


def _below(places: list[int]) -> npt.NDArray[np.intp]:
    """Return these places less v, a row for every v; Theta is the same at and below 0, and from 16 on."""
    return np.clip(np.array([places]) - np.arange(2 * _HALF)[:, None], 0, 2 * _HALF)


_TOP = (
    _below([_HALF, 2 * _HALF, 3 * _HALF]),
    _below([x + more for x in (_HALF - 1, 2 * _HALF - 1, 3 * _HALF - 1) for more in (0, 1)]),
)
"""Which entries make the signals of the highest group."""
