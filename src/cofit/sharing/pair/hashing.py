"""The hash that breaks the correlation of rows: H(i, x) = pi(pi(x) XOR i) XOR pi(x).

pi is AES-128 with a fixed public key, x a row of 128 bits, and i a tweak of 128 bits. Row j of a call has the tweak
``first`` + j; **no tweak may occur twice** with the same Delta, whatever is hashed, or values that should be
independent are not. With a secret Delta of 128 random bits, H(i, x XOR Delta) is then pseudorandom, for any x that
the other party knows or chose, also beside H(i, x): this is tweakable circular correlation robustness, proven for a
random permutation pi and, with p offline and q hashed rows, up to about (p q + q^2) / 2^128.

The kernels compute it where the CPU has instructions for AES, and else NumPy with the AES of ``cryptography``
(``portable_hash``), which gives the same bits.

The holder of Delta passes it for the values at choice 1, and not for those at choice 0. Rows are (count, 2) words,
low word first, with count a multiple of 64; they may be any slice of rows.

Source: Guo, Katz, Wang, Yu, "Efficient and secure multiparty computation from fixed-key block ciphers", IEEE S&P
2020, section 7.4 (TMMO).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from cofit import kernels
from cofit.arithmetic.integers import Words
from cofit.errors import parameter_error

KEY = bytes.fromhex("243f6a8885a308d313198a2e03707344")
"""The first 128 bits after the point of the number pi."""
MOST_PLANES = 128
_GROUP = 64
_SCHEDULE_BYTES = 176


def bits(rows: Words, first: int, delta: Words | None = None) -> Words:
    """Return the lowest bit of every row's hash, 64 in a word."""
    if kernels.aes_available():
        out = np.empty(len(rows) // _GROUP, np.uint64)
        kernels.ot_hash_bits(_schedule(), *_checked(rows, first, delta), out)
        return out
    lowest = (words(rows, first, delta) & np.uint64(1)).astype(np.uint8)
    packed = np.empty((len(rows) // _GROUP, 1), np.uint64)
    kernels.pack_bits(lowest.reshape(-1, _GROUP), packed)
    return packed.reshape(-1)


def words(rows: Words, first: int, delta: Words | None = None) -> Words:
    """Return the low word of every row's hash, (count,)."""
    if kernels.aes_available():
        out = np.empty(len(rows), np.uint64)
        kernels.ot_hash_words(_schedule(), *_checked(rows, first, delta), out)
        return out
    return np.ascontiguousarray(wide(rows, first, delta)[:, 0])


def wide(rows: Words, first: int, delta: Words | None = None) -> Words:
    """Return every row's hash, (count, 2)."""
    if kernels.aes_available():
        out = np.empty((len(rows), 2), np.uint64)
        kernels.ot_hash_wide(_schedule(), *_checked(rows, first, delta), out)
        return out
    return portable_hash(*_checked(rows, first, delta))


def planes(rows: Words, first: int, count_planes: int, delta: Words | None = None) -> Words:
    """Return the low bits of the hashes by place, (count_planes, count // 64): bit j of plane b is bit b of row j's."""
    if not 0 < count_planes <= MOST_PLANES:
        raise parameter_error("count_planes", "planes", f"a number from 1 to {MOST_PLANES}", count_planes)
    if kernels.aes_available():
        out = np.empty((count_planes, len(rows) // _GROUP), np.uint64)
        kernels.ot_hash_planes(_schedule(), *_checked(rows, first, delta), out)
        return out
    all_planes = np.empty((MOST_PLANES, len(rows) // _GROUP), np.uint64)
    kernels.to_planes(wide(rows, first, delta).reshape(-1), all_planes, 2)
    return all_planes[:count_planes].copy()


def portable_hash(rows: Words, delta: Words, first: Words) -> Words:
    """Return every row's hash, (count, 2), without kernels; ``first`` are the two words of the first tweak."""
    tweaks = np.empty_like(rows)
    tweaks[:, 0] = first[0] + np.arange(len(rows), dtype=np.uint64)
    tweaks[:, 1] = first[1] + (tweaks[:, 0] < first[0])
    cipher = Cipher(algorithms.AES128(KEY), modes.ECB()).encryptor()  # noqa: S305 a permutation, and no encryption
    inner = np.frombuffer(cipher.update((rows ^ delta).tobytes()), np.uint64).reshape(-1, 2)
    outer = np.frombuffer(cipher.update((inner ^ tweaks).tobytes()), np.uint64).reshape(-1, 2)
    return outer ^ inner


@cache
def _schedule() -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Return the round keys of pi."""
    schedule = np.empty((1, _SCHEDULE_BYTES), np.uint8)
    kernels.aes_schedules(np.frombuffer(KEY, np.uint8).reshape(1, -1), schedule)
    return schedule.reshape(-1)


def _checked(rows: Words, first: int, delta: Words | None) -> tuple[Words, Words, Words]:
    """Return contiguous rows, two words of Delta (or of zeros), and the two words of the first tweak."""
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype != np.uint64 or len(rows) % _GROUP != 0:
        must_be = f"words of shape (count, 2), with count a multiple of {_GROUP}"
        raise parameter_error("rows", "a hash", must_be, f"{rows.dtype} of shape {rows.shape}")
    if first < 0 or first + len(rows) > 2**128:
        raise parameter_error("first", "a hash", "a tweak from 0, with all tweaks below 2^128", first)
    if delta is None:
        delta = np.zeros(2, np.uint64)
    elif delta.shape != (2,) or delta.dtype != np.uint64:
        raise parameter_error("delta", "a hash", "two words", f"{delta.dtype} of shape {delta.shape}")
    tweak = np.array([first & (2**64 - 1), first >> 64], np.uint64)
    return np.ascontiguousarray(rows), np.ascontiguousarray(delta), tweak
