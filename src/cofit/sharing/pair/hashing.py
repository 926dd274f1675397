"""The hash that breaks the correlation of rows: H(i, x) = pi(pi(x) XOR i) XOR pi(x).

pi is AES-128 with a fixed public key, x a row of 128 bits, and i a tweak of 128 bits. Row j of a call has the tweak
``first`` + j; **no tweak may occur twice** with the same Delta, whatever is hashed, or values that should be
independent are not. With a secret Delta of 128 random bits, H(i, x XOR Delta) is then pseudorandom, for any x that
the other party knows or chose, also beside H(i, x): this is tweakable circular correlation robustness, proven for a
random permutation pi and, with p offline and q hashed rows, up to about (p q + q^2) / 2^128.

The holder of Delta passes it for the values at choice 1, and not for those at choice 0. Rows are (count, 2) words,
low word first, with count a multiple of 64; they may be any slice of rows.

Source: Guo, Katz, Wang, Yu, "Efficient and secure multiparty computation from fixed-key block ciphers", IEEE S&P
2020, section 7.4 (TMMO).
"""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from cofit import kernels
from cofit.arithmetic.integers import Words
from cofit.errors import parameter_error

KEY = bytes.fromhex("243f6a8885a308d313198a2e03707344")
"""The first 128 bits after the point of the number pi."""
_MOST_PLANES = 128
_GROUP = 64


def bits(rows: Words, first: int, delta: Words | None = None) -> Words:
    """Return the lowest bit of every row's hash, 64 in a word."""
    out = np.empty((len(rows) // _GROUP, 1), np.uint64)
    kernels.pack_bits((words(rows, first, delta) & np.uint64(1)).astype(np.uint8).reshape(-1, _GROUP), out)
    return out.reshape(-1)


def words(rows: Words, first: int, delta: Words | None = None) -> Words:
    """Return the low word of every row's hash, (count,)."""
    return np.ascontiguousarray(wide(rows, first, delta)[:, 0])


def wide(rows: Words, first: int, delta: Words | None = None) -> Words:
    """Return every row's hash, (count, 2)."""
    checked = _checked(rows, first, delta)
    cipher = Cipher(algorithms.AES128(KEY), modes.ECB()).encryptor()  # noqa: S305 a permutation, and no encryption
    inner = np.frombuffer(cipher.update(checked.tobytes()), np.uint64).reshape(-1, 2)
    outer = np.frombuffer(cipher.update((inner ^ _tweaks(first, len(rows))).tobytes()), np.uint64)
    return outer.reshape(-1, 2) ^ inner


def planes(rows: Words, first: int, count_planes: int, delta: Words | None = None) -> Words:
    """Return the low bits of the hashes by place, (count_planes, count // 64): bit j of plane b is bit b of row j's."""
    if not 0 < count_planes <= _MOST_PLANES:
        raise parameter_error("count_planes", "planes", f"a number from 1 to {_MOST_PLANES}", count_planes)
    out = np.empty((_MOST_PLANES, len(rows) // _GROUP), np.uint64)
    kernels.to_planes(wide(rows, first, delta).reshape(-1), out, 2)
    return out[:count_planes].copy()


def _tweaks(first: int, count: int) -> Words:
    """Return first, first + 1 ... as pairs of words, low word first."""
    tweaks = np.empty((count, 2), np.uint64)
    low, high = np.uint64(first & (2**64 - 1)), np.uint64(first >> 64)
    tweaks[:, 0] = low + np.arange(count, dtype=np.uint64)
    tweaks[:, 1] = high + (tweaks[:, 0] < low)
    return tweaks


def _checked(rows: Words, first: int, delta: Words | None) -> Words:
    """Return the rows, with Delta added."""
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype != np.uint64 or len(rows) % _GROUP != 0:
        must_be = f"words of shape (count, 2), with count a multiple of {_GROUP}"
        raise parameter_error("rows", "a hash", must_be, f"{rows.dtype} of shape {rows.shape}")
    if first < 0 or first + len(rows) > 2**128:
        raise parameter_error("first", "a hash", "a tweak from 0, with all tweaks below 2^128", first)
    if delta is None:
        return rows
    if delta.shape != (2,) or delta.dtype != np.uint64:
        raise parameter_error("delta", "a hash", "two words", f"{delta.dtype} of shape {delta.shape}")
    return rows ^ delta
