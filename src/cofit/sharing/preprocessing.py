"""Where correlated randomness comes from: one interface, whatever makes it.

A source hands a party its shares of random values that are related in a way the party cannot make alone. The values
must be uniform to everybody else and used once. Here they come from a dealer (``semi2k/from_dealer.py``); a source in
which the parties make them among themselves (oblivious transfer, homomorphic encryption) gives the same objects.

**What is still on its way.** A source may need a message from outside for what it returned. Such messages are those of
``awaited``: the next exchange of the scheme receives them together with what it waits for anyway, so that they cost no
round of their own. Until then the arrays that they fill must not be read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cofit.arithmetic import IntegerRing, PowerOfTwoRing, Ring, RingArray, Shape
from cofit.arithmetic.engine import Placed
from cofit.sharing.held import HeldMask

Bilinear: TypeAlias = Callable[[RingArray, RingArray], RingArray]
"""A product of plain arrays: element-wise, of matrices, or of rows."""
HeldBilinear: TypeAlias = Callable[[Placed, RingArray], RingArray]
"""A product with an array that is held on the left: of matrices, or of rows."""


@dataclass(frozen=True, slots=True, repr=False)
class ProductMask:
    """Shares of A, B and C = A . B; for the square of a value B is A."""

    left: RingArray
    right: RingArray
    product: RingArray


@dataclass(frozen=True, slots=True, repr=False)
class HeldProductMask:
    """Shares of B and C = A . B, where A is the mask of a held operand."""

    right: RingArray
    product: RingArray


@dataclass(frozen=True, slots=True, repr=False)
class TruncationMask:
    """Shares of a uniform r, of r >> shift and of the top bit of r."""

    mask: RingArray
    shifted: RingArray
    top: RingArray


@dataclass(frozen=True, slots=True, repr=False)
class NumberMask:
    """Shares in a ring of uniform numbers, whose digits were shared as bits (``matrix``), and of their top digits."""

    value: RingArray
    top: RingArray


@dataclass(frozen=True, slots=True, repr=False)
class DoubleBits:
    """Shares of uniform bits in both worlds: packed words under XOR, and elements 0 and 1 of a ring."""

    words: RingArray
    elements: RingArray


class Preprocessing(ABC):
    """One party's source of correlated randomness. All parties ask for the same things in the same order."""

    @abstractmethod
    def awaited(self) -> Mapping[int, RingArray]:
        """Return what the next exchange must receive, by rank, and forget it."""

    @property
    @abstractmethod
    def position(self) -> int:
        """A number that all parties have in common as long as they asked for the same things."""

    @abstractmethod
    def matrix(self, ring: Ring, shape: Shape) -> RingArray:
        """Return our share of a uniform matrix, the mask of an operand that is held for many products."""

    @abstractmethod
    def known_matrix(self, ring: Ring, shape: Shape, holder: int) -> RingArray | None:
        """The same for an operand that the party ``holder`` knows: that party has all of the mask, the others None."""

    @abstractmethod
    def product(self, multiply: Bilinear, ring: Ring, left: Shape, right: Shape | None, shape: Shape) -> ProductMask:
        """Return masks of operands of these shapes, and our share of the masks' product, of ``shape``.

        right: None for the product of the left operand with itself.
        """

    @abstractmethod
    def held_product(
        self, multiply: HeldBilinear, ring: Ring, left: HeldMask, right: Shape, shape: Shape
    ) -> HeldProductMask:
        """The same where the left operand is held under ``left`` (or is the transpose of one that is)."""

    @abstractmethod
    def held_square(self, ring: Ring, mask: HeldMask, shape: Shape) -> RingArray:
        """Return our share of the product of a held operand's mask with itself."""

    @abstractmethod
    def truncation(self, ring: PowerOfTwoRing, shape: Shape, shift: int) -> TruncationMask:
        """Return the mask of a truncation."""

    @abstractmethod
    def bits(self, ring: Ring, rows: int, count: int) -> DoubleBits:
        """Return rows x count uniform bits in both worlds."""

    @abstractmethod
    def number(self, ring: IntegerRing, width: int, count: int) -> NumberMask:
        """Return our shares in the ring of numbers whose digits are those of the last ``matrix`` of bits."""
