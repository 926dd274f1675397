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

where Theta is 1 at and below 0, and 0 from 16 on. The kernels ``carry_tables`` and ``carry_signals`` do it.
"""

from __future__ import annotations

import numpy as np

from cofit import kernels
from cofit.arithmetic.integers import Words

GROUP = 4
ENTRIES = 15


def group_count(bits: int) -> int:
    """Return in how many groups a number of so many bits goes."""
    return -(-bits // GROUP)


def tables(planes: Words) -> Words:
    """Return the tables of numbers with these bit planes, shape (4 groups, words): shape (groups, 15, words)."""
    groups, words = len(planes) // GROUP, planes.shape[1]
    out = np.empty((groups * ENTRIES, words), np.uint64)
    kernels.carry_tables(np.ascontiguousarray(planes), out)
    return out.reshape(groups, ENTRIES, words)


def signals(table: Words, planes: Words, *, constant: bool) -> Words:
    """Return our part of the signals, from our part of the tables: shape (2 groups - 1, numbers, words).

    planes: of v, for several numbers v and one u, shape (numbers, 4 groups, words). constant: whether ours is the part
    that has the public Theta_0. First all generate signals, from the lowest group; then the propagate signals, but that
    of the lowest group, which nobody needs.
    """
    groups, _, words = table.shape
    numbers = len(planes)
    out = np.empty(((2 * groups - 1) * numbers, words), np.uint64)
    of_u, of_v = (np.ascontiguousarray(each).reshape(-1, words) for each in (table, planes))
    kernels.carry_signals(of_u, of_v, constant, out)
    return out.reshape(2 * groups - 1, numbers, words)
