"""What one party holds of a shared value. Neither type shows a value in its repr."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from cofit.arithmetic import Place, Ring, RingArray, Shape
from cofit.arithmetic.engine import LOCAL, Placed


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Share:
    """One party's part of a shared array: as many ring arrays of the value's shape as the scheme replicates."""

    ring: Ring
    parts: tuple[RingArray, ...]

    @property
    def shape(self) -> Shape:
        """The shape of the shared array."""
        return self.parts[0].shape

    @property
    def placed(self) -> Placed:
        """The parts, for products with them on the left."""
        return LOCAL.place(self.ring, self.parts)

    def times(self, right: RingArray) -> Share:
        """Return the product with a public matrix or vector on the right."""
        return Share(self.ring, self.placed.matmul(right))

    def map(self, local: Callable[[RingArray], RingArray]) -> Share:
        """Apply a linear map (or an indexing) to every part: a sharing of the mapped value, of the same kind."""
        return self.linear(local)

    def block(self, place: Place) -> Share:
        """Return the elements in this place; what is held for products stays so."""
        return self.linear(lambda part: part[place])

    def linear(self, local: Callable[[RingArray], RingArray]) -> Share:
        """As ``map``; the result is an ordinary share, whatever kind this one is."""
        return Share(self.ring, tuple(map(local, self.parts)))

    def __repr__(self) -> str:
        return f"<Share of {self.ring.name}, shape {self.shape}>"


@dataclass(frozen=True)
class ComponentFacts:
    """The public facts of one piece of a dealt value: its name, the ranks that get it, its size in bytes."""

    name: str
    ranks: tuple[int, ...]
    size: int


@dataclass(frozen=True, repr=False)
class Component:
    """One piece of a dealt value, the same for all who get it. ``content`` yields its bytes, from the start, each time,
    in chunks of ``inputs.CHUNK_BYTES`` but the last; a yielded buffer may be used again for the next one.
    """

    facts: ComponentFacts
    content: Callable[[], Iterator[memoryview]]

    def __repr__(self) -> str:
        return f"<Component {self.facts}>"


class DealtShare(Protocol):
    """One party's share as an owner dealt it, where most of it may still be a seed: small to keep and to send on."""

    def expand(self) -> Share:
        """Return the share itself."""


class BitShare(ABC):
    """One party's part of shared bits of shape (rows, count); what it is made of is known to a ``Boolean`` alone."""

    __slots__ = ()
    count: int

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number of rows; row b usually holds bit b of ``count`` values."""

    def __repr__(self) -> str:
        return f"<BitShare, shape {(self.rows, self.count)}>"


class PlacedBits(NamedTuple):
    """The binary digits of shared numbers, the lowest in row 0, and the place of that one: it counts 2^place."""

    place: int
    bits: BitShare
