"""Correlated randomness from a dealer: the two ends of it.

The dealer gives every party a seed once. Each share that may be uniform is drawn from the seeds and costs no message;
of a share that must fit the others, all but the last party's are drawn too, and the dealer sends the last party what is
missing (one message an operation, to one party). Both ends are here because they must draw in the same order.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from cofit.arithmetic import Generator, IntegerRing, PowerOfTwoRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length, unpack
from cofit.sharing.held import HeldMask, squares
from cofit.sharing.numbers import plain_numbers
from cofit.sharing.preprocessing import (
    Bilinear,
    DoubleBits,
    HeldBilinear,
    HeldProductMask,
    NumberMask,
    Preprocessing,
    ProductMask,
    TruncationMask,
)

SPREAD = 0x9E3779B1


class _Asked:
    """A digest of everything that was asked for so far, the same at both ends as long as their programs are.

    The streams alone would not do: a truncation by another shift, or a product with a transpose, reads as much of them,
    and its result would be wrong; opened, it could show bits that the truncation was to take away.
    """

    def __init__(self) -> None:
        self.digest = 0

    def note(self, kind: str, ring: Ring, *facts: Sequence[int] | None) -> None:
        numbers = [None if fact is None else [int(number) for number in fact] for fact in facts]
        self.digest = zlib.crc32(f"{kind} {ring.name} {numbers}".encode(), self.digest)

    def note_held_product(self, ring: Ring, left: HeldMask, right: Shape | None, shape: Shape) -> None:
        """With whether the transpose is meant, and which block: shapes alone do not tell."""
        self.note("held product", ring, left.shape, (left.transposed, *left.origin), right, shape)


class FromDealer(Preprocessing):
    """The end of the party ``rank`` of so many; the dealer's rank is the one after the last party's."""

    def __init__(self, seed: bytes, rank: int, parties: int) -> None:
        self._stream = Generator(seed)
        self._rank = rank
        self._dealer = parties
        self._last = rank == parties - 1
        self._awaited: dict[int, RingArray] = {}
        self._asked = _Asked()

    @property
    def position(self) -> int:
        """What was asked for; not how far streams were read, as the last party's is behind those of the others."""
        return self._asked.digest

    @property
    def position_at_dealer(self) -> int:
        """What was asked for, and how far our seed was read: the dealer knows that too."""
        return _joint_position(self._asked, self._stream)

    def awaited(self) -> Mapping[int, RingArray]:
        awaited, self._awaited = self._awaited, {}
        return awaited

    def _fitting(self, ring: Ring, shape: Shape) -> RingArray:
        """Return a share that fits the others': drawn, or on its way from the dealer."""
        if not self._last:
            return self._stream.ring(ring, shape)
        buffer = ring.empty(shape)
        self._awaited[self._dealer] = buffer
        return buffer

    def matrix(self, ring: Ring, shape: Shape) -> RingArray:
        self._asked.note("matrix", ring, shape)
        return self._stream.ring(ring, shape)

    def known_matrix(self, ring: Ring, shape: Shape, holder: int) -> RingArray | None:
        self._asked.note("known matrix", ring, shape, (holder,))
        return self._stream.ring(ring, shape) if self._rank == holder else None

    def product(self, multiply: Bilinear, ring: Ring, left: Shape, right: Shape | None, shape: Shape) -> ProductMask:
        self._asked.note("product", ring, left, right, shape)
        a = self._stream.ring(ring, left)
        b = a if right is None else self._stream.ring(ring, right)
        return ProductMask(a, b, self._fitting(ring, shape))

    def held_product(
        self, multiply: HeldBilinear, ring: Ring, left: HeldMask, right: Shape, shape: Shape
    ) -> HeldProductMask:
        self._asked.note_held_product(ring, left, right, shape)
        return HeldProductMask(self._stream.ring(ring, right), self._fitting(ring, shape))

    def held_square(self, ring: Ring, mask: HeldMask, shape: Shape) -> RingArray:
        self._asked.note_held_product(ring, mask, None, shape)
        return self._fitting(ring, shape)

    def truncation(self, ring: PowerOfTwoRing, shape: Shape, shift: int) -> TruncationMask:
        self._asked.note("truncation", ring, shape, (shift,))
        mask = self._stream.ring(ring, shape)
        both = self._fitting(ring, (2, *shape))
        return TruncationMask(mask, both[0, ...], both[1, ...])

    def bits(self, ring: Ring, rows: int, count: int) -> DoubleBits:
        self._asked.note("bits", ring, (rows, count))
        words = self._stream.ring(BITS, (rows, packed_length(count)))
        return DoubleBits(words, self._fitting(ring, (rows, count)))

    def number(self, ring: IntegerRing, width: int, count: int) -> NumberMask:
        self._asked.note("number", ring, (width, count))
        both = self._fitting(ring, (2, count))
        return NumberMask(both[0], both[1])


