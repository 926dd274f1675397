"""How much a program holds at once: counted on shares without values, by when they come and go.

Every array without values has an owner of its own, which lives as long as the array or any view of it. The sum over
all that live, each as if it were in memory, has a largest value: what the program holds at most, for one part of a
share. Results that are views of others (slices) count again, so it is rather more than less.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from cofit.arithmetic import Ring, RingArray, Shape

_LARGEST_ELEMENT = 16


class Live:
    """Bytes that live ``now``, and the most that did so (``peak``)."""

    __slots__ = ("_counts", "now", "peak")

    def __init__(self) -> None:
        self.now = self.peak = 0
        self._counts = True

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Count nothing that comes in the block: what is made in pieces there, and dropped."""
        self._counts = False
        try:
            yield
        finally:
            self._counts = True

    def array(self, ring: Ring, shape: Shape) -> RingArray:
        """Return zeros that all lie in one place, and count them as if they did not."""
        owner = _Owner(_LARGEST_ELEMENT)
        owner.live, owner.size = self, math.prod(shape) * ring.element_bytes if self._counts else 0
        self.now += owner.size
        self.peak = max(self.peak, self.now)
        array: RingArray = np.ndarray(shape, ring.dtype, owner, strides=(0,) * len(shape))
        array.flags.writeable = False
        return array


class _Owner(bytearray):
    __slots__ = ("live", "size")
    live: Live
    size: int

    def __del__(self) -> None:
        self.live.now -= self.size
