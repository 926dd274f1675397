"""Correlated randomness from a dealer: the two ends of it.

The dealer gives every party a seed once. Each share that may be uniform is drawn from the seeds and costs no message;
of a share that must fit the others, all but the last party's are drawn too, and the dealer sends the last party what is
missing (one message for what is made at the moment, and one stream for all that is made ahead). Both ends are here
because they must draw in the same order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from cofit.arithmetic import Generator, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length, unpack
from cofit.arithmetic.engine import LOCAL
from cofit.arithmetic.prg import SEED_BYTES, derive_seed, fresh_seed
from cofit.errors import InvalidInputError, ProtocolError
from cofit.sharing.correlations import (
    Bits,
    Correlations,
    Digits,
    DoubleBits,
    HeldProduct,
    HeldProductMask,
    Mask,
    MaskDigits,
    MaskPieces,
    Number,
    NumberMask,
    Product,
    ProductMask,
    Request,
    Travelling,
    Truncation,
    TruncationMask,
    multiplied,
)
from cofit.sharing.held import HeldMask, matrix_product, rows_product, squares
from cofit.sharing.inputs import CHUNK_BYTES
from cofit.sharing.masked_opening import parts_of_mask
from cofit.sharing.member import SPREAD, as_bytes
from cofit.sharing.numbers import plain_numbers
from cofit.sharing.regions import whole

T = TypeVar("T")
Exchange = Callable[[str, Mapping[int, Sequence[RingArray]], Mapping[int, RingArray]], None]
"""Sends arrays to ranks and fills arrays from them, under the label of an operation."""


class FromDealer(Correlations):
    """The end of the party ``rank`` of so many; the dealer's rank is the one after the last party's."""

    def __init__(self, exchange: Exchange, rank: int, parties: int) -> None:
        super().__init__()
        self._exchange = exchange
        self._rank = rank
        self._dealer = parties
        self._last = rank == parties - 1
        self._seed = np.empty(SEED_BYTES, np.uint8)
        self._awaited: dict[int, RingArray] = {parties: self._seed}
        self._ahead: list[RingArray] | None = None
        self._count = 0

    def start(self, session: bytes) -> None:
        self._stream = Generator(derive_seed(self._seed.tobytes() + session, f"semi2k dealer {self._rank}"))

    def position(self, rank: int) -> int:
        """What was asked for; with the dealer also how far our seed was read: that of the last party is behind those of
        the others, but the dealer knows it.
        """
        return self.asked if rank != self._dealer else (self._stream.position * SPREAD ^ self.asked) & 0xFFFFFFFF

    def travelling(self) -> Travelling:
        """The dealer's message, if there is one."""
        awaited, self._awaited = self._awaited, {}
        return Travelling({}, awaited)

    def _fitting(self, ring: Ring, shape: Shape) -> RingArray:
        """Return a share that fits the others': drawn, or on its way from the dealer."""
        if not self._last:
            return self._stream.ring(ring, shape)
        buffer = ring.empty(shape)
        if self._ahead is None:
            if self._dealer in self._awaited:  # the first buffer would never be filled
                raise ProtocolError("Two things were asked of the dealer before a message could bring the first.")
            self._awaited[self._dealer] = buffer
        else:
            self._ahead.append(buffer)
        return buffer

    def _make_ahead(self, demand: Sequence[Request[Any]]) -> list[Any]:
        """What the dealer sends arrives in one stream. Rounds: a message for every chunk of it, at the last party."""
        self._ahead = []
        made = [self._make(request) for request in demand]
        buffers, self._ahead = [as_bytes(buffer) for buffer in self._ahead], None
        if self._last:
            joint = np.empty(sum(map(len, buffers)), np.uint8)
            for start in range(0, joint.size, CHUNK_BYTES):
                self._exchange("prepare", {}, {self._dealer: joint[start : start + CHUNK_BYTES]})
            start = 0
            for buffer in buffers:
                buffer[:] = joint[start : start + len(buffer)].data
                start += len(buffer)
        return made

    def _make(self, request: Request[T]) -> T:
        result: Any
        match request:
            case Mask():
                result = self._mask(request)
            case Product(ring=ring, left=left, right=right, shape=shape):
                a = self._stream.ring(ring, left)
                b = a if right is None else self._stream.ring(ring, right)
                result = ProductMask(a, b, self._fitting(ring, shape))
            case HeldProduct(ring=ring, right=right, shape=shape):
                other = None if right is None else self._stream.ring(ring, right)
                result = HeldProductMask(other, self._fitting(ring, shape))
            case Truncation(ring=ring, shape=shape):
                mask = self._stream.ring(ring, shape)
                both = self._fitting(ring, (2, *shape))
                result = TruncationMask(mask, both[0, ...], both[1, ...])
            case Bits(ring=ring, rows=rows, count=count):
                words = self._stream.ring(BITS, (rows, packed_length(count)))
                result = DoubleBits(words, self._fitting(ring, (rows, count)))
            case Digits(width=width, count=count):
                result = MaskDigits(self._stream.ring(BITS, (width, packed_length(count))), self._next_number())
            case Number(ring=ring, count=count):
                both = self._fitting(ring, (2, count))
                result = NumberMask(both[0], both[1])
        answer: T = result
        return answer

    def _mask(self, request: Mask) -> MaskPieces:
        """Our pieces: of regions that nobody knows, and of those that we do."""
        regions = [region for region in request.regions if region.holder in (None, self._rank)]
        pieces = tuple((region.place, self._stream.ring(request.ring, region.shape)) for region in regions)
        return MaskPieces(pieces, self._next_number())

    def _next_number(self) -> int:
        self._count += 1
        return self._count


