"""The fields in which products are checked: integers modulo a prime that is drawn for the check, and GF(2^64).

``Scalars`` are the few elements that travel, as a ring, so that they are dealt like everything else.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cofit import kernels
from cofit.arithmetic import Generator, Ring, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.integers import Words
from cofit.arithmetic.ring import Shape, Source
from cofit.errors import InvalidInputError

PRIME_BITS = 61
_BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)  # enough below 2^64: Sorenson and Webster, Math. Comp. 2017


class Scalars(Ring):
    """The integers modulo a prime, for a few elements at a time."""

    every_pattern = False

    def __init__(self, prime: int) -> None:
        self.name, self.bits, self.dtype = f"F_{prime}", PRIME_BITS, np.dtype("<u8")
        self.prime = prime

    def admits(self, array: RingArray) -> bool:
        return super().admits(array) and bool((array < np.uint64(self.prime)).all())

    def uniform(self, source: Source, shape: Shape) -> RingArray:
        """Of 16 bytes each: within 2^-66 of uniform."""
        count = int(np.prod(shape, dtype=np.int64))
        drawn = source(16 * count).tobytes()
        values = [int.from_bytes(drawn[16 * i : 16 * i + 16], "little") % self.prime for i in range(count)]
        return np.asarray(values, np.uint64).reshape(shape)

    def from_int(self, values: object) -> RingArray:
        array = np.asarray(values, dtype=object)
        return np.asarray([int(v) % self.prime for v in array.flat], np.uint64).reshape(array.shape)

    def to_int(self, array: RingArray) -> npt.NDArray[np.uint64]:
        return array

    def add(self, a: RingArray, b: RingArray) -> RingArray:
        return self.from_int(a.astype(object) + b.astype(object))

    def sub(self, a: RingArray, b: RingArray, out: RingArray | None = None) -> RingArray:
        del out
        return self.from_int(a.astype(object) - b.astype(object))

    def neg(self, a: RingArray) -> RingArray:
        return self.from_int(-a.astype(object))

    def mul_sum(self, lhs: Sequence[RingArray], rhs: Sequence[RingArray]) -> RingArray:
        total = lhs[0].astype(object) * rhs[0].astype(object)
        for a, b in zip(lhs[1:], rhs[1:], strict=True):
            total = total + a.astype(object) * b.astype(object)
        return self.from_int(total)

    def sum(self, a: RingArray, axis: int | None = None) -> RingArray:
        return self.from_int(a.astype(object).sum(axis=axis))

    def matmul_sum(self, lhs: Sequence[RingArray], rhs: Sequence[RingArray]) -> RingArray:
        raise InvalidInputError(f"Matrix products are not defined on the few elements of {self.name}.")


class Field(ABC):
    """Arithmetic of a check. Long vectors are arrays of words; single elements are Python integers."""

    scalars: Ring

    @abstractmethod
    def add(self, *terms: int) -> int:
        """Return a sum."""

    @abstractmethod
    def sub(self, a: int, b: int) -> int:
        """Return a - b."""

    @abstractmethod
    def mul(self, a: int, b: int) -> int:
        """Return a b."""

    @abstractmethod
    def fold(self, x: Words, r: int) -> Words:
        """Return x_0 + r (x_1 - x_0) of the two halves of x."""

    @abstractmethod
    def halves(self, xs: Sequence[Words], ys: Sequence[Words], masks: Sequence[int]) -> tuple[int, int]:
        """Return our summands of <x_0, y_0> and of <x_1 - x_0, y_1 - y_0>; ``masks``: our pairs of parts."""

    @abstractmethod
    def draw(self, stream: Generator) -> int:
        """Return a public element, uniform among those that are not 0."""

    def summand(self, xs: Sequence[int], ys: Sequence[int], masks: Sequence[int]) -> int:
        """Return our summand of the product of two shared elements."""
        products = [
            self.mul(x, self.add(0, *(y for j, y in enumerate(ys) if mask >> j & 1)))
            for x, mask in zip(xs, masks, strict=True)
            if mask
        ]
        return self.add(0, *products)


class PrimeField(Field):
    """The integers modulo a prime between 2^60 and 2^61."""

    def __init__(self, prime: int) -> None:
        self.prime = prime
        self.scalars = Scalars(prime)

    def add(self, *terms: int) -> int:
        return sum(terms) % self.prime

    def sub(self, a: int, b: int) -> int:
        return (a - b) % self.prime

    def mul(self, a: int, b: int) -> int:
        return a * b % self.prime

    def fold(self, x: Words, r: int) -> Words:
        half = x[: len(x) // 2]
        kernels.field_fold(x, r, self.prime, half)
        return half

    def halves(self, xs: Sequence[Words], ys: Sequence[Words], masks: Sequence[int]) -> tuple[int, int]:
        return kernels.field_halves(list(xs), list(ys), list(masks), self.prime)

    def draw(self, stream: Generator) -> int:
        return 1 + int.from_bytes(stream.draw(16).tobytes(), "little") % (self.prime - 1)

    def draws(self, stream: Generator, count: int) -> Words:
        """Return public elements, within 2^-66 of uniform each."""
        return self.scalars.uniform(stream.draw, (count,))

    def scaled(self, values: Words, weights: Words | None, terms: int = 1, words: int = 1) -> Words:
        """Return integers of so many words, each times the weight of its relation of so many terms."""
        out = np.empty(len(values) // words, np.uint64)
        self.scale_into(values, weights, out, terms, words)
        return out

    def scale_into(self, values: Words, weights: Words | None, out: Words, terms: int = 1, words: int = 1) -> None:
        """Write them over ``out``."""
        kernels.field_scale(values, weights, terms, self.prime, out, words)

    def total(self, values: Words) -> int:
        """Return the sum of elements."""
        high, low = values >> np.uint64(32), values & np.uint64(0xFFFFFFFF)
        return ((int(high.sum()) << 32) + int(low.sum())) % self.prime

    def weighted_sum(self, values: Words, weights: Words, words: int = 1) -> int:
        """Return the sum of integers of so many words, each times its weight."""
        return self.total(self.scaled(values, weights, 1, words))


class BinaryField(Field):
    """GF(2^64) modulo x^64 + x^4 + x^3 + x + 1."""

    scalars = BITS

    def add(self, *terms: int) -> int:
        total = 0
        for term in terms:
            total ^= term
        return total

    def sub(self, a: int, b: int) -> int:
        return a ^ b

    def mul(self, a: int, b: int) -> int:
        return kernels.gf_mul(a, b)

    def fold(self, x: Words, r: int) -> Words:
        half = x[: len(x) // 2]
        kernels.gf_fold(x, r, half)
        return half

    def halves(self, xs: Sequence[Words], ys: Sequence[Words], masks: Sequence[int]) -> tuple[int, int]:
        return kernels.gf_halves(list(xs), list(ys), list(masks))

    def draw(self, stream: Generator) -> int:
        found = 0
        while not found:
            found = int(stream.words((1,))[0])
        return found


def drawn_prime(stream: Generator) -> int:
    """Return a prime between 2^60 and 2^61, uniform among them: numbers are drawn until one is prime."""
    while True:
        drawn = int(stream.words((1,))[0]) >> (64 - PRIME_BITS) | 1 << (PRIME_BITS - 1) | 1
        if _is_prime(drawn):
            return drawn


def _is_prime(n: int) -> bool:
    """Miller and Rabin's test with bases that leave no doubt below 2^64."""
    if any(n % p == 0 for p in _BASES):
        return n in _BASES
    odd, twos = n - 1, 0
    while not odd & 1:
        odd, twos = odd >> 1, twos + 1
    for base in _BASES:
        x = pow(base, odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def public_stream(purpose: str, *parts: bytes) -> Generator:
    """Return the stream of public randomness that follows from a coin."""
    digest = hashlib.sha256(purpose.encode())
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return Generator(digest.digest())
