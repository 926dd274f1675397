"""Big matrices in a file: mapped, read a block of rows at a time, and their pages given back after each block.

Where the shares of the data exceed the memory that a party may use, its engine is a ``MappedEngine``. What it takes
(``room``) are shared mappings of files, which whoever makes the engine allots (``roles/files/share_files.py``; nothing
here opens a file). A page of such a mapping that was touched counts as resident memory until it is given back
(``give_back``); its contents stay in the file, or in what the system keeps of it, which it takes away from nobody. So

    resident memory of the matrices  <=  what was read since the last call of the engine: a block of ``BLOCK_BYTES`` in
                                         products, the rows that somebody ``fetch``es otherwise

Results are those of ``LOCAL``, bit for bit: products of rows are computed a block of rows at a time, and sums over rows
are added up block by block; rings are exact, so the order does not matter. Nothing is sent, and no draw of a generator
depends on blocks (``Ring.uniform``: the same elements at once or in pieces).
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic.engine import Engine, LocalPlaced, Placed
from cofit.arithmetic.integers import Words
from cofit.arithmetic.ring import Place, Ring, RingArray, Shape, matmul_shape

BLOCK_BYTES = 8 << 20
"""Of all parts of a share together, in a block of rows."""
_AROUND = 4 << 20  # a multiple of every size of pages
_TURNED = "transposed"
_MATRIX = 2
_Of = Callable[[Sequence[RingArray], slice], RingArray]
"""From some rows of all arrays, and which rows these are, to what becomes of them."""


class Pages(mmap.mmap):
    """A shared mapping of a file: pages that are given back keep their contents."""


def give_back(array: npt.NDArray[Any] | memoryview) -> None:
    """Let go of the memory of the pages that an array lies on, if it lies in ``Pages``; it stays as it is. Local.

    Pages are dropped from this process alone: what was written is in the file. Whoever reads them again gets them back.
    So are those shortly before: where an array begins, the system brings pages of the one before it, which was given
    back already.
    """
    view = np.frombuffer(array, np.uint8) if isinstance(array, memoryview) else array
    pages = _pages_of(view)
    if pages is None or not view.size:
        return
    begin, end = np.lib.array_utils.byte_bounds(view)
    start = begin - np.frombuffer(pages, np.uint8).__array_interface__["data"][0]
    first = max(0, start - start % mmap.PAGESIZE - _AROUND)
    pages.madvise(mmap.MADV_DONTNEED, first, min(end - begin + start - first, len(pages) - first))


def _pages_of(array: object) -> Pages | None:
    """Return the mapping that an array lies in, or None."""
    while True:
        if isinstance(array, Pages):
            return array
        if isinstance(array, np.ndarray):
            array = array.base
        elif isinstance(array, memoryview):
            array = array.obj
        else:
            return None


def _overwrite(contents: npt.NDArray[np.uint8]) -> None:
    """Write zeros over what lies in ``Pages``."""
    for rows in blocks_of_rows([contents]):
        contents[rows] = 0


def blocks_of_rows(arrays: Sequence[RingArray]) -> Iterator[slice]:
    """Yield the rows of arrays of one shape, as many at a time as have ``BLOCK_BYTES`` in all of them; after each of
    them, give their pages back.
    """
    rows = arrays[0].shape[0]
    each = sum(array.nbytes for array in arrays) // max(1, rows)
    step = max(1, BLOCK_BYTES // max(1, each))
    for start in range(0, rows, step):
        block = slice(start, min(start + step, rows))
        yield block
        for array in arrays:
            give_back(array[block])


class MappedPlaced(Placed):
    """Arrays in files. ``_arrays``: as they lie there, whichever way round they are multiplied."""

    __slots__ = ("_arrays", "_engine", "_turned", "count", "origin", "ring", "shape")

    def __init__(
        self,
        engine: MappedEngine,
        ring: Ring,
        arrays: Sequence[RingArray],
        origin: tuple[object, ...] = (),
        *,
        turned: bool = False,
    ) -> None:
        self._engine = engine
        self.ring = ring
        self.origin = origin or (object(),)
        self._arrays = tuple(arrays)
        self._turned = turned
        self.shape: Shape = arrays[0].shape[::-1] if turned else arrays[0].shape
        self.count = len(arrays)

    def fetch(self) -> tuple[RingArray, ...]:
        """The arrays where they lie; what was fetched before is given back: hold on to one at a time."""
        self._engine.lend(self._arrays)
        return tuple(np.transpose(array) for array in self._arrays) if self._turned else self._arrays

    def only(self, *chosen: int) -> MappedPlaced:
        return self._other([self._arrays[t] for t in chosen], (*self.origin, chosen))

    def transposed(self) -> MappedPlaced:
        turned = self.origin[:-1] if self.origin[-1] == _TURNED else (*self.origin, _TURNED)
        return MappedPlaced(self._engine, self.ring, self._arrays, turned, turned=not self._turned)

    def block(self, place: Place) -> MappedPlaced:
        where = tuple((each.start, each.stop, each.step) for each in place)
        inside = place[::-1] if self._turned else place
        return self._other([array[inside] for array in self._arrays], (*self.origin, where))

    def matmul_sum(self, rights: Sequence[RingArray]) -> RingArray:
        shape = matmul_shape(self.shape, rights[0].shape)
        if not self._turned:
            return self._by_rows(shape, lambda arrays, _: self.ring.matmul_sum(arrays, rights))
        return self._added_up(
            shape,
            lambda arrays, rows: self.ring.matmul_sum(
                [np.transpose(array) for array in arrays], [right[rows] for right in rights]
            ),
        )

    def matvec_pairs(self, vectors: Sequence[RingArray]) -> RingArray:
        shape = (len(vectors), self.shape[0])
        if self._turned:
            return self._added_up(
                shape,
                lambda arrays, rows: self.ring.matvec_pairs(
                    [np.transpose(array) for array in arrays], [vector[rows] for vector in vectors]
                ),
            )
        out = self.ring.empty(shape)
        for rows in self._blocks():
            out[:, rows] = self.ring.matvec_pairs([array[rows] for array in self._arrays], vectors)
        return out

    def inner_sum(
        self,
        own: Sequence[int],
        other: Placed,
        others: Sequence[int],
        shift: int = 0,
    ) -> RingArray:
        def of(arrays: Sequence[RingArray], rows: slice) -> RingArray:
            turned = [np.transpose(array) for array in arrays] if self._turned else arrays
            here = LocalPlaced(self.ring, turned)
            if other is self:
                return here.inner_sum(own, here, others, shift)
            place = (slice(None), rows) if self._turned else (rows, slice(None))
            return here.inner_sum(own, other.block(place), others, shift)

        return (self._added_up if self._turned else self._by_rows)(self.shape[:-1], of)

    def row_sums(self, chosen: Words) -> tuple[RingArray, ...]:
        if self._turned:
            return LocalPlaced(self.ring, self.fetch()).row_sums(chosen)
        totals: list[RingArray] = []
        for rows in self._blocks():
            found = LocalPlaced(self.ring, [array[rows] for array in self._arrays]).row_sums(chosen[rows])
            totals = [self.ring.add(a, b) for a, b in zip(totals, found, strict=True)] if totals else list(found)
        return tuple(totals)

    def sums(self, axis: int | None) -> tuple[RingArray, ...]:
        along = axis if axis is None or not self._turned else 1 - axis % 2
        if along is not None and along % 2:
            found = tuple(self.ring.empty(self._arrays[0].shape[:1]) for _ in self._arrays)
            for rows in self._blocks():
                for array, out in zip(self._arrays, found, strict=True):
                    out[rows] = self.ring.sum(array[rows], 1)
            return found
        totals: list[RingArray] = []
        for rows in self._blocks():
            parts = [self.ring.sum(array[rows], along) for array in self._arrays]
            totals = [self.ring.add(a, b) for a, b in zip(totals, parts, strict=True)] if totals else parts
        return tuple(totals) if totals else tuple(self.ring.sum(array, along) for array in self._arrays)

    def _blocks(self) -> Iterator[slice]:
        self._engine.lend(())
        return blocks_of_rows(self._arrays)

    def _by_rows(self, shape: Shape, of: _Of) -> RingArray:
        """Return what ``of`` makes of every block of rows, below each other."""
        out = self.ring.empty(shape)
        for rows in self._blocks():
            out[rows] = of([array[rows] for array in self._arrays], rows)
        return out

    def _added_up(self, shape: Shape, of: _Of) -> RingArray:
        """Return the sum of what ``of`` makes of every block of rows."""
        out = self.ring.zeros(shape)
        for rows in self._blocks():
            out = self.ring.add(out, of([array[rows] for array in self._arrays], rows))
        return out

    def _other(self, arrays: Sequence[RingArray], origin: tuple[object, ...]) -> MappedPlaced:
        return MappedPlaced(self._engine, self.ring, arrays, origin, turned=self._turned)


class MappedEngine(Engine):
    """Matrices in files of this party's own. ``allot``: returns a new mapping of so many bytes, all zero.

    For one session: what it was given is gone after ``close``, whoever still holds an array of it.
    """

    def __init__(self, allot: Callable[[int], Pages]) -> None:
        self._allot = allot
        self._lent: tuple[RingArray, ...] = ()
        self._taken: list[Pages] = []

    def room(self, ring: Ring, shape: Shape) -> RingArray:
        """Return zeros in a file, for a matrix; anything else stays in memory."""
        size = math.prod(shape) * ring.element_bytes
        if len(shape) != _MATRIX or not size:
            return ring.empty(shape)
        return np.frombuffer(self._mapping(size), ring.dtype, math.prod(shape)).reshape(shape)

    def bytes_room(self, size: int) -> npt.NDArray[np.uint8]:
        return np.frombuffer(self._mapping(size), np.uint8, size) if size >= BLOCK_BYTES else super().bytes_room(size)

    def place(self, ring: Ring, arrays: Sequence[RingArray]) -> Placed:
        """Take matrices where they lie, and copy those that lie in memory."""
        if len(arrays[0].shape) != _MATRIX or not arrays[0].size:
            return LocalPlaced(ring, arrays)
        return MappedPlaced(self, ring, [a if _pages_of(a) is not None else self._copied(ring, a) for a in arrays])

    def lend(self, arrays: Sequence[RingArray]) -> None:
        """Give back what was lent before; ``arrays`` are lent until the next call."""
        for array in self._lent:
            give_back(array)
        self._lent = tuple(arrays)

    def close(self) -> None:
        """Delete all matrices: what is left of them reads as zeros. Where the disk cannot forget, zeros are written."""
        self._lent = ()
        taken, self._taken = self._taken, []
        for pages in taken:
            try:
                pages.madvise(mmap.MADV_REMOVE)
            except OSError:  # not every file system can
                _overwrite(np.frombuffer(pages, np.uint8))

    def _copied(self, ring: Ring, array: RingArray) -> RingArray:
        copy = self.room(ring, array.shape)
        for rows in blocks_of_rows([copy]):
            copy[rows] = array[rows]
        return copy

    def _mapping(self, size: int) -> Pages:
        pages = self._allot(size)
        self._taken.append(pages)
        return pages