class Dealing:
    """The dealer's end: every method returns what to send to the last party."""

    def __init__(self, seeds: Sequence[bytes]) -> None:
        self._streams = [Generator(seed) for seed in seeds]
        self._asked = _Asked()

    def position(self, rank: int) -> int:
        """What was asked for, and how far the seed of that party was read."""
        return _joint_position(self._asked, self._streams[rank])

    def _drawn(self, ring: Ring, shape: Shape) -> RingArray:
        """Return the sum of what all parties draw."""
        return functools.reduce(ring.add, (stream.ring(ring, shape) for stream in self._streams))

    def _rest(self, ring: Ring, value: RingArray, shape: Shape) -> RingArray:
        """Return the last party's share of a value, given what the others draw."""
        return functools.reduce(ring.sub, (stream.ring(ring, shape) for stream in self._streams[:-1]), value)

    def matrix(self, ring: Ring, shape: Shape) -> RingArray:
        """Return the mask of a held operand, for the dealer itself: no message."""
        self._asked.note("matrix", ring, shape)
        total = self._streams[0].ring(ring, shape)
        if not total.flags.writeable:
            total = total.copy()
        for stream in self._streams[1:]:
            _add_drawn(ring, total, stream)
        return total

    def known_matrix(self, ring: Ring, shape: Shape, holder: int) -> RingArray:
        """The same for an operand that a party knows: what that party draws."""
        self._asked.note("known matrix", ring, shape, (holder,))
        return self._streams[holder].ring(ring, shape)

    def product(self, multiply: Bilinear, ring: Ring, left: Shape, right: Shape | None, shape: Shape) -> RingArray:
        self._asked.note("product", ring, left, right, shape)
        a = self._drawn(ring, left)
        b = a if right is None else self._drawn(ring, right)
        return self._rest(ring, multiply(a, b), shape)

    def held_product(self, multiply: HeldBilinear, ring: Ring, left: HeldMask, right: Shape, shape: Shape) -> RingArray:
        """``left``: as ``matrix`` returned it, or its transpose."""
        self._asked.note_held_product(ring, left, right, shape)
        ((_, a),) = left.pieces
        return self._rest(ring, multiply(a, self._drawn(ring, right)), shape)

    def held_square(self, ring: Ring, mask: HeldMask, shape: Shape) -> RingArray:
        self._asked.note_held_product(ring, mask, None, shape)
        ((_, a),) = mask.pieces
        return self._rest(ring, squares(a), shape)

    def truncation(self, ring: PowerOfTwoRing, shape: Shape, shift: int) -> RingArray:
        self._asked.note("truncation", ring, shape, (shift,))
        mask = self._drawn(ring, shape)
        both = ring.empty((2, *shape))
        both[0, ...] = ring.shr(mask, shift)
        both[1, ...] = ring.shr(mask, ring.bits - 1)
        return self._rest(ring, both, both.shape)

    def bits(self, ring: Ring, rows: int, count: int) -> RingArray:
        self._asked.note("bits", ring, (rows, count))
        words = self._drawn(BITS, (rows, packed_length(count)))
        return self._rest(ring, ring.from_int(unpack(words, count)), (rows, count))

    def number(self, ring: IntegerRing, digits: RingArray, count: int) -> RingArray:
        """``digits``: as ``matrix`` returned them."""
        self._asked.note("number", ring, (len(digits), count))
        return self._rest(ring, np.stack(plain_numbers(ring, digits, count)), (2, count))


_CHUNK_BYTES = 1 << 20


def _joint_position(asked: _Asked, stream: Generator) -> int:
    return (stream.position * SPREAD ^ asked.digest) & 0xFFFFFFFF


def _add_drawn(ring: Ring, total: RingArray, stream: Generator) -> None:
    """Add what a stream gives to ``total``, in place and in chunks that stay in the cache."""
    flat = total.reshape(-1)
    step = _CHUNK_BYTES // ring.element_bytes
    for start in range(0, flat.size, step):
        piece = flat[start : start + step]
        piece[...] = ring.add(piece, stream.ring(ring, piece.shape))
