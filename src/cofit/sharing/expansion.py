"""How dealt shares become a matrix: in which memory, a block of rows at a time, and who hears how far it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from cofit.arithmetic import Ring, RingArray, Shape
from cofit.arithmetic.engine import Engine
from cofit.arithmetic.mapped import blocks_of_rows

_REPORTED = 256 << 20  # bytes from which on somebody may wait
_PARTS = 100


class Expansion:
    """The expansion of one share of ``count`` parts of this shape. ``told``: hears of a long one, done and total."""

    def __init__(self, engine: Engine, told: Callable[[int, int], None], ring: Ring, shape: Shape, count: int) -> None:
        self._engine, self._told = engine, told
        self._ring, self._shape = ring, shape
        self._total = count * math.prod(shape) * ring.element_bytes
        self._written = self._parts = 0

    def room(self) -> RingArray:
        """Return an array for one part of the share."""
        return self._engine.room(self._ring, self._shape)

    def blocks(self, targets: Sequence[RingArray]) -> Iterator[slice]:
        """Yield rows of arrays of one shape, places in the share; whoever gets them writes to them in all arrays."""
        for rows in blocks_of_rows(targets):
            yield rows
            self._written += sum(target[rows].nbytes for target in targets)
            parts = _PARTS * self._written // self._total if self._total >= _REPORTED else 0
            if parts > self._parts:
                self._parts = parts
                self._told(parts, _PARTS)
