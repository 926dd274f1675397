"""Packed bits and bit planes."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.arithmetic import F61, Z64, Z128, IntegerRing, Shape
from cofit.arithmetic.bits import (
    bits_less,
    flipped_by_bits,
    from_planes,
    pack,
    packed_length,
    to_planes,
    unpack,
)
from cofit.errors import InvalidInputError
from unit.arithmetic.reference import packed, random_integers, signed, unpacked

COUNTS = [0, 1, 2, 63, 64, 65, 127, 128, 129, 200, 321]


def test_packed_length() -> None:
    assert [packed_length(n) for n in (0, 1, 63, 64, 65, 128, 129)] == [0, 1, 1, 1, 2, 2, 3]


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int64, np.int8])
@pytest.mark.parametrize("count", COUNTS)
def test_pack_puts_element_j_into_bit_j(count: int, dtype: type[np.generic]) -> None:
    bits = np.random.default_rng(count).integers(0, 2, size=count)
    words = pack(bits.astype(dtype))
    assert words.dtype == np.uint64
    assert words.shape == (packed_length(count),)
    whole = sum(int(word) << (64 * w) for w, word in enumerate(words))
    assert whole == sum(int(bit) << j for j, bit in enumerate(bits))  # padding bits are zero


@pytest.mark.parametrize("leading", [(), (1,), (3,), (2, 3), (0,)], ids=str)
@pytest.mark.parametrize("count", COUNTS)
def test_round_trip(count: int, leading: Shape) -> None:
    bits = np.random.default_rng(count).integers(0, 2, size=(*leading, count), dtype=np.uint8)
    words = pack(bits)
    assert words.shape == (*leading, packed_length(count))
    back = unpack(words, count)
    assert back.dtype == np.uint8
    assert back.shape == bits.shape
    assert (back == bits).all()


def test_padding_bits_are_not_read() -> None:
    words = np.full(2, 2**64 - 1, dtype=np.uint64)
    assert unpack(words, 65).tolist() == [1] * 65


def test_views_are_packed_too() -> None:
    bits = np.random.default_rng(5).integers(0, 2, size=(70, 6), dtype=np.uint8)
    assert (unpack(pack(bits.T[::2]), 70) == bits.T[::2]).all()
    words = pack(bits.T)
    assert (unpack(words[::-1], 70) == bits.T[::-1]).all()


@pytest.mark.parametrize("bits", [[0.0, 1.0], ["0"], [None], [1j]], ids=repr)
def test_other_types_are_refused(bits: list[object]) -> None:
    with pytest.raises(InvalidInputError, match="booleans or the integers"):
        pack(np.asarray(bits))


@pytest.mark.parametrize("bad", [2, -1])
def test_other_integers_are_refused(bad: int) -> None:
    with pytest.raises(InvalidInputError, match="0 or 1"):
        pack([0, 1, bad])


def test_other_bytes_are_refused() -> None:
    with pytest.raises(ValueError, match="zeros and ones"):
        pack(np.array([0, 1, 2], dtype=np.uint8))


@pytest.mark.parametrize("count", COUNTS)
def test_planes(ring: IntegerRing, count: int) -> None:
    values = random_integers(ring, (count,), count)
    planes = to_planes(ring, packed(ring, values))
    assert planes.shape == (ring.bits, packed_length(count))
    rows = unpack(planes, count)
    for b in (0, 1, 31, 32, ring.bits - 3, ring.bits - 1):
        assert rows[b].tolist() == [(int(v) >> b) & 1 for v in values]
    padding = np.concatenate([rows, np.zeros((ring.bits, 64 * packed_length(count) - count), np.uint8)], axis=1)
    assert (pack(padding) == planes).all()
    unsigned = [signed(ring, int(v) % (1 << ring.bits)) for v in values]
    assert unpacked(ring, from_planes(ring, planes, count)).tolist() == unsigned
    digits = [int(v) % 32 for v in values]
    assert unpacked(ring, from_planes(ring, planes[:5], count)).tolist() == digits


def test_planes_of_a_view(ring: IntegerRing) -> None:
    values = random_integers(ring, (14, 5))
    planes = to_planes(ring, packed(ring, values).T[::-1])
    want = [signed(ring, int(v) % (1 << ring.bits)) for v in values.T[::-1].flat]
    assert unpacked(ring, from_planes(ring, planes, 70)).tolist() == want
    assert unpacked(ring, from_planes(ring, np.asfortranarray(planes), 70)).tolist() == want


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("ring", [Z64, Z128, F61], ids=str)
def test_elements_with_signs_by_bits(ring: IntegerRing, count: int) -> None:
    rng = np.random.default_rng(count)
    bits = rng.integers(0, 2, size=(3, count), dtype=np.uint8)
    a, minus = (ring.uniform(lambda size: rng.integers(0, 256, size, dtype=np.uint8), (3, count)) for _ in range(2))
    b = ring.from_int(bits)
    assert (bits_less(ring, pack(bits), minus) == ring.sub(b, minus)).all()
    flipped = ring.mul(ring.sub(ring.from_int(np.ones_like(bits)), ring.add(b, b)), a)
    assert (flipped_by_bits(ring, pack(bits), a, adds_bits=False) == flipped).all()
    assert (flipped_by_bits(ring, pack(bits), a, adds_bits=True) == ring.add(flipped, b)).all()
    assert (flipped_by_bits(ring, pack(bits), a, adds_bits=False, minus=minus) == ring.sub(flipped, minus)).all()
