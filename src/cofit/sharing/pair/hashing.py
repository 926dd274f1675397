"""The hash that breaks the correlation of rows: H(i, x) = pi(pi(x) XOR i) XOR pi(x).

pi is AES-128 with a public key, x a row of 128 bits, and i a tweak of 128 bits. Row j of a call has the tweak
``first`` + j; **no tweak may occur twice** with the same Delta, whatever is hashed, or values that should be
independent are not. With a secret Delta of 128 random bits, H(i, x XOR Delta) is then pseudorandom, for any x that
the other party knows or chose, also beside H(i, x): this is tweakable circular correlation robustness, proven for a
random permutation pi and, with p offline and q hashed rows, up to about (p q + q^2) / 2^128.

The p q is real. H(i, x) XOR i = F(pi(x) XOR i) with F(y) = pi(y) XOR y: who knows q strings at choice 1 (a party that
gets bits times elements knows them but for a bit) has q targets, and one y that meets any of them gives Delta, after
2^128 / q trials; with one pi for all sessions, also trials of years ago. So the key changes after every ``KEY_ROWS`` =
1024 tweaks: key n is AES-128 of n under the key of the session. Every trial is then for 1024 targets of one session at
most, and 2^118 of them are needed, however much is hashed.

The kernels compute it where the CPU has instructions for AES, and else NumPy with the AES of ``cryptography``
(``portable_hash``), which gives the same bits.

The holder of Delta passes it for the values at choice 1, and not for those at choice 0. Rows are (count, 2) words,
low word first, with count a multiple of 64; they may be any slice of rows.

Sources: Guo, Katz, Wang, Yu, "Efficient and secure multiparty computation from fixed-key block ciphers", IEEE S&P
2020, section 7.4 (TMMO); Guo, Katz, Wang, Weng, Yu, "Better concrete security for half-gates garbling (in the
multi-instance setting)", CRYPTO 2020 (the attack on fixed keys, there on garbling; other keys against it).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from cofit import kernels
from cofit.arithmetic.integers import Words
from cofit.errors import parameter_error

Bytes = npt.NDArray[np.uint8]

KEY = bytes.fromhex("243f6a8885a308d313198a2e03707344")
"""The first 128 bits after the point of the number pi: where there is no session, as in tests."""
KEY_ROWS = 1024
"""Tweaks with one key of pi."""
KEY_BYTES = 16
MOST_PLANES = 128
_GROUP = 64
_SCHEDULE_BYTES = 176


def bits(rows: Words, first: int, delta: Words | None = None, key: bytes = KEY) -> Words:
    """Return the lowest bit of every row's hash, 64 in a word."""
    if kernels.aes_available():
        out = np.empty(len(rows) // _GROUP, np.uint64)
        kernels.ot_hash_bits(*_arguments(rows, first, delta, key), out)
        return out
    lowest = (words(rows, first, delta, key) & np.uint64(1)).astype(np.uint8)
    packed = np.empty((len(rows) // _GROUP, 1), np.uint64)
    kernels.pack_bits(lowest.reshape(-1, _GROUP), packed)
    return packed.reshape(-1)


def words(rows: Words, first: int, delta: Words | None = None, key: bytes = KEY) -> Words:
    """Return the low word of every row's hash, (count,)."""
    if kernels.aes_available():
        out = np.empty(len(rows), np.uint64)
        kernels.ot_hash_words(*_arguments(rows, first, delta, key), out)
        return out
    return np.ascontiguousarray(wide(rows, first, delta, key)[:, 0])


def wide(rows: Words, first: int, delta: Words | None = None, key: bytes = KEY) -> Words:
    """Return every row's hash, (count, 2)."""
    if kernels.aes_available():
        out = np.empty((len(rows), 2), np.uint64)
        kernels.ot_hash_wide(*_arguments(rows, first, delta, key), out)
        return out
    return portable_hash(*_checked(rows, first, delta), key)


def planes(rows: Words, first: int, count_planes: int, delta: Words | None = None, key: bytes = KEY) -> Words:
    """Return the low bits of the hashes by place, (count_planes, count // 64): bit j of plane b is bit b of row j's."""
    if not 0 < count_planes <= MOST_PLANES:
        raise parameter_error("count_planes", "planes", f"a number from 1 to {MOST_PLANES}", count_planes)
    if kernels.aes_available():
        out = np.empty((count_planes, len(rows) // _GROUP), np.uint64)
        kernels.ot_hash_planes(*_arguments(rows, first, delta, key), out)
        return out
    all_planes = np.empty((MOST_PLANES, len(rows) // _GROUP), np.uint64)
    kernels.to_planes(wide(rows, first, delta, key).reshape(-1), all_planes, 2)
    return all_planes[:count_planes].copy()


def portable_hash(rows: Words, delta: Words, first: Words, key: bytes = KEY) -> Words:
    """Return every row's hash, (count, 2), without kernels; ``first`` are the two words of the first tweak."""
    tweaks = np.empty_like(rows)
    tweaks[:, 0] = first[0] + np.arange(len(rows), dtype=np.uint64)
    tweaks[:, 1] = first[1] + (tweaks[:, 0] < first[0])
    out, shifted = np.empty_like(rows), rows ^ delta
    for of_key, part in _parts(key, int(first[1]) << 64 | int(first[0]), len(rows)):
        cipher = Cipher(algorithms.AES128(of_key), modes.ECB()).encryptor()  # noqa: S305 a permutation, no encryption
        inner = np.frombuffer(cipher.update(shifted[part].tobytes()), np.uint64).reshape(-1, 2)
        outer = np.frombuffer(cipher.update((inner ^ tweaks[part]).tobytes()), np.uint64).reshape(-1, 2)
        out[part] = outer ^ inner
    return out


def _keys(key: bytes, first: int, count: int) -> bytes:
    """Return the keys of pi for so many rows, one after the other."""
    begin, groups = first // KEY_ROWS, -(-(first % KEY_ROWS // _GROUP * _GROUP + count) // KEY_ROWS)
    numbers = b"".join((begin + n).to_bytes(16, "little") for n in range(groups))
    return Cipher(algorithms.AES128(key), modes.ECB()).encryptor().update(numbers)  # noqa: S305 of different numbers


def _parts(key: bytes, first: int, count: int) -> Iterator[tuple[bytes, slice]]:
    """Return the keys of pi, each with the rows that it is for: whole groups."""
    keys, start = _keys(key, first, count), -(first % KEY_ROWS // _GROUP * _GROUP)
    for n in range(len(keys) // 16):
        yield keys[16 * n : 16 * (n + 1)], slice(max(0, start + n * KEY_ROWS), min(count, start + (n + 1) * KEY_ROWS))


def _schedules(key: bytes, first: int, count: int) -> Bytes:
    """Return the round keys of pi for so many rows."""
    keys = np.frombuffer(_keys(key, first, count), np.uint8).reshape(-1, 16)
    schedules = np.empty((len(keys), _SCHEDULE_BYTES), np.uint8)
    kernels.aes_schedules(keys, schedules)
    return schedules


def _arguments(rows: Words, first: int, delta: Words | None, key: bytes) -> tuple[Bytes, Words, Words, Words]:
    """Return what the kernels take."""
    checked = _checked(rows, first, delta)
    return _schedules(key, first, len(rows)), *checked


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
