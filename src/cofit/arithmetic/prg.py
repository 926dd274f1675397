"""A pseudorandom generator: AES-256 in counter mode, keyed with a 32-byte seed.

Two holders of a seed who draw the same shapes in the same order get the same arrays, and nobody without the seed
can tell them from uniform ones. A generator is never rewound and a seed is never used twice: every session derives
new ones (``derive_seed``).

Block i of the stream is AES-256 of i, a number of 128 bits, the highest byte first. So a stream can begin at any of its
bytes, and nothing before it is computed: for whoever needs only some rows of what a seed stands for
(``elements_from``).
"""

from __future__ import annotations

import math
import secrets
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from cofit.arithmetic.narrow import Narrow, narrow_bytes
from cofit.arithmetic.ring import Ring, RingArray, Shape
from cofit.errors import parameter_error

SEED_BYTES = 32
_CHUNK = 1 << 18
_ZEROS = memoryview(bytes(_CHUNK))
_BLOCK = _SLACK = 16
_END = _BLOCK << 128  # of the stream: its blocks are numbered in 128 bits


class Generator:
    """The stream of one seed, from its byte ``start`` on; ``position`` is the place in it of the next byte."""

    __slots__ = ("_cipher", "position")

    def __init__(self, seed: bytes, start: int = 0) -> None:
        if len(seed) != SEED_BYTES:
            raise parameter_error("seed", "Generator", f"{SEED_BYTES} bytes long", f"{len(seed)} bytes")
        if not 0 <= start < _END:
            raise parameter_error("start", "Generator", f"at least 0 and below 2^{_END.bit_length() - 1}", start)
        block, inside = divmod(start, _BLOCK)
        self.position = start
        self._cipher = Cipher(algorithms.AES256(seed), modes.CTR(block.to_bytes(_BLOCK, "big"))).encryptor()
        self._cipher.update(_ZEROS[:inside])

    def __repr__(self) -> str:
        return "<Generator>"

    def draw(self, nbytes: int) -> npt.NDArray[np.uint8]:
        """Return the next ``nbytes`` bytes of the stream, in memory aligned for any ring."""
        if nbytes <= _CHUNK:
            self.position += nbytes
            return np.frombuffer(self._cipher.update(_ZEROS[:nbytes]), dtype=np.uint8)
        buffer = np.empty(nbytes, dtype=np.uint8)
        self.fill(buffer.data)
        return buffer

    def fill(self, buffer: memoryview) -> None:
        """Write the next bytes of the stream over all of ``buffer``."""
        nbytes = len(buffer)
        self.position += nbytes
        # The cipher demands room for one more block behind what it writes, which only the last piece lacks.
        for start in range(0, max(nbytes - _SLACK, 0), _CHUNK):
            size = min(_CHUNK, nbytes - _SLACK - start)
            self._cipher.update_into(_ZEROS[:size], buffer[start:])
        rest = min(nbytes, _SLACK)
        buffer[nbytes - rest :] = self._cipher.update(_ZEROS[:rest])

    def ring(self, ring: Ring, shape: Shape) -> RingArray:
        """Return uniform ring elements."""
        return ring.uniform(self.draw, shape)

    def rings(self, ring: Ring, shape: Shape, count: int) -> list[RingArray]:
        """Return as many arrays as so many calls of ``ring`` would, one after the other; small ones by one draw."""
        if count > 1 and count * math.prod(shape) * ring.element_bytes <= _CHUNK:
            block = self.ring(ring, (count, *shape))
            return [block[i, ...] for i in range(count)]
        return [self.ring(ring, shape) for _ in range(count)]

    def narrow(self, count: int, bits: int, arrays: int) -> list[Narrow]:
        """Return so many arrays of ``count`` uniform numbers of so many bits, rounded up to whole bytes."""
        size = narrow_bytes(count, bits)
        if arrays > 1 and 0 < arrays * size <= _CHUNK:
            return list(self.draw(arrays * size).reshape(arrays, size))
        return [self.draw(size) for _ in range(arrays)]

    def ring_into(self, ring: Ring, out: RingArray) -> None:
        """Write the elements that ``ring`` would return over ``out``: in place, or through chunks of rows of a view."""
        if out.flags.c_contiguous and ring.every_pattern:
            self.fill(ring.check(out).reshape(-1).view(np.uint8).data)
            return
        if out.flags.c_contiguous:
            out = out.reshape(-1)
        step = max(1, _CHUNK * len(out) // max(1, out.nbytes))
        for start in range(0, len(out), step):
            rows = out[start : start + step]
            rows[...] = self.ring(ring, rows.shape)

    def words(self, shape: Shape) -> npt.NDArray[np.uint64]:
        """Return uniform 64-bit words."""
        words: npt.NDArray[Any] = self.draw(8 * math.prod(shape)).view(np.uint64)
        return words.reshape(shape)


def elements_from(seed: bytes, ring: Ring, first: int) -> Generator:
    """Return the stream of a seed behind its first ``first`` elements of a ring: what follows are those after them.

    Where not every pattern is an element, how many bytes they take is known only when they are drawn: then they are, in
    chunks, and dropped.
    """
    if first < 0:
        raise parameter_error("first", "elements_from", "at least 0", first)
    if ring.every_pattern:
        return Generator(seed, first * ring.element_bytes)
    stream, step = Generator(seed), _CHUNK // ring.element_bytes
    for start in range(0, first, step):
        stream.ring(ring, (min(step, first - start),))
    return stream


def fresh_seed() -> bytes:
    """Return a new seed from the operating system's entropy."""
    return secrets.token_bytes(SEED_BYTES)


def derive_seed(material: bytes, purpose: str) -> bytes:
    """Derive the seed for one purpose from shared secret material (HKDF-SHA256, RFC 5869)."""
    return HKDF(algorithm=hashes.SHA256(), length=SEED_BYTES, salt=None, info=purpose.encode()).derive(material)
