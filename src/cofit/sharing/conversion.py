"""Between shared numbers and shared bits: where the arithmetic and the Boolean part of a scheme meet."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

from cofit.arithmetic import IntegerRing, Ring, Shape
from cofit.sharing.boolean import Boolean
from cofit.sharing.shares import BitShare, PlacedBits, Share

_FEWEST_SUMMANDS = 4


class Conversion(ABC):
    """The conversions of a scheme, for its own two kinds of sharing."""

    names: tuple[str, ...]
    boolean: Boolean
    """The scheme's shared bits."""

    @abstractmethod
    def to_bits(self, a: Share, bits: int | None = None) -> BitShare:
        """Return the k bits of every element of a (two's complement), least significant row first.

        bits: for less, only so many of them, the lowest.
        """

    @abstractmethod
    def sign_bits(self, a: Share, low: int = 0, bits: int | None = None) -> BitShare:
        """Return the top bit of every element of a, one row: 1 where it is negative, reading a as signed.

        low: for less, of a number that is below a by less than ``summands`` 2^low, modulo the ring.
        bits: for less, of that number modulo 2^bits, a sum of shares modulo 2^bits: its sign if the caller has proved
        -2^(bits-1) <= a < 2^(bits-1), and nothing to rely on where not.
        """

    @abstractmethod
    def top_bits(self, a: Share, low: int = 0) -> BitShare:
        """Return the two top bits of every element of a, or of such a number, the lower one first."""

    @property
    def summands(self) -> int:
        """How many summands a shared value has at most, as bits are taken and parts are shifted."""
        return max(_FEWEST_SUMMANDS, len(self.names))

    @abstractmethod
    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        """Return the bits as ring elements 0 and 1, shape (rows, count)."""

    @abstractmethod
    def from_numbers(self, numbers: Sequence[PlacedBits], ring: IntegerRing) -> Share:
        """Return the sum of numbers whose binary digits are shared, as ring elements; each is its digits' number times
        2^place. The sum must not exceed the capacity of the ring, however large each is.
        """

    def random_ring_bits(self, ring: Ring, shape: Shape) -> Share:
        """Return shared uniform bits that nobody knows, as ring elements 0 and 1."""
        bits = self.boolean.random(1, math.prod(shape))
        return self.from_bits(bits, ring).map(lambda part: part.reshape(shape))
