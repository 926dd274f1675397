"""Where a big shared matrix lives, and who multiplies it.

A party reads its parts of the data twice in every epoch, and everything else it does is small beside that. So the parts
of such a matrix are given to an *engine*, once (``Engine.place``), and products with them are asked of what it returns
(``Placed``): vectors go there, and vectors come back. ``Scheme.hold`` is the one place that gives a matrix away;
schemes multiply through ``Share.placed`` and do not ask where the parts lie.

``LOCAL`` keeps them in this process and multiplies with the kernels; ``mapped.MappedEngine`` in a file, where they are
larger than the memory that a party may use. Another engine (workers of a cluster, each with
some rows) is one subclass of ``Engine`` and one of ``Placed``, set as ``Scheme.engine``. It sees what the party sees,
so it must be the party's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cofit.arithmetic.integers import Words
from cofit.arithmetic.power_of_two import power_of_two, shifting
from cofit.arithmetic.ring import Place, Ring, RingArray, Shape

_TURNED = "transposed"


class Placed(ABC):
    """One or several arrays of one ring and shape (the parts of a share), for products with them on the left."""

    ring: Ring
    shape: Shape
    count: int
    origin: tuple[object, ...]
    """What tells these arrays from others: a token of what was placed once, and which part of it, which way round."""

    @abstractmethod
    def fetch(self) -> tuple[RingArray, ...]:
        """Return the arrays themselves: for what is not a product."""

    @abstractmethod
    def only(self, *chosen: int) -> Placed:
        """Return some of the arrays, where they are."""

    @abstractmethod
    def transposed(self) -> Placed:
        """Return the transposes, where they are."""

    @abstractmethod
    def block(self, place: Place) -> Placed:
        """Return the elements in this place of all arrays, where they are."""

    @abstractmethod
    def matmul_sum(self, rights: Sequence[RingArray]) -> RingArray:
        """Return sum_t a_t @ rights[t], as ``Ring.matmul_sum``."""

    @abstractmethod
    def matvec_pairs(self, vectors: Sequence[RingArray]) -> RingArray:
        """Return a_t @ vectors[2 t] and a_t @ vectors[2 t + 1] for every t, as rows: ``Ring.matvec_pairs``."""

    @abstractmethod
    def inner_sum(
        self,
        own: Sequence[int],
        other: Placed,
        others: Sequence[int],
        shift: int = 0,
    ) -> RingArray:
        """Return the sums, over the last axis, of a_i * b_j for all pairs of ``own`` i and ``others`` j, added up.

        ``other``: of the same shape, placed by this engine or here. shift: of all elements to the right, first.
        """

    @abstractmethod
    def row_sums(self, chosen: Words) -> tuple[RingArray, ...]:
        """Return sums of rows of every matrix, in the ring: one for each of the 56 lowest bits of ``chosen``, an
        element for each row, of the rows in which the bit is set. Shape (56, columns).
        """

    def sums(self, axis: int | None) -> tuple[RingArray, ...]:
        """Return the sum of every array over one axis, or over all elements."""
        return tuple(self.ring.sum(array, axis) for array in self.fetch())

    def matmul(self, right: RingArray) -> tuple[RingArray, ...]:
        """Return a_t @ right for every t."""
        return tuple(self.only(t).matmul_sum((right,)) for t in range(self.count))


class Engine(ABC):
    """Takes matrices, and multiplies them."""

    def room(self, ring: Ring, shape: Shape) -> RingArray:
        """Return an array to write what is going to be placed into; where that lies, it need not be copied."""
        return ring.empty(shape)

    def bytes_room(self, size: int) -> npt.NDArray[np.uint8]:
        """The same for parts of what is going to be placed, as they arrive."""
        return np.empty(size, np.uint8)

    @abstractmethod
    def place(self, ring: Ring, arrays: Sequence[RingArray]) -> Placed:
        """Take arrays of one shape; whoever gave them does not write to them any more."""


class LocalPlaced(Placed):
    """Arrays in the memory of this process. Nothing is copied."""

    __slots__ = ("_arrays", "count", "origin", "ring", "shape")

    def __init__(self, ring: Ring, arrays: Sequence[RingArray], origin: tuple[object, ...] = ()) -> None:
        self.ring = ring
        self.origin = origin or (object(),)
        self._arrays = tuple(arrays)
        self.shape = arrays[0].shape
        self.count = len(arrays)

    def fetch(self) -> tuple[RingArray, ...]:
        return self._arrays

    def only(self, *chosen: int) -> LocalPlaced:
        return LocalPlaced(self.ring, [self._arrays[t] for t in chosen], (*self.origin, chosen))

    def transposed(self) -> LocalPlaced:
        turned = self.origin[:-1] if self.origin[-1] == _TURNED else (*self.origin, _TURNED)
        return LocalPlaced(self.ring, [np.transpose(array) for array in self._arrays], turned)

    def block(self, place: Place) -> LocalPlaced:
        where = tuple((each.start, each.stop, each.step) for each in place)
        return LocalPlaced(self.ring, [array[place] for array in self._arrays], (*self.origin, where))

    def matmul_sum(self, rights: Sequence[RingArray]) -> RingArray:
        return self.ring.matmul_sum(self._arrays, rights)

    def matvec_pairs(self, vectors: Sequence[RingArray]) -> RingArray:
        return self.ring.matvec_pairs(self._arrays, vectors)

    def inner_sum(
        self,
        own: Sequence[int],
        other: Placed,
        others: Sequence[int],
        shift: int = 0,
    ) -> RingArray:
        theirs = other.fetch()
        left, right = [self._arrays[i] for i in own], [theirs[j] for j in others]
        return self.ring.inner_sum(left, right, each=shifting(self.ring, shift) if shift else None)

    def row_sums(self, chosen: Words) -> tuple[RingArray, ...]:
        ring = power_of_two(self.ring, "Sums of chosen rows")
        return tuple(ring.row_sums(chosen, array) for array in self._arrays)


class LocalEngine(Engine):
    """This process, with the kernels."""

    def place(self, ring: Ring, arrays: Sequence[RingArray]) -> LocalPlaced:
        return LocalPlaced(ring, arrays)


LOCAL = LocalEngine()
