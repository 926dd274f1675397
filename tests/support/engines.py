"""An engine of several workers, each with some rows: what a cluster would be, in this process, and counted."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence

import numpy as np

from cofit.arithmetic import Place, Ring, RingArray
from cofit.arithmetic.engine import LOCAL, Engine, Placed
from cofit.arithmetic.integers import Words


class RowsEngine(Engine):
    """Cuts matrices into blocks of ``rows`` rows. ``counts``: what was asked for, by name."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def note(self, name: str) -> None:
        with self._lock:
            self.counts[name] += 1

    def place(self, ring: Ring, arrays: Sequence[RingArray]) -> Placed:
        self.note("place")
        starts = range(0, len(arrays[0]), self.rows)
        blocks = [LOCAL.place(ring, [array[i : i + self.rows].copy() for array in arrays]) for i in starts]
        return RowsPlaced(self, blocks, back=False)


class RowsPlaced(Placed):
    """Blocks of rows of some matrices; ``back``: their transposes."""

    def __init__(self, engine: RowsEngine, blocks: Sequence[Placed], *, back: bool) -> None:
        self.engine, self.blocks, self.back = engine, blocks, back
        self.ring, self.count = blocks[0].ring, blocks[0].count
        shape = (sum(block.shape[0] for block in blocks), *blocks[0].shape[1:])
        self.shape = shape[::-1] if back else shape
        self.origin = (id(engine), *(block.origin for block in blocks), back)

    def fetch(self) -> tuple[RingArray, ...]:
        self.engine.note("fetch")
        parts = zip(*(block.fetch() for block in self.blocks), strict=True)
        whole = [np.concatenate(part) for part in parts]
        return tuple(part.T if self.back else part for part in whole)

    def only(self, *chosen: int) -> Placed:
        return RowsPlaced(self.engine, [block.only(*chosen) for block in self.blocks], back=self.back)

    def transposed(self) -> Placed:
        return RowsPlaced(self.engine, self.blocks, back=not self.back)

    def block(self, place: Place) -> Placed:
        rows, cols = place[::-1] if self.back else place
        begin, end, _ = rows.indices(self.shape[1] if self.back else self.shape[0])
        chosen, start = [], 0
        for block in self.blocks:
            inside = slice(max(begin - start, 0), min(end - start, block.shape[0]))
            if inside.start < inside.stop:
                chosen.append(block.block((inside, cols)))
            start += block.shape[0]
        return RowsPlaced(self.engine, chosen, back=self.back)

    def _cut(self, array: RingArray) -> list[RingArray]:
        ends = np.cumsum([block.shape[0] for block in self.blocks])
        return np.split(array, ends[:-1])

    def row_sums(self, chosen: Words) -> tuple[RingArray, ...]:
        self.engine.note("row sums")
        if self.back:
            pieces = [block.transposed().row_sums(chosen) for block in self.blocks]
            return tuple(np.concatenate(part, axis=1) for part in zip(*pieces, strict=True))
        pieces = [block.row_sums(some) for block, some in zip(self.blocks, self._cut(chosen), strict=True)]
        return tuple(self._total(list(part)) for part in zip(*pieces, strict=True))

    def matmul_sum(self, rights: Sequence[RingArray]) -> RingArray:
        self.engine.note("matmul")
        if not self.back:
            return np.concatenate([block.matmul_sum(rights) for block in self.blocks])
        pieces = zip(*(self._cut(right) for right in rights), strict=True)
        return self._total([b.transposed().matmul_sum(some) for b, some in zip(self.blocks, pieces, strict=True)])

    def matvec_pairs(self, vectors: Sequence[RingArray]) -> RingArray:
        self.engine.note("matvec pairs")
        if not self.back:
            return np.concatenate([block.matvec_pairs(vectors) for block in self.blocks], axis=1)
        pieces = zip(*(self._cut(vector) for vector in vectors), strict=True)
        return self._total([b.transposed().matvec_pairs(some) for b, some in zip(self.blocks, pieces, strict=True)])

    def inner_sum(self, own: Sequence[int], other: Placed, others: Sequence[int], shift: int = 0) -> RingArray:
        self.engine.note("inner")
        assert not self.back
        if isinstance(other, RowsPlaced):
            there = other.blocks
        else:
            there = [
                LOCAL.place(self.ring, some)
                for some in zip(*(self._cut(array) for array in other.fetch()), strict=True)
            ]
        pairs = zip(self.blocks, there, strict=True)
        return np.concatenate([block.inner_sum(own, piece, others, shift) for block, piece in pairs])

    def _total(self, summands: Sequence[RingArray]) -> RingArray:
        total = summands[0]
        for summand in summands[1:]:
            total = self.ring.add(total, summand)
        return total
