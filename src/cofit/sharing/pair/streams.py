"""The streams of all leaves, summed to the rows of transfers: by the kernels, or where there are none by NumPy.

A leaf is the key of a stream of bits: AES-128 in counter mode, from block 0 on; bit i of it belongs to transfer i. For
tree b with leaves x = 0 to 31, the XOR of the streams whose x has bit j is bit 5 b + j of the rows, which end at bit
127. The XOR of all streams of tree 0 is the choices, and the XOR of all streams of another tree differs from it by a
correction, of 128 bytes for every 1024 transfers. Both forms give the same bits, and keep their place from call to
call.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from cofit import kernels
from cofit.arithmetic.integers import Words
from cofit.sharing.pair.base_ot import SEED_BYTES
from cofit.sharing.pair.trees import DELTA_BITS, DEPTH, LEAVES, TREES

Bytes = npt.NDArray[np.uint8]

QUANTUM = 1024
"""Transfers are made in multiples of this."""
QUANTUM_BYTES = QUANTUM // 8
_BLOCK_BITS = 128
_SCHEDULE_BYTES = 176


class Streams(Protocol):
    """The streams of (26, 32, 16) leaves; a call takes the next ``count`` bits of each, by ``QUANTUM``."""

    def chosen(self, count: int) -> tuple[Words, Words, Bytes]:
        """Return the rows (count, 2), the choices (count // 64,) and the corrections."""

    def corrected(self, count: int, corrections: Bytes, delta: Words) -> Words:
        """Return the rows (count, 2), with each correction added to those bits of its tree that Delta has."""


def streams_of(leaves: Bytes) -> Streams:
    """Return the streams, in the fastest form that this machine has."""
    return NativeStreams(leaves) if kernels.aes_available() else PortableStreams(leaves)


class NativeStreams:
    """By the kernels: the CPU has instructions for AES."""

    def __init__(self, leaves: Bytes) -> None:
        self._schedules = np.empty((TREES * LEAVES, _SCHEDULE_BYTES), np.uint8)
        kernels.aes_schedules(np.ascontiguousarray(leaves).reshape(-1, SEED_BYTES), self._schedules)
        self._position = 0

    def chosen(self, count: int) -> tuple[Words, Words, Bytes]:
        rows, choices = np.empty((count, 2), np.uint64), np.empty(count // 64, np.uint64)
        corrections = np.empty(count // QUANTUM * (TREES - 1) * QUANTUM_BYTES, np.uint8)
        kernels.ot_chooser(self._schedules, self._passed(count), rows, choices, corrections)
        return rows, choices, corrections

    def corrected(self, count: int, corrections: Bytes, delta: Words) -> Words:
        rows = np.empty((count, 2), np.uint64)
        kernels.ot_sender(self._schedules, delta, self._passed(count), np.ascontiguousarray(corrections), rows)
        return rows

    def _passed(self, count: int) -> int:
        """Return the block at which so many transfers begin, and go past them."""
        begin, self._position = self._position, self._position + count // _BLOCK_BITS
        return begin


class PortableStreams:
    """By NumPy, and by the AES of ``cryptography``, whose ciphers keep their place themselves."""

    def __init__(self, leaves: Bytes) -> None:
        self._ciphers = [
            Cipher(algorithms.AES128(leaf.tobytes()), modes.CTR(bytes(16))).encryptor()
            for leaf in leaves.reshape(-1, SEED_BYTES)
        ]

    def chosen(self, count: int) -> tuple[Words, Words, Bytes]:
        sums, planes = self._next(count)
        corrections = (sums[1:] ^ sums[0]).view(np.uint8).reshape(TREES - 1, -1, QUANTUM_BYTES)
        return _rows_of(planes), sums[0].copy(), np.ascontiguousarray(corrections.swapaxes(0, 1)).reshape(-1)

    def corrected(self, count: int, corrections: Bytes, delta: Words) -> Words:
        _, planes = self._next(count)
        by_tree = corrections.reshape(-1, TREES - 1, QUANTUM_BYTES).swapaxes(0, 1)
        words = np.ascontiguousarray(by_tree).view(np.uint64).reshape(TREES - 1, -1)
        places = np.arange(DELTA_BITS, dtype=np.uint64)
        masks = np.uint64(0) - (np.repeat(delta, 64) >> places % np.uint64(64) & np.uint64(1))
        planes[DEPTH:] ^= masks[DEPTH:, None] & np.repeat(words, DEPTH, axis=0)[: DELTA_BITS - DEPTH]
        return _rows_of(planes)

    def _next(self, count: int) -> tuple[Words, Words]:
        """Return the sums of all streams of each tree, (26, count // 64), and the planes of the rows' bits."""
        zeros = bytes(count // 8)
        sums = np.empty((TREES, count // 64), np.uint64)
        planes = np.empty((DELTA_BITS, count // 64), np.uint64)
        for tree in range(TREES):
            ciphers = self._ciphers[tree * LEAVES : (tree + 1) * LEAVES]
            left = np.stack([np.frombuffer(cipher.update(zeros), np.uint64) for cipher in ciphers])
            for bit in range(DEPTH):
                place = tree * DEPTH + bit
                if place < DELTA_BITS:
                    np.bitwise_xor.reduce(left[1::2], axis=0, out=planes[place])
                left = left[0::2] ^ left[1::2]
            sums[tree] = left[0]
        return sums, planes


def _rows_of(planes: Words) -> Words:
    """Return 128 planes as rows: bit b of row i is bit i of plane b."""
    rows = np.empty((planes.shape[1] * 64, 2), np.uint64)
    kernels.from_planes(planes, rows.reshape(-1), 2)
    return rows
