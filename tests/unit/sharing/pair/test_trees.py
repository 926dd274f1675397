"""One party has all leaves of a tree, the other all but the one at Delta."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from cofit.errors import InvalidInputError, ProtocolError
from cofit.sharing.pair.trees import SUMS_BYTES, base_choices, grown, punctured

Bytes = npt.NDArray[np.uint8]
PLACES = np.arange(128)


def bits_of_numbers(numbers: npt.NDArray[np.int64]) -> Bytes:
    return (numbers[:, None] >> np.arange(4) & 1).astype(np.uint8).reshape(-1)


def child(node: bytes, side: int) -> bytes:
    return Cipher(algorithms.AES128(node), modes.ECB()).encryptor().update(side.to_bytes(16, "little"))


@pytest.fixture
def pairs(rng: np.random.Generator) -> Bytes:
    return rng.integers(0, 256, (128, 2, 16), dtype=np.uint8)


def test_leaves_are_those_of_the_definition(pairs: Bytes) -> None:
    leaves, sums = grown(pairs)
    assert leaves.shape == (32, 16, 16)
    assert sums.shape == (SUMS_BYTES,)
    for tree in (0, 13, 31):
        for x in range(16):
            node = pairs[4 * tree, x & 1].tobytes()
            for bit in range(1, 4):
                node = child(node, x >> bit & 1)
            assert leaves[tree, x].tobytes() == node


@pytest.mark.parametrize("shift", range(16))
def test_all_leaves_but_the_one_at_delta(shift: int, pairs: Bytes) -> None:
    """With the 16 shifts every tree misses every leaf once."""
    numbers = (np.arange(32) + shift) % 16
    delta_bits = bits_of_numbers(numbers)
    leaves, sums = grown(pairs)
    keys = pairs[PLACES, base_choices(delta_bits)]
    expected = leaves.copy()
    expected[np.arange(32), numbers] = 0
    assert (punctured(delta_bits, keys, sums) == expected).all()


def test_the_choice_is_the_complement(pairs: Bytes) -> None:
    """With the seeds of the bits themselves, which would give the leaf at Delta away, nothing fits."""
    delta_bits = bits_of_numbers(np.arange(32) % 16)
    assert (base_choices(delta_bits) == 1 - delta_bits).all()
    leaves, sums = grown(pairs)
    wrong = punctured(delta_bits, pairs[PLACES, delta_bits], sums)
    assert (wrong != leaves).any(axis=2).all()


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
