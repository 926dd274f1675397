"""The hash of rows, in all its forms, on every instruction set, against the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from cofit.arithmetic.integers import Words
from cofit.errors import InvalidInputError
from cofit.sharing.pair import hashing

pytestmark = pytest.mark.usefixtures("isa")

VECTORS = [  # row, Delta, tweak, hash: made by the definition below
    (
        0x00000000000000000000000000000000,
        0x00000000000000000000000000000000,
        0x00000000000000000000000000000000,
        0xB9DEA13BDEE54DB372CFBE0ECC7C4619,
    ),
    (
        0x00000000000000000000000000000001,
        0x00000000000000000000000000000000,
        0x00000000000000000000000000000001,
        0x2023E0F1F91DC83D6AA5EFF17E54A92E,
    ),
    (
        0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF,
        0x0123456789ABCDEFFEDCBA9876543210,
        0x00000000000000010000000000000000,
        0xD8EF9742DD2D334DE3A5BEF4A0CBE1A7,
    ),
    (
        0x00000A50000000000000000000000000,
        0x80000000000000000000000000000001,
        0x0000001000000000000000000000004D,
        0x17329FE3F1B88BF157D00A2143DB9B13,
    ),
]


def encrypted(key: bytes, number: int) -> bytes:
    return Cipher(algorithms.AES128(key), modes.ECB()).encryptor().update(number.to_bytes(16, "little"))


def defined(row: int, delta: int, tweak: int, key: bytes = hashing.KEY, at: int | None = None) -> int:
    """H(i, x) = pi(pi(x) XOR i) XOR pi(x), of numbers; bytes are little-endian. at: where the group of i begins."""
    of_pi = encrypted(key, (tweak if at is None else at) // 1024)
    inner = int.from_bytes(encrypted(of_pi, row ^ delta), "little")
    return int.from_bytes(encrypted(of_pi, inner ^ tweak), "little") ^ inner


def numbers(rows: Words) -> list[int]:
    return [int(low) | int(high) << 64 for low, high in rows]


def drawn(rng: np.random.Generator, *shape: int) -> Words:
    return rng.integers(0, 2**64, shape, dtype=np.uint64)


@pytest.mark.parametrize("first", [0, 5, 2**64 - 3, 2**64 - 64, 3 * 2**64 - 33, 2**128 - 1088])
def test_every_row_has_the_hash_of_the_definition(first: int, rng: np.random.Generator) -> None:
    """Also where the low word of the tweak comes back to zero between any two rows."""
    rows, delta = drawn(rng, 1088, 2), drawn(rng, 2)
    secret = numbers(delta[None])[0]
    plain, other = hashing.wide(rows, first), hashing.wide(rows, first, delta)
    places = [(row, first + j, (first // 64 + j // 64) * 64) for j, row in enumerate(numbers(rows))]
    assert numbers(plain) == [defined(row, 0, tweak, at=at) for row, tweak, at in places]
    assert numbers(other) == [defined(row, secret, tweak, at=at) for row, tweak, at in places]


@pytest.mark.parametrize("count", [0, 64, 128, 192, 448, 576, 4096 + 64, 20 * 4096])
@pytest.mark.parametrize("with_delta", [False, True])
def test_all_forms_agree(count: int, with_delta: bool, rng: np.random.Generator) -> None:
    rows, delta = drawn(rng, count, 2), drawn(rng, 2) if with_delta else None
    first = int(rng.integers(2**63)) << 60
    tweak = np.array([first % 2**64, first >> 64], np.uint64)
    expected = hashing.portable_hash(rows, np.zeros(2, np.uint64) if delta is None else delta, tweak)
    assert (hashing.wide(rows, first, delta) == expected).all()
    assert (hashing.words(rows, first, delta) == expected[:, 0]).all()
    by_bit = np.unpackbits(expected.view(np.uint8), axis=1, bitorder="little")
    lowest = np.unpackbits(hashing.bits(rows, first, delta).view(np.uint8), bitorder="little")
    assert (lowest == by_bit[:, 0]).all()
    for planes in (1, 7, 64, 65, 128):
        found = hashing.planes(rows, first, planes, delta)
        assert found.shape == (planes, count // 64)
        unpacked = np.unpackbits(found.view(np.uint8), axis=1, bitorder="little") if count else found.reshape(planes, 0)
        assert (unpacked == by_bit[:, :planes].T).all()


def test_fixed_vectors() -> None:
    for row, delta, tweak, expected in VECTORS:
        rows = np.zeros((64, 2), np.uint64)
        rows[0] = row % 2**64, row >> 64
        secret = np.array([delta % 2**64, delta >> 64], np.uint64)
        assert numbers(hashing.wide(rows, tweak, secret))[0] == expected
    assert len(VECTORS) == 4


def test_slices_of_rows(rng: np.random.Generator) -> None:
    rows = drawn(rng, 512, 2)
    whole = hashing.wide(rows, 9)
    assert (hashing.wide(rows[64:256], 9 + 64) == whole[64:256]).all()
    assert (hashing.bits(rows[3:67], 12) == hashing.bits(rows[3:67].copy(), 12)).all()
    assert (hashing.words(rows[::2], 0) == hashing.words(rows[::2].copy(), 0)).all()
    assert (hashing.planes(rows[::-1], 1, 9) == hashing.planes(rows[::-1].copy(), 1, 9)).all()
    columns = np.asfortranarray(rows)
    assert (hashing.wide(columns, 9) == whole).all()


def test_rows_are_not_changed_and_tweaks_matter(rng: np.random.Generator) -> None:
    rows = np.broadcast_to(drawn(rng, 2), (256, 2))
    assert len(np.unique(hashing.wide(rows, 0), axis=0)) == 256
    kept = drawn(rng, 64, 2)
    before = kept.copy()
    hashing.planes(kept, 0, 128, drawn(rng, 2))
    assert (kept == before).all()


def test_what_does_not_fit_is_refused(rng: np.random.Generator) -> None:
    rows = drawn(rng, 64, 2)
    bad: Any
    for bad in (rows[:63], rows[:, :1], rows.reshape(-1), rows.astype(np.int64)):
        for form in (hashing.bits, hashing.words, hashing.wide):
            with pytest.raises(InvalidInputError, match="'rows' parameter of a hash"):
                form(bad, 0)
        with pytest.raises(InvalidInputError, match="'rows' parameter of a hash"):
            hashing.planes(bad, 0, 1)
    for first in (-1, 2**128 - 63):
        with pytest.raises(InvalidInputError, match="'first' parameter"):
            hashing.bits(rows, first)
    delta: Any
    for delta in (rows[0, :1], rows[0].astype(np.int64)):
        with pytest.raises(InvalidInputError, match="'delta' parameter"):
            hashing.words(rows, 0, delta)
    for planes in (0, 129):
        with pytest.raises(InvalidInputError, match="'count_planes' parameter"):
            hashing.planes(rows, 0, planes)


def test_no_more_than_1024_tweaks_have_one_permutation(rng: np.random.Generator) -> None:
    """H(i, x) XOR i = F(pi(x) XOR i), F(y) = pi(y) XOR y: what is known of one F must not help beyond its quantum."""
    rows = np.broadcast_to(drawn(rng, 2), (4096, 2))
    row, quantum = numbers(rows[:1])[0], 1024
    for first in (0, 64, 2**62):
        hashes = numbers(hashing.wide(rows, first))
        for j in (0, 959, 960, 1023, 1024, 4095):
            of_pi = encrypted(hashing.KEY, (first + j) // quantum)
            y = int.from_bytes(encrypted(of_pi, row), "little") ^ (first + j)
            assert hashes[j] ^ (first + j) == int.from_bytes(encrypted(of_pi, y), "little") ^ y
    keys = {encrypted(hashing.KEY, n) for n in range(64)}
    assert len(keys) == 64


def test_sessions_have_permutations_of_their_own(rng: np.random.Generator) -> None:
    rows, delta = drawn(rng, 128, 2), drawn(rng, 2)
    key = bytes(range(16))
    for form in (hashing.bits, hashing.words, hashing.wide):
        assert (form(rows, 64, delta, key) != form(rows, 64, delta)).any()
    assert (hashing.planes(rows, 64, 9, delta, key) != hashing.planes(rows, 64, 9, delta)).any()
    secret = numbers(delta[None])[0]
    found = numbers(hashing.wide(rows, 64, delta, key))
    assert found == [defined(row, secret, 64 + j, key) for j, row in enumerate(numbers(rows))]