class Dealing(Correlations):
    """The dealer's end. What is asked for is made and sent to the last party; the answer is what the dealer knows."""

    def __init__(self, exchange: Exchange, parties: int) -> None:
        super().__init__()
        self._exchange = exchange
        self._seeds = [fresh_seed() for _ in range(parties)]
        self._streams: list[Generator] = []
        self._outgoing: dict[int, list[RingArray]] = {
            rank: [np.frombuffer(seed, np.uint8)] for rank, seed in enumerate(self._seeds)
        }
        self._masks: WeakValueDictionary[int, MaskPieces] = WeakValueDictionary()
        self._digits: WeakValueDictionary[int, MaskDigits] = WeakValueDictionary()
        self._count = 0

    def start(self, session: bytes) -> None:
        seeds = (derive_seed(seed + session, f"semi2k dealer {rank}") for rank, seed in enumerate(self._seeds))
        self._streams = [Generator(seed) for seed in seeds]

    def position(self, rank: int) -> int:
        """What was asked for, and how far the seed of that party was read."""
        return (self._streams[rank].position * SPREAD ^ self.asked) & 0xFFFFFFFF

    def travelling(self) -> Travelling:
        """What the last party waits for."""
        outgoing, self._outgoing = self._outgoing, {}
        return Travelling(outgoing, {})

    def _drawn(self, ring: Ring, shape: Shape) -> RingArray:
        """Return the sum of what all parties draw."""
        return functools.reduce(ring.add, (stream.ring(ring, shape) for stream in self._streams))

    def _send_rest(self, ring: Ring, value: RingArray) -> None:
        """Send the last party's share of a value, given what the others draw."""
        drawn = (stream.ring(ring, value.shape) for stream in self._streams[:-1])
        self._outgoing.setdefault(len(self._streams) - 1, []).append(functools.reduce(ring.sub, drawn, value))

    def _make_ahead(self, demand: Sequence[Request[Any]]) -> list[Any]:
        """Masks and digits that a later request needs are at hand here, though the program has not got them yet."""
        made = [self._make(self._resolved(request)) for request in demand]
        ((last, arrays),) = self.travelling().send.items() or [(0, [])]
        joint = np.frombuffer(b"".join(map(as_bytes, arrays)), np.uint8)
        for start in range(0, joint.size, CHUNK_BYTES):
            self._exchange("prepare", {last: [joint[start : start + CHUNK_BYTES]]}, {})
        return made

    def _resolved(self, request: Request[T]) -> Request[T]:
        """Return a request of the recorded demand with the mask or the digits that it is about."""
        resolved: Any = request
        if isinstance(request, HeldProduct):
            ((place, whole_mask),) = self._masks[request.held.number].pieces
            placed = LOCAL.place(request.ring, (whole_mask,))
            resolved = replace(request, secret=HeldMask(whole_mask.shape, ((place, placed),)).part(request.held))
        elif isinstance(request, Number):
            resolved = replace(request, secret=self._digits[request.number].words)
        answer: Request[T] = resolved
        return answer

    def _make(self, request: Request[T]) -> T:
        result: Any = None
        match request:
            case Mask():
                result = self._mask(request)
            case Product(ring=ring, multiply=multiply, left=left, right=right, shape=shape):
                a = self._drawn(ring, left)
                b = a if right is None else self._drawn(ring, right)
                self._send_rest(ring, multiplied(ring, multiply, a, b).reshape(shape))
            case HeldProduct(ring=ring, multiply=multiply, right=right, shape=shape, secret=HeldMask() as mask):
                ((_, held),) = mask.pieces
                if right is None:
                    self._send_rest(ring, squares(held).reshape(shape))
                else:
                    product = matrix_product if multiply == "matmul" else rows_product
                    self._send_rest(ring, product(held, self._drawn(ring, right)).reshape(shape))
            case Truncation(ring=ring, shape=shape, shift=shift):
                drawn = self._drawn(ring, shape)
                self._send_rest(ring, parts_of_mask(ring, drawn, shift))
            case Bits(ring=ring, rows=rows, count=count):
                words = self._drawn(BITS, (rows, packed_length(count)))
                self._send_rest(ring, ring.from_int(unpack(words, count)))
            case Digits(width=width, count=count):
                result = MaskDigits(self._drawn(BITS, (width, packed_length(count))), self._next_number())
                self._digits[result.number] = result
            case Number(ring=ring, count=count, secret=np.ndarray() as digits):
                self._send_rest(ring, np.stack(plain_numbers(ring, digits, count)))
            case _:
                raise InvalidInputError(f"The dealer has not got what it needs for {request.text}.")
        answer: T = result
        return answer

    def _mask(self, request: Mask) -> MaskPieces:
        """All of the mask, once as large as the matrix, whoever has which part of it."""
        ring, regions = request.ring, request.regions
        joint = ring.empty(request.shape) if len(regions) != 1 else None
        for region in regions:
            if region.holder is None:
                drawn = self._drawn_in_place(ring, region.shape)
            else:
                drawn = self._streams[region.holder].ring(ring, region.shape)
            if joint is None:
                joint = drawn
            else:
                joint[region.place] = drawn
        pieces = () if joint is None else ((whole(request.shape), joint),)
        made = MaskPieces(pieces, self._next_number())
        self._masks[made.number] = made
        return made

    def _next_number(self) -> int:
        self._count += 1
        return self._count

    def _drawn_in_place(self, ring: Ring, shape: Shape) -> RingArray:
        """As ``_drawn``, for what is large: added up in chunks that stay in the cache."""
        total = self._streams[0].ring(ring, shape)
        if not total.flags.writeable:
            total = total.copy()
        flat, step = total.reshape(-1), CHUNK_BYTES // ring.element_bytes
        for stream in self._streams[1:]:
            for start in range(0, flat.size, step):
                piece = flat[start : start + step]
                piece[...] = ring.add(piece, stream.ring(ring, piece.shape))
        return total
