"""What parties do where they clip sums, against Python integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cofit import kernels

from .reference import Words, decode, encode, random_words, reduce

pytestmark = pytest.mark.usefixtures("isa")

ENTRIES = 15


def bits_of(rng: np.random.Generator, count: int) -> tuple[Words, Words]:
    """Bits, and the same packed, with ones where nothing is read."""
    bits = rng.integers(0, 2, (1, count), dtype=np.uint8)
    packed = np.empty((1, -(-count // 64)), np.uint64)
    kernels.pack_bits(bits, packed)
    packed[:, count // 64 :] |= ~np.uint64(0) << np.uint64(count % 64)
    return bits[0].astype(object), packed[0]


def planes_of(numbers: Words, bits: int) -> Words:
    out = np.empty((64, -(-len(numbers) // 64)), np.uint64)
    kernels.to_planes(numbers, out, 1)
    return np.ascontiguousarray(out[:bits])


def flags(row: Words, count: int) -> Words:
    out = np.empty((1, count), np.uint8)
    kernels.unpack_bits(row.reshape(1, -1), out)
    return np.asarray(out[0], np.uint64)


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_tables_compare_every_digit(rng: np.random.Generator, groups: int) -> None:
    for count in (1, 64, 65, 64 * 33 + 5):
        numbers = rng.integers(0, 1 << 4 * groups, count, np.uint64)
        out = np.empty((ENTRIES * groups, -(-count // 64)), np.uint64)
        kernels.carry_tables(planes_of(numbers, 4 * groups), out)
        for group in range(groups):
            digit = numbers >> np.uint64(4 * group) & np.uint64(15)
            for x in range(1, ENTRIES + 1):
                found = flags(out[ENTRIES * group + x - 1], count)
                np.testing.assert_array_equal(found, digit >= x)


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_signals_are_the_carries_of_every_digit(rng: np.random.Generator, groups: int) -> None:
    for count in (1, 65, 64 * 33 + 5):
        words = -(-count // 64)
        u, *v = (rng.integers(0, 1 << 4 * groups, count, np.uint64) for _ in range(3))
        table = np.empty((ENTRIES * groups, words), np.uint64)
        kernels.carry_tables(planes_of(u, 4 * groups), table)
        mask = rng.integers(0, 1 << 64, table.shape, np.uint64)
        planes = np.concatenate([planes_of(number, 4 * groups) for number in v])
        ours, theirs = (np.empty(((2 * groups - 1) * 2, words), np.uint64) for _ in range(2))
        kernels.carry_signals(table ^ mask, planes, True, ours)
        kernels.carry_signals(mask, planes, False, theirs)
        found = (ours ^ theirs).reshape(2 * groups - 1, 2, words)
        for which, number in enumerate(v):
            for group in range(groups):
                total = sum(n >> np.uint64(4 * group) & np.uint64(15) for n in (u, number))
                last = group == groups - 1
                generate = total >> np.uint64(3) & np.uint64(1) if last else total >= 16
                np.testing.assert_array_equal(flags(found[group, which], count), generate)
                if group:
                    one_more = total + np.uint64(1)
                    propagate = (one_more ^ total) >> np.uint64(3) & np.uint64(1) if last else total == 15
                    np.testing.assert_array_equal(flags(found[groups - 1 + group, which], count), propagate)


@pytest.mark.parametrize("shift", [0, 1, 29, 61])
def test_what_is_dealt(rng: np.random.Generator, words: int, shift: int) -> None:
    for n in (0, 1, 63, 64, 65, 200):
        (i, inside), (below_bits, below) = bits_of(rng, n), bits_of(rng, n)
        mask = random_words(rng, (n,), words)
        hidden = [random_words(rng, (n,), words) for _ in range(6 if shift else 4)]
        r = decode(mask, words)
        parts = [r >> shift, r >> (64 * words - 1)] if shift else [r]
        rows = [i, below_bits, *(product for q in parts for product in (i * q, (1 - i) * q))]
        out = np.full((len(rows), n * words), 7, np.uint64)
        kernels.clip_deal(mask, inside, below, hidden, shift, out, words)
        for row, value, less in zip(out, rows, hidden, strict=True):
            np.testing.assert_array_equal(row, encode(reduce(value - decode(less, words), words), words))


@pytest.mark.parametrize("shift", [0, 1, 29, 61])
@pytest.mark.parametrize("first", [False, True])
def test_products_with_what_is_dealt(rng: np.random.Generator, words: int, shift: int, first: bool) -> None:
    bits, lower, upper = 64 * words, -(3 << 40), 5
    ends = encode(reduce(np.array([lower, upper], object), words), words)
    for n in (0, 1, 63, 64, 65, 200):
        (i, inside), (below_bits, below) = bits_of(rng, n), bits_of(rng, n)
        opened, out_mask, *dealt = (random_words(rng, (n,), words) for _ in range(8 if shift else 6))
        c, hides, *d = (decode(array, words) for array in (opened, out_mask, *dealt))
        public = (c >> shift) - (1 << bits - 2 - shift) - upper
        expected = ((1 - 2 * i) * d[0] + i * first) * public - np.where(i == 1, d[3], d[2]) + first * upper - hides
        expected -= ((1 - 2 * below_bits) * d[1] + below_bits * first) * (upper - lower)
        if shift:
            expected += (1 - (c >> bits - 1)) * np.where(i == 1, d[5], d[4]) * (1 << bits - shift)
        out = np.full(n * words, 7, np.uint64)
        kernels.clip_products(opened, inside, below, dealt, out_mask, ends, shift, first, out, words)
        np.testing.assert_array_equal(out, encode(reduce(expected, words), words))


def test_arguments_that_do_not_fit_are_refused() -> None:
    numbers, bits, six = np.zeros(65, np.uint64), np.zeros(2, np.uint64), [np.zeros(65, np.uint64) for _ in range(6)]
    out, ends = np.zeros((6, 65), np.uint64), np.zeros(2, np.uint64)
    kernels.clip_deal(numbers, bits, bits, six, 3, out, 1)
    wrong_deals: list[Any] = [
        (numbers, bits[:1], bits, six, 3, out, 1),
        (numbers, bits, bits[:1], six, 3, out, 1),
        (numbers, bits, bits, six[:4], 3, out, 1),
        (numbers, bits, bits, six, 0, out, 1),
        (numbers, bits, bits, [*six[:5], ends], 3, out, 1),
        (numbers, bits, bits, six, 63, out, 1),
        (numbers, bits, bits, six, 3, out[:4], 1),
        (numbers, bits, bits, [*six[:5], out[0]], 3, out, 1),
    ]
    for arguments in wrong_deals:
        with pytest.raises(ValueError, match="parameter of clip_deal must"):
            kernels.clip_deal(*arguments)
    kernels.clip_products(numbers, bits, bits, six, numbers, ends, 3, True, out[0], 1)
    wrong_products: list[Any] = [
        (numbers[:64], bits, bits, six, numbers, ends, 3, True, out[0], 1),
        (numbers, bits, bits, six[:4], numbers, ends, 3, True, out[0], 1),
        (numbers, bits, bits, six, numbers[:3], ends, 3, True, out[0], 1),
        (numbers, bits, bits, six, numbers, ends[:1], 3, True, out[0], 1),
        (numbers, bits, bits, six, out[0], ends, 3, True, out[0], 1),
        (numbers, bits, bits, six, numbers, ends, -1, True, out[0], 1),
    ]
    for arguments in wrong_products:
        with pytest.raises(ValueError, match="parameter of clip_products must"):
            kernels.clip_products(*arguments)
    table, planes = np.zeros((30, 2), np.uint64), np.zeros((8, 2), np.uint64)
    signals = np.zeros((3, 2), np.uint64)
    kernels.carry_tables(planes, table)
    kernels.carry_signals(table, planes, True, signals)
    for wrong in (table[:29], table[:15], np.zeros((30, 3), np.uint64), np.zeros((0, 2), np.uint64)):
        with pytest.raises(ValueError, match="parameter of carry_tables must"):
            kernels.carry_tables(planes, wrong)
    for given in ((table[:29], planes, signals), (table, planes[:7], signals), (table, planes, signals[:2])):
        with pytest.raises(ValueError, match="parameter of carry_signals must"):
            kernels.carry_signals(given[0], given[1], True, given[2])
