"""The sum that ``from_numbers`` opens is a one-time pad: T + r modulo 2^K, with a mask r that its receivers lack.

All parties run with scripted draws; then again, with the receivers' missing part of the mask changed so that r grows by
a constant d. If r is a pad, the opened sum grows by d modulo 2^K in every element, and no other sum changes. A mask
that a receiver knows, that lacks a digit, or that masks another sum as well, does not do that. What else is sent is
judged as ever (``masks.unsettled``), with the opened sums in the place of the messages that carry their last part.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Generator, IntegerRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import pack, unpack
from cofit.sharing import Scheme, Share
from cofit.sharing.packed_bits import PackedBits
from cofit.sharing.rep3.party import Rep3
from cofit.sharing.rep4.party import Rep4
from cofit.sharing.shares import PlacedBits
from support.masks import constant, unsettled

COUNT = 64
Bits = npt.NDArray[np.uint8]
NUMBERS = ((0, 3), (1, 3))
"""Place and digits of the numbers of a sum; two sums are made one after the other, of one number and of two."""
STEP = 5


@dataclass
class Change:
    """What is done to the draws of one seed: one is shifted by a constant, or a mask of sums has some bits flipped."""

    shifted: int | None = None
    flipped: dict[int, Bits] = field(default_factory=dict)


class Scripted(Generator):
    """The stream of a fixed seed, changed. ``rowwise``: every row of a draw is a draw of its own (as in ``rep4``)."""

    __slots__ = ("change", "draws", "masking", "masks", "rowwise")

    def __init__(self, seed: int, change: Change, *, rowwise: bool = False) -> None:
        super().__init__(bytes([seed + 1] * 32))
        self.change, self.rowwise, self.draws, self.masks, self.masking = change, rowwise, 0, 0, False

    def ring(self, ring: Ring, shape: Shape) -> RingArray:
        drawn = super().ring(ring, shape).copy()
        count = shape[0] if self.rowwise else 1
        place = -1 if self.change.shifted is None else self.change.shifted - self.draws
        if 0 <= place < count:
            at = place if self.rowwise else ...
            drawn[at] = ring.add(drawn[at], constant(ring, shape[1:] if self.rowwise else shape))
        self.draws += count
        if self.masking:
            bits = self.change.flipped.get(self.masks)
            self.masks += 1
            drawn = drawn if bits is None else BITS.add(drawn, pack(bits).reshape(drawn.shape))
        return drawn


@dataclass
class Seen:
    """What one receiver saw: messages in order, and which of them are opened sums (digits, shape (K, 64))."""

    messages: list[RingArray] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    draws: int = 0

    def opened(self, digits: RingArray) -> None:
        self.sums.append(len(self.messages))
        self.messages.append(digits.copy())

    def numbers(self, place: int) -> list[int]:
        bits = unpack(self.messages[self.sums[place]], COUNT).astype(object)
        return [int(sum(int(bit) << j for j, bit in enumerate(column))) for column in bits.T]


def two_sums(s: Scheme, ring: IntegerRing) -> None:
    """The operation that is judged: T = 3 digits, and T = 3 digits + 2 times 3 digits."""
    one, other = (PlacedBits(place, PackedBits(shared(s, BITS, (rows, 1), place), COUNT)) for place, rows in NUMBERS)
    s.from_numbers([one], ring)
    s.from_numbers([one, other], ring)


def shared(s: Scheme, ring: Ring, shape: Shape, salt: int) -> Share:
    """A fixed sharing with random-looking summands, made without any message, at the parties of any scheme."""
    count = len(s.names)
    summands = [Generator(bytes([100 + salt + 7 * i] * 32)).ring(ring, shape) for i in range(count)]
    if isinstance(s, Rep3):
        return Share(ring, (summands[s.rank], summands[(s.rank + 1) % 3]))
    if isinstance(s, Rep4):
        return Share(ring, tuple(summands[j] for j in range(4) if j != s.rank))
    return Share(ring, (summands[s.rank % count],))


@functools.cache
def totals(parties: int) -> list[list[int]]:
    """T of either sum, from all summands of the numbers' digits."""
    numbers = []
    for place, rows in NUMBERS:
        words = [Generator(bytes([100 + place + 7 * i] * 32)).ring(BITS, (rows, 1)) for i in range(parties)]
        joint = functools.reduce(np.bitwise_xor, words)
        numbers.append([sum((int(joint[j, 0]) >> n & 1) << j for j in range(rows)) << place for n in range(COUNT)])
    return [numbers[0], [a + b for a, b in zip(*numbers, strict=True)]]


@contextmanager
def masking(*streams: object) -> Iterator[None]:
    """Inside, draws are the masks of numbers."""
    scripted = [stream for stream in streams if isinstance(stream, Scripted)]
    for stream in scripted:
        stream.masking = True
    yield
    for stream in scripted:
        stream.masking = False


WIDTHS = (4, 6)
"""K of either sum: 7 has 3 digits, 7 + 2 * 7 = 21 has 5."""


def digits_of(numbers: Sequence[int], width: int) -> Bits:
    return np.array([[n >> j & 1 for n in numbers] for j in range(width)], dtype=np.uint8)


def exposed(run: Callable[[Change], Seen], totals: Sequence[Sequence[int]]) -> list[str]:
    """What is not proved to be hidden from a receiver; ``run``: what it sees, with a change of the draws it lacks."""
    plain = run(Change())
    problems = []
    shifted = [run(Change(shifted=call)).messages for call in range(plain.draws)]
    left = [i for i in unsettled(plain.messages, shifted) if i not in plain.sums]
    if left:
        problems.append(f"messages {left}")
    for place, opened in enumerate(plain.sums):
        width = len(plain.messages[opened])
        masks = [(c - t) % (1 << width) for c, t in zip(plain.numbers(place), totals[place], strict=True)]
        moved = [r ^ ((r + STEP) % (1 << width)) for r in masks]
        changed = run(Change(flipped={place: digits_of(moved, width)}))
        for other in range(len(plain.sums)):
            grown = STEP if other == place else 0
            size = 1 << len(plain.messages[plain.sums[other]])
            if changed.numbers(other) != [(c + grown) % size for c in plain.numbers(other)]:
                problems.append(f"sum {other}, masked by {place}")
    return problems
