"""One party has all leaves of a tree, the other all but the one at Delta."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from cofit.errors import InvalidInputError, ProtocolError
from cofit.sharing.pair.trees import SUMS_BYTES, base_choices, grown, punctured

Bytes = npt.NDArray[np.uint8]
PLACES = np.arange(130)


def bits_of_numbers(numbers: npt.NDArray[np.int64]) -> Bytes:
    """Delta: the bits of 26 numbers, but those that the last one has not."""
    return (numbers[:, None] >> np.arange(5) & 1).astype(np.uint8).reshape(-1)[:128]


def some_numbers(shift: int) -> npt.NDArray[np.int64]:
    """26 numbers of 5 bits, the last one of 3."""
    numbers = (np.arange(26) + shift) % 32
    numbers[-1] %= 8
    return numbers


def child(node: bytes, side: int) -> bytes:
    return Cipher(algorithms.AES128(node), modes.ECB()).encryptor().update(side.to_bytes(16, "little"))


@pytest.fixture
def pairs(rng: np.random.Generator) -> Bytes:
    return rng.integers(0, 256, (130, 2, 16), dtype=np.uint8)


def test_leaves_are_those_of_the_definition(pairs: Bytes) -> None:
    leaves, sums = grown(pairs)
    assert leaves.shape == (26, 32, 16)
    assert sums.shape == (SUMS_BYTES,) == (26 * 4 * 2 * 16,)
    for tree in (0, 13, 25):
        for x in range(32):
            node = pairs[5 * tree, x & 1].tobytes()
            for bit in range(1, 5):
                node = child(node, x >> bit & 1)
            assert leaves[tree, x].tobytes() == node


@pytest.mark.parametrize("shift", range(32))
def test_all_leaves_but_the_one_at_delta(shift: int, pairs: Bytes) -> None:
    """With the 32 shifts every tree misses every leaf once, and the last one each of its first 8 leaves."""
    numbers = some_numbers(shift)
    delta_bits = bits_of_numbers(numbers)
    leaves, sums = grown(pairs)
    keys = pairs[PLACES, base_choices(delta_bits)]
    expected = leaves.copy()
    expected[np.arange(26), numbers] = 0
    assert (punctured(delta_bits, keys, sums) == expected).all()


def test_the_choice_is_the_complement(pairs: Bytes) -> None:
    """With the seeds of the bits themselves, which would give the leaf at Delta away, nothing fits."""
    delta_bits = bits_of_numbers(some_numbers(0))
    choices = base_choices(delta_bits)
    assert (choices[:128] == 1 - delta_bits).all()
    leaves, sums = grown(pairs)
    wrong = punctured(delta_bits, pairs[PLACES, 1 - choices], sums)
    assert (wrong != leaves).any(axis=2).all()


@pytest.mark.parametrize("all_bits", [0, 1])
def test_the_last_two_choices_are_constants(all_bits: int) -> None:
    assert base_choices(np.full(128, all_bits, np.uint8)).tolist() == [1 - all_bits] * 128 + [1, 1]


def test_what_does_not_fit_is_refused(pairs: Bytes) -> None:
    delta_bits = np.zeros(128, np.uint8)
    _, sums = grown(pairs)
    with pytest.raises(ProtocolError, match=f"have {SUMS_BYTES} bytes"):
        punctured(delta_bits, pairs[:, 0], sums[:-1])
    with pytest.raises(InvalidInputError, match="'keys' parameter of punctured"):
        punctured(delta_bits, pairs[:-1, 0], sums)
    with pytest.raises(InvalidInputError, match="'pairs' parameter of grown"):
        grown(pairs[:64])
    with pytest.raises(InvalidInputError, match="'delta_bits' parameter of base_choices"):
        base_choices(delta_bits + np.uint8(2))
    with pytest.raises(InvalidInputError, match="'delta_bits' parameter of punctured must be 128 bytes"):
        punctured(np.zeros(130, np.uint8), pairs[:, 0], sums)
