"""Ring elements as Python integers: the yardstick of the arithmetic tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import IntegerRing, RingArray, Shape

Integers = npt.NDArray[Any]  # dtype object: Python integers


def integers(values: Iterable[int], shape: Shape) -> Integers:
    """Return an object array of Python integers."""
    flat = list(values)
    array = np.empty(len(flat), dtype=object)
    array[:] = flat
    return array.reshape(shape)


def signed(ring: IntegerRing, value: int) -> int:
    """Return the signed reading of an integer modulo M, by the definition: the nearest to zero, and -M/2."""
    value %= ring.modulus
    return value - ring.modulus if 2 * value >= ring.modulus else value


def random_integers(ring: IntegerRing, shape: Shape, seed: int = 1) -> Integers:
    """Return uniform signed integers of the ring, a third of them extreme ones."""
    rng = np.random.default_rng(seed)
    half = ring.modulus // 2
    extremes = [0, 1, -1, half - 1, -half, 1 << 32, *(signed(ring, v) for v in ((1 << 63) - 1, -(1 << 63), 1 << 62))]
    count = int(np.prod(shape, dtype=np.int64))
    values = [
        extremes[rng.integers(len(extremes))]
        if rng.random() < 1 / 3
        else signed(ring, int.from_bytes(rng.bytes(ring.element_bytes), "little"))
        for _ in range(count)
    ]
    return integers(values, shape)


def unpacked(ring: IntegerRing, array: RingArray) -> Integers:
    """Read an array of ring elements bit by bit from its memory, not through the ring."""
    assert isinstance(array, np.ndarray)
    assert array.dtype == ring.dtype
    raw = np.ascontiguousarray(array).tobytes()
    size = ring.element_bytes
    values = [int.from_bytes(raw[i : i + size], "little") for i in range(0, len(raw), size)]
    assert all(value < ring.modulus for value in values)
    return integers([signed(ring, value) for value in values], array.shape)


def packed(ring: IntegerRing, values: Integers) -> RingArray:
    """Write signed integers to memory as ring elements, not through the ring."""
    raw = b"".join((int(v) % ring.modulus).to_bytes(ring.element_bytes, "little") for v in values.flat)
    return np.frombuffer(raw, dtype=ring.dtype).reshape(values.shape).copy()


def mapped(ring: IntegerRing, function: Callable[..., int], *operands: Integers) -> Integers:
    """Apply an integer function element-wise with broadcasting; reduce the result into the ring."""
    arrays = np.broadcast_arrays(*operands)
    values = [signed(ring, function(*items)) for items in zip(*(a.flat for a in arrays), strict=True)]
    return integers(values, arrays[0].shape)


def matrix_product(ring: IntegerRing, a: Integers, b: Integers) -> Integers:
    """Return a @ b by the definition, for one- and two-dimensional operands."""
    rows = a if a.ndim == 2 else a.reshape(1, -1)
    cols = b if b.ndim == 2 else b.reshape(-1, 1)
    values = [
        signed(ring, sum(int(rows[i, k]) * int(cols[k, j]) for k in range(rows.shape[1])))
        for i in range(rows.shape[0])
        for j in range(cols.shape[1])
    ]
    return integers(values, a.shape[:-1] + b.shape[1:])
