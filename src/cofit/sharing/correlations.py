"""Correlated randomness: what is asked for, and one interface to whatever makes it.

A source hands a party its shares of random values that are related in a way the party cannot make alone. The values
must be uniform to everybody else and used once. They may come from a dealer (``semi2k/from_dealer.py``) or be made by
the parties among themselves (oblivious transfer, homomorphic encryption): the scheme asks in the same way.

**Demand.** A request states public facts only: shapes and the order of operations do not depend on data. So the party
program, run without values, says beforehand what it will ask for (``demand.py``). All that, or a part of it, can be
made ahead (``prepare``) and is then handed out without a message.

**What travels.** What a source makes at the moment may need messages, to and from other members. The next exchange of
the scheme takes them along (``travelling``), so that they cost no round of their own. Until then arrays that a message
is still to fill must not be read.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from cofit.arithmetic import IntegerRing, Place, PowerOfTwoRing, Ring, RingArray, Shape
from cofit.errors import ProtocolError
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.held import HeldFacts, HeldMask
from cofit.sharing.regions import Region

T = TypeVar("T")
Multiply: TypeAlias = "str | BitForm"
"""Which product: 'mul' (element-wise), 'matmul', 'inner' (of rows), or a bilinear form of bits."""


def multiplied(ring: Ring, multiply: Multiply, a: RingArray, b: RingArray) -> RingArray:
    """Return that product of plain arrays."""
    if isinstance(multiply, BitForm):
        return multiply.apply(a, b)
    if multiply == "inner":
        return ring.inner_sum([a], [b])
    return ring.mul(a, b) if multiply == "mul" else ring.matmul(a, b)


# --- what is handed out ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False, eq=False, weakref_slot=True)
class MaskPieces:
    """What we have of the mask of a held operand, each piece with its place, and which of those asked for it is."""

    pieces: tuple[tuple[Place, RingArray], ...]
    number: int


@dataclass(frozen=True, slots=True, repr=False)
class ProductMask:
    """Shares of A, B and C = A . B; for the square of a value B is A."""

    left: RingArray
    right: RingArray
    product: RingArray


@dataclass(frozen=True, slots=True, repr=False)
class HeldProductMask:
    """Shares of B and C = A . B, where A is the mask of a held operand; for the product of A with itself no B."""

    right: RingArray | None
    product: RingArray


@dataclass(frozen=True, slots=True, repr=False)
class TruncationMask:
    """Shares of a uniform r, of r >> shift and of the top bit of r."""

    mask: RingArray
    shifted: RingArray
    top: RingArray


@dataclass(frozen=True, slots=True, repr=False)
class NumberMask:
    """Shares in a ring of uniform numbers, whose digits were shared as bits (``Digits``), and of their top digits."""

    value: RingArray
    top: RingArray


@dataclass(frozen=True, slots=True, repr=False)
class DoubleBits:
    """Shares of uniform bits in both worlds: packed words under XOR, and elements 0 and 1 of a ring."""

    words: RingArray
    elements: RingArray


@dataclass(frozen=True, slots=True, repr=False, eq=False, weakref_slot=True)
class MaskDigits:
    """Our share of the words of uniform digits, and which of those that were asked for they are."""

    words: RingArray
    number: int


# --- what is asked for -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Request(Generic[T]):
    """The public facts of a correlation. Two members that ask for equal ones get shares that fit together."""

    ring: Ring

    @property
    def text(self) -> str:
        """The facts as text, the same at all members."""
        return f"{type(self).__name__} {self.ring.name} {self._facts()!r}"

    def _facts(self) -> tuple[object, ...]:
        return tuple(value for name, value in vars(self).items() if name not in ("ring", "secret"))


@dataclass(frozen=True)
class Mask(Request[MaskPieces]):
    """The mask of an operand that is held for many products. In a region that a party knows it alone has the mask."""

    shape: Shape
    regions: tuple[Region, ...]


@dataclass(frozen=True)
class Product(Request[ProductMask]):
    """Masks of operands of these shapes, and the masks' product, of ``shape``. right: None for A with itself."""

    multiply: Multiply
    left: Shape
    right: Shape | None
    shape: Shape


@dataclass(frozen=True)
class HeldProduct(Request[HeldProductMask]):
    """The same where the left operand is held under a mask, or a part or the transpose of one: ``held`` says which.

    ``secret``: the mask itself, at a member that has it.
    """

    multiply: Multiply
    held: HeldFacts
    right: Shape | None
    shape: Shape
    secret: HeldMask | None = field(compare=False, repr=False)


