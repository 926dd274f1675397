"""Carries four bits at a time: the top bit of every sum, whoever holds which part of the tables."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.arithmetic import Z64
from cofit.arithmetic.bits import to_planes, unpack
from cofit.arithmetic.carry_tables import ENTRIES, GROUP, group_count, signals, tables
from cofit.arithmetic.integers import Words


def top_bits(u: Words, v: Words, bits: int, mask: Words | None = None) -> Words:
    """The top bits of u + v modulo 2^bits, from two parts of the tables of u; ``v``: several rows."""
    groups = group_count(bits)
    table = tables(to_planes(Z64, u)[:bits])
    assert table.shape == (groups, ENTRIES, table.shape[2])
    other = np.zeros_like(table) if mask is None else mask
    planes = np.stack([to_planes(Z64, row)[:bits] for row in v])
    found = signals(table ^ other, planes, constant=True) ^ signals(other, planes, constant=False)
    carry = found[0]
    for group in range(1, groups):
        carry = found[group] ^ (found[groups - 1 + group] & carry)
    return np.asarray(unpack(carry, len(u)), np.uint64)


def test_every_pair_of_two_groups() -> None:
    u, v = (np.ascontiguousarray(grid.reshape(-1)) for grid in np.meshgrid(*[np.arange(256, dtype=np.uint64)] * 2))
    found = top_bits(u, np.stack([v, v + np.uint64(1) & np.uint64(255)]), 8)
    assert (found[0] == (u + v >> np.uint64(7) & np.uint64(1))).all()
    assert (found[1] == (u + v + np.uint64(1) >> np.uint64(7) & np.uint64(1))).all()


@pytest.mark.parametrize("bits", [4, 12, 24, 28, 64])
def test_shared_tables_give_the_same_bits(bits: int) -> None:
    """More elements than a row has in the cache, long carries, and a number of elements that fills no word."""
    rng = np.random.default_rng(5)
    count, kept = 64 * 256 + 130, np.uint64((1 << bits) - 1)
    u = rng.integers(0, 1 << 64, count, np.uint64) & kept
    v = rng.integers(0, 1 << 64, (2, count), np.uint64) & kept
    v[1] = ~u + rng.integers(0, 3, count).astype(np.uint64) & kept  # u + v is about 2^bits
    mask = rng.integers(0, 1 << 64, (bits // GROUP, ENTRIES, -(-count // 64)), np.uint64)
    assert (top_bits(u, v, bits, mask) == ((u + v & kept) >> np.uint64(bits - 1))).all()
