"""Ring arithmetic on Python integers: slow, obvious, the yardstick of every kernel test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofit import kernels

Words = NDArray[np.uint64]
Integers = NDArray[Any]  # dtype object: Python integers

EXTREMES = {
    words: [0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2 ** (64 * words - 1), 2 ** (64 * words) - 1] for words in (1, 2)
}


def every_isa() -> Iterator[str]:
    """Set one instruction set of this CPU after the other: for what is compared with one slow reference."""
    for name in kernels.available_isas():
        kernels.set_isa(name)
        yield name


def encode(values: Integers, words: int) -> Words:
    """Integers to words, low word first; the last axis grows by the factor ``words``."""
    parts = [((values >> (64 * w)) & (2**64 - 1)) for w in range(words)]
    stacked = np.stack(parts, axis=-1).reshape(*values.shape[:-1], values.shape[-1] * words)
    return np.ascontiguousarray(stacked.astype(np.uint64))


def decode(array: Words, words: int) -> Integers:
    """Words to integers, the inverse of `encode`."""
    split = array.reshape(*array.shape[:-1], array.shape[-1] // words, words).astype(object)
    low: Integers = split[..., 0]
    high: Integers = split[..., 1] << 64 if words == 2 else low * 0
    return low + high


def reduce(values: Integers, words: int) -> Integers:
    """Each integer mod 2^(64 words)."""
    reduced: Integers = np.asarray(values, dtype=object) & (2 ** (64 * words) - 1)
    return reduced


def random_words(rng: np.random.Generator, shape: tuple[int, ...], words: int) -> Words:
    """Uniform elements, about a third of them replaced by extreme ones."""
    uniform = rng.integers(0, 2**64, size=(*shape, words), dtype=np.uint64)
    pool = encode(np.array(EXTREMES[words], dtype=object), words).reshape(-1, words)
    picked = pool[rng.integers(0, len(pool), size=shape)]
    mixed = np.where(rng.random(shape)[..., None] < 0.35, picked, uniform)
    return np.ascontiguousarray(mixed.reshape(*shape[:-1], shape[-1] * words))


def integers(shape: tuple[int, ...], values: Iterable[int]) -> Integers:
    """An object array of ``shape`` from a flat iterable."""
    array = np.empty(int(np.prod(shape, dtype=int)), dtype=object)
    array[:] = list(values)
    return array.reshape(shape)


def signed(value: int, words: int) -> int:
    """The two's complement reading of an element."""
    return value - 2 ** (64 * words) if value >> (64 * words - 1) else value


def product(left: Integers, right: Integers) -> Integers:
    """``left @ right``, also when the inner dimension is 0."""
    if left.shape[-1] == 0:
        shape = left.shape[:-1] + right.shape[1:]
        return integers(shape, [0] * int(np.prod(shape, dtype=int)))
    return np.asarray(left @ right, dtype=object)
