"""What the primitive operations of a scheme cost, as the scheme publishes it.

Everything else that a party program does is made of these, so its rounds and bytes follow from public shapes alone: see
``meter.py``. Rounds of an operation are messages that wait for one another: those of the party that waits most, or more
where several parties wait in turn (products through one party).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import NamedTuple

from cofit.arithmetic import Ring, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length
from cofit.arithmetic.narrow import narrow_bytes
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.inputs import CHUNK_BYTES
from cofit.sharing.shares import Share


@dataclass(frozen=True)
class Noted:
    """What an operation puts on the list of a scheme that checks late, for each element of its result: products of
    elements, one product of ``inner`` terms, values that are to be 0; and for every 64 elements ANDs of words, and
    words that are to be 0. Of an operation on words, all that is for each word.
    """

    products: int = 0
    inner: int = 0
    zeros: int = 0
    words: int = 0
    zero_words: int = 0

    def plus(self, other: Noted) -> Noted:
        """Return both together; at most one of them has an inner product."""
        return Noted(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class Cost:
    """Rounds, and what all parties and the dealer together send: ring elements for each element of the result, for each
    one of the ``left`` and of the ``right`` operand (where operands are opened under masks: not again for a held left
    one, and once for the square of a value), and ``fixed_bytes`` once for the whole operation, whatever its size (the
    digests of an active scheme). ``packed``: words for every 64 elements of the result, where bits of them travel.
    ``high``: numbers for each element of the result that have as many bytes as the bits a truncation cuts off need, and
    all of a kind together whole words. ``notes``: what is to be checked later.
    """

    rounds: int
    elements: int
    fixed_bytes: int = 0
    left: int = 0
    right: int = 0
    packed: int = 0
    high: int = 0
    notes: Noted | None = None

    def bytes(self, ring: Ring, shape: Shape, *operands: Shape | None, shift: int = 0) -> int:
        """Return what an operation sends. ``operands``: the left one and the right one, None if it sends nothing for
        it. ``shift``: the bits that it cuts off."""
        count = math.prod(shape)
        elements = self.elements * count
        for each, operand in zip((self.left, self.right), operands, strict=False):
            elements += 0 if operand is None else each * math.prod(operand)
        words = self.packed * packed_length(count) * BITS.element_bytes if self.packed else 0
        high = self.high * narrow_bytes(count, shift) if self.high else 0
        return elements * ring.element_bytes + words + high + self.fixed_bytes


@dataclass(frozen=True)
class StreamCost:
    """What is sent in messages of up to ``CHUNK_BYTES``, one after the other: so many elements for each one, of all
    parties together. Every message that a party waits for counts as a round.
    """

    elements: int

    def rounds(self, ring: Ring, count: int) -> int:
        """Return how many messages a party receives for ``count`` elements."""
        return max(1, -(-count // (CHUNK_BYTES // ring.element_bytes)))

    def bytes(self, ring: Ring, count: int) -> int:
        """Return what all parties together send."""
        return self.elements * count * ring.element_bytes


class Sent(NamedTuple):
    """Rounds, and bytes of all parties together."""

    rounds: int
    bytes: int


class LateChecks(ABC):
    """What a scheme that checks late has put on its list, as sizes: a meter tells it all that a program does.

    Where the scheme checks on its own because the list has grown long, so does this, in ``grown``.
    """

    @abstractmethod
    def told(self) -> None:
        """Note that a message was sent which is to be compared."""

    @abstractmethod
    def products(self, ring: Ring, count: int, terms: int = 1) -> None:
        """Note that products of elements were computed: sums of so many terms."""

    @abstractmethod
    def zeros(self, ring: Ring, count: int) -> None:
        """Note that values are to be 0; of bits, words."""

    @abstractmethod
    def matrix(self, a: Share, columns: int) -> None:
        """Note the product of a matrix, or of one row, with so many vectors."""

    @abstractmethod
    def ands(self, words: int) -> None:
        """Note ANDs of words."""

    @abstractmethod
    def form(self, form: BitForm, left: int, right: int, words: int) -> None:
        """Note a form of rows of words."""

    def form_pieces(self, form: BitForm, left: int, right: int, words: int) -> list[slice]:
        """Return the ranges of words in which the scheme computes a form, one after the other."""
        del form, left, right
        return [slice(0, words)]

    @abstractmethod
    def grown(self) -> Sent:
        """Return what a check takes that is due at the end of an operation; nothing if none is."""

    @abstractmethod
    def verify(self) -> Sent:
        """Return what it takes to check all that is on the list; nothing if nothing is."""


@dataclass(frozen=True)
class BitCosts:
    """The costs of shared bits, where an element is a word of 64 of them: input by a party, opening to one receiver,
    and ANDs and bilinear forms.
    """

    input: Cost
    open: Cost
    product: Cost


@dataclass(frozen=True)
class ClipCosts:
    """The costs of ``clipped_sum``: what is opened of every element, and how often every word of the
    tables is sent with that; of every word of signals; and to share the result, of every element, truncated or not. The
    ANDs between are those of ``adder.py``.
    """

    opened: Cost
    tables: int
    signals: Cost
    result: Cost
    exact_result: Cost


@dataclass(frozen=True)
class Costs:
    """The costs of a scheme among a given number of parties.

    ``open`` is for one receiver: m receivers take as many rounds and m times the bytes. ``product`` holds for element-
    wise, matrix and inner products. ``bits``: of shared bits. ``refresh``: a fresh sharing. ``echo``: what an
    announcement takes beside the messages themselves. ``carry_signals``: what ``to_bits`` and ``sign_bits`` send for
    every word of bit planes before the ANDs of ``adder.py``; None where bits are taken without any message.
    ``product_terms``, ``inner_terms`` and ``public_terms``: how many products of plain matrices (of plain rows) a party
    computes for one of secrets, and for one of a secret and a public matrix. ``bit_words``: words that ``from_bits``
    sends for every packed word, beside the elements of ``bit_to_ring``. ``weighed_bits``: what the operation of that
    name takes for every bit, and for every sum; None where it is ``from_bits``. ``foresees_squares``: whether
    ``foreseen_squares`` is an operation of the scheme. ``unmasked``: what ``from_numbers`` takes after its additions,
    in elements of the ring; ``unmasked_words``: and for every word of digits; ``number_masks``: how many masks are
    among what it adds. ``high_part``: of the operation of that name. ``compared``: what the parties exchange to see
    that an owner dealt them one value; what the owner sends follows from ``Inputs.layout``. ``hold``: what preparing a
    value for many products takes; None if nothing. ``hold_known``: the same for a part of it that one party knows.
    ``listeners``: how many hear announcements beside the parties. ``mask_digits``: what every digit of the masks of
    ``from_numbers`` takes, and ``mask_bits``: how many more than its digits there are. ``joins_sums``: whether a sum of
    products costs what one product does, and several sums as many rounds as the longest. ``adds_products``: whether
    what a party has of a product before its truncation is local, as of a partial sum (``Scheme.partial_sum``).
    ``clip``: of ``clipped_sum``; None where the scheme has no such operation. ``late``: makes an empty list of checks,
    where the scheme checks late. ``summands``: how many a shared value has, where that is more than
    ``Conversion.summands`` says: what a check of rows sends depends on it.
    """

    setup_rounds: int
    setup_bytes: int
    input: Cost
    open: Cost
    product: Cost
    bits: BitCosts
    refresh: Cost
    truncated_product: Cost
    truncation: Cost
    bit_to_ring: Cost
    carry_signals: Cost | None
    product_terms: int
    inner_terms: int
    public_terms: int
    unmasked: Cost
    unmasked_words: int
    number_masks: int = 1
    high_part: Cost = Cost(0, 0)
    echo: Cost = Cost(0, 0)
    bit_words: int = 0
    weighed_bits: tuple[Cost, Cost] | None = None
    foresees_squares: bool = False
    compared: Cost = Cost(0, 0)
    hold: StreamCost | None = None
    hold_known: StreamCost | None = None
    listeners: int = 0
    mask_digits: Cost = Cost(0, 0)
    mask_bits: int = 0
    joins_sums: bool = False
    adds_products: bool = False
    clip: ClipCosts | None = None
    late: Callable[[], LateChecks] | None = None
    in_stocks: bool = False
    summands: int = 0

    @property
    def share_parts(self) -> int:
        """How many arrays as large as a matrix a party has of one that is held: its parts, and what was opened."""
        return self.public_terms + (self.hold is not None)