def held_product(ring: Ring, multiply: Multiply, mask: HeldMask, right: Shape | None, shape: Shape) -> HeldProduct:
    """Return the request of a product with what is held under ``mask``."""
    return HeldProduct(ring, multiply, mask.facts, right, shape, mask)


@dataclass(frozen=True)
class Truncation(Request[TruncationMask]):
    """The mask of a truncation."""

    ring: PowerOfTwoRing
    shape: Shape
    shift: int


@dataclass(frozen=True)
class Bits(Request[DoubleBits]):
    """rows x count uniform bits in both worlds, as elements of ``ring`` in one of them."""

    rows: int
    count: int


@dataclass(frozen=True)
class Digits(Request[MaskDigits]):
    """Uniform words of bits: the digits, ``width`` for each of ``count``, of numbers that ``Number`` asks for."""

    width: int
    count: int


@dataclass(frozen=True)
class Number(Request[NumberMask]):
    """The numbers in ``ring`` whose digits were the ``number``-th asked for; ``secret``: those, if they are known."""

    ring: IntegerRing
    number: int
    width: int
    count: int
    secret: RingArray | None = field(default=None, compare=False, repr=False)


Demand: TypeAlias = "tuple[Request[Any], ...]"
"""What a program asks for, in order."""


# --- sources ---------------------------------------------------------------------------------------------


class Travelling(NamedTuple):
    """What the next exchange sends and receives for a source, by rank."""

    send: Mapping[int, Sequence[RingArray]]
    receive: Mapping[int, RingArray]


class Correlations(ABC):
    """One member's end of a source. All members ask for the same things in the same order."""

    def __init__(self) -> None:
        self._asked = 0
        self._stock: deque[tuple[Request[Any], Any]] = deque()
        self._ended: str | None = None

    @property
    def asked(self) -> int:
        """A digest of everything that was asked for: all members have it in common as long as their programs are one.

        How far streams were read alone would not do: a truncation by another shift, or a product with a transpose,
        reads as much of them, and its result would be wrong; opened, it could show bits that were to be taken away.
        """
        return self._asked

    def ask(self, request: Request[T]) -> T:
        """Return what is asked for: made ahead, or now. A request that was not foreseen ends all of it."""
        self._refuse_after_the_end()
        self._note("now", request)
        if not self._stock:
            return self._make(request)
        ahead, made = self._stock.popleft()
        if ahead != request:
            self._stock.clear()
            self._ended = (
                f"The program asks for {request.text}, and {ahead.text} was prepared: it is not the program whose "
                "demand was recorded. Nothing of what was prepared may be used by another one; start a new session."
            )
            raise ProtocolError(self._ended)
        result: T = made
        return result

    def prepare(self, demand: Sequence[Request[Any]]) -> None:
        """Make what will be asked for next, in this order, and keep it. All members prepare the same.

        A party with another demand is noticed at the next message: its digest of what was asked for differs.
        """
        self._refuse_after_the_end()
        for request in demand:
            self._note("ahead", request)
        self._stock.extend(zip(demand, self._make_ahead(demand), strict=True))

    def _refuse_after_the_end(self) -> None:
        if self._ended is not None:
            raise ProtocolError(self._ended)

    def _note(self, when: str, request: Request[Any]) -> None:
        self._asked = zlib.crc32(f"{when} {request.text}".encode(), self._asked)

    @property
    def prepared(self) -> int:
        """How many requests can be answered without a message."""
        return len(self._stock)

    @abstractmethod
    def _make(self, request: Request[T]) -> T:
        """Make one correlation; messages that it needs are those of ``travelling``."""

    @abstractmethod
    def _make_ahead(self, demand: Sequence[Request[Any]]) -> Sequence[Any]:
        """Make several, with exchanges of their own; when this returns, none of them awaits a message."""

    @abstractmethod
    def position(self, rank: int) -> int:
        """Return 32 bits that the member of that rank must have in common with us now."""

    @abstractmethod
    def travelling(self) -> Travelling:
        """Return what the next exchange must take along, and forget it."""

    @abstractmethod
    def start(self, session: bytes) -> None:
        """Begin, when the exchange of the setup has taken along what ``travelling`` returned before it."""
