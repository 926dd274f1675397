"""A scheme without values: it runs a party program and counts what the program would cost with another scheme.

Control flow, shapes and bounds of a party program are public, so the program runs as well on shares that hold nothing.
A share here is an array of zeros that all lie in one place (strides of zero): a million rows take no memory, and every
operation only works out the shape of its result and adds to the tally what the target scheme publishes for it
(``Scheme.costs``). Taking bits runs the same adder as the schemes do, so its ANDs are counted, not estimated.

Rounds are added up operation by operation, each with those of the party that waits most. The counters of a real run say
the same at that party if it is the same one throughout, as in programs whose values come from owners and from draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from cofit.arithmetic import PowerOfTwoRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length
from cofit.arithmetic.ring import broadcast_shape, matmul_shape
from cofit.errors import InvalidInputError
from cofit.sharing.adder import add_from_signals, top_bit_from_signals
from cofit.sharing.costs import Cost, Costs
from cofit.sharing.scheme import Bytes, Place, Scheme, SchemeInfo, common_count, common_ring
from cofit.sharing.shares import BitShare, Component, ComponentFacts, DealtShare, Share
from cofit.transport import Terms, memory_meshes

_ZERO = bytes(16)


@dataclass(frozen=True)
class Tally:
    """What a program did so far, or in a part of it.

    ``bytes``: payload that owners and parties together send. ``operations``: results computed, at each party.
    ``multiply_adds`` and ``wide_multiply_adds``: in matrix and inner products, at each party, over rings of up to 64
    bits and beyond.
    """

    rounds: int = 0
    bytes: int = 0
    operations: int = 0
    multiply_adds: int = 0
    wide_multiply_adds: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: Tally) -> Tally:
        return Tally(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __mul__(self, times: int) -> Tally:
        return Tally(*(a * times for a in astuple(self)))


@dataclass(frozen=True, slots=True, repr=False)
class _Dealt:
    share: Share

    def expand(self) -> Share:
        return self.share


class Meter(Scheme):
    """The party of rank 0 of a run that does not take place; ``target`` is the scheme whose costs it counts."""

    info = SchemeInfo(
        name="meter",
        parties=(1, None),
        default_parties=3,
        adversary="none: there are no values",
        threshold="0",
        assumptions="for planning only",
        secret=False,
    )
    _constant_part = 0

    def __init__(self, target: type[Scheme], parties: int | None = None) -> None:
        count = target.info.default_parties if parties is None else parties
        names = [f"party-{rank}" for rank in range(count)]
        terms = Terms(bytes(16), bytes(32), self.info.name)
        super().__init__(memory_meshes(names[:1], terms)[names[0]], names)
        self._costs = target.costs(count)
        self._tally = list(astuple(Tally()))
        self._tallies = {"": self._tally}

    @property
    def tally(self) -> Tally:
        """What was counted so far."""
        return sum((self.tally_of(label) for label in self._tallies), Tally())

    def tally_of(self, label: str) -> Tally:
        """Return what was counted so far under an outermost label, or under none ('')."""
        return Tally(*self._tallies.get(label, ()))

    @contextmanager
    def label(self, name: str) -> Iterator[None]:
        outer = self._tally
        with super().label(name):
            self._tally = self._tallies.setdefault(self._label.split("/")[0], list(astuple(Tally())))
            try:
                yield
            finally:
                self._tally = outer

    @classmethod
    def costs(cls, parties: int) -> Costs:
        raise InvalidInputError("A meter has no costs of its own: it counts those of another scheme.")

    @property
    def _part_count(self) -> int:
        return 1

    # --- counting ----------------------------------------------------------------------------------------

    def _blank(self, ring: Ring, shape: Shape) -> Share:
        """Return a result that takes no memory, and count it as one operation."""
        self._tally[2] += 1
        return Share(ring, (_nothing(ring, shape),))

    def _blank_bits(self, rows: int, count: int) -> BitShare:
        return BitShare(self._blank(BITS, (rows, packed_length(count))), count)

    def _send(self, rounds: int, size: int) -> None:
        self._tally[0] += rounds
        self._tally[1] += size

    def _count(self, cost: Cost, ring: Ring, shape: Shape) -> Share:
        """Count an operation with messages, and return its result."""
        self._send(cost.rounds, cost.elements * math.prod(shape) * ring.element_bytes + cost.fixed_bytes)
        return self._blank(ring, shape)

    def _count_products(self, ring: Ring, multiply_adds: int) -> None:
        self._tally[3 if ring.bits <= 64 else 4] += multiply_adds

    # --- messages, inputs and openings -------------------------------------------------------------------

    def announce(self, label: str, message: bytes) -> tuple[bytes, ...]:
        parties, echo = len(self.names), self._costs.echo
        with self.label(label):
            self._send(min(parties - 1, 1), parties * (parties - 1) * len(message))
            self._send(echo.rounds, echo.fixed_bytes)
        return (message,) * parties

    def setup(self) -> None:
        self._send(self._costs.setup_rounds, self._costs.setup_bytes)

    def verify(self) -> None:
        """Nothing to check."""

    @classmethod
    def deal(cls, ring: Ring, values: RingArray, parties: int) -> Iterator[Mapping[int, Bytes]]:
        raise _without_values()

    @classmethod
    def layout(cls, ring: Ring, shape: Shape, parties: int) -> tuple[ComponentFacts, ...]:
        raise _without_values()

    @classmethod
    def components(cls, ring: Ring, values: RingArray, parties: int, seed: bytes) -> tuple[Component, ...]:
        raise _without_values()

    @classmethod
    def assemble(cls, ring: Ring, shape: Shape, rank: int, received: Mapping[str, memoryview]) -> DealtShare:
        raise _without_values()

    def refresh(self, share: Share) -> Share:
        return self._count(self._costs.refresh, share.ring, share.shape)

    def receive_input(self, owner: str, ring: Ring, shape: Shape) -> DealtShare:
        dealing, count = self._costs.dealing, math.prod(shape)
        self._send(dealing.rounds(ring, count), dealing.bytes(ring, count))
        return _Dealt(self._blank(ring, shape))

    def expand_joined(
        self,
        ring: Ring,
        shape: Shape,
        pieces: Iterable[tuple[DealtShare, Place]],
        constant: tuple[RingArray, Place] | None = None,
    ) -> Share:
        return self._expand_joined(ring, shape, pieces)

    def _expand_joined(self, ring: Ring, shape: Shape, pieces: Iterable[tuple[DealtShare, Place]]) -> Share:
        for _ in pieces:
            pass
        return self._blank(ring, shape)

    def input(self, source: int, values: RingArray | None, ring: Ring, shape: Shape) -> Share:
        return self._count(self._costs.input, ring, shape)

    def open(self, share: Share, to: Sequence[int] | None = None) -> RingArray | None:
        receivers = range(len(self.names)) if to is None else to
        cost, times = self._costs.open, len(receivers)
        every = Cost(cost.rounds, cost.elements * times, cost.fixed_bytes * times)
        opened = self._count(every, share.ring, share.shape)
        return opened.parts[0] if self.rank in receivers else None

    # --- local, linear -----------------------------------------------------------------------------------

    def constant(self, ring: Ring, values: RingArray) -> Share:
        return self._blank(ring, ring.check(values).shape)

    def add(self, a: Share, b: Share) -> Share:
        return self._blank(common_ring(a, b), broadcast_shape(a.shape, b.shape))

    def sub(self, a: Share, b: Share) -> Share:
        return self.add(a, b)

    def neg(self, a: Share) -> Share:
        return self._blank(a.ring, a.shape)

    def add_public(self, a: Share, values: RingArray) -> Share:
        return self._blank(a.ring, broadcast_shape(a.shape, values.shape))

    def mul_public(self, a: Share, values: RingArray) -> Share:
        return self.add_public(a, values)

    def matmul_public(self, a: Share, values: RingArray) -> Share:
        return self._matrix_product(a.ring, a.shape, values.shape)

    def rmatmul_public(self, values: RingArray, a: Share) -> Share:
        return self._matrix_product(a.ring, values.shape, a.shape)

    def _matrix_product(self, ring: Ring, a: Shape, b: Shape) -> Share:
        shape = matmul_shape(a, b)
        self._count_products(ring, self._costs.public_terms * math.prod(shape) * a[-1])
        return self._blank(ring, shape)

    def sum(self, a: Share, axis: int | None) -> Share:
        axes = range(len(a.shape)) if axis is None else (axis % len(a.shape),)
        return self._blank(a.ring, tuple(n for i, n in enumerate(a.shape) if i not in axes))

    def select(self, a: Share, index: Any) -> Share:
        """A list of places is looked up on the first axis alone: NumPy would copy what it selects."""
        touched = 1 if isinstance(index, list) else len(a.shape)
        selected = np.asarray(_nothing(a.ring, a.shape[:touched])[index])
        return self._blank(a.ring, selected.shape + a.shape[touched:])

    def concatenate(self, pieces: Sequence[Share], axis: int) -> Share:
        """As NumPy joins shapes: it would copy the pieces."""
        first = pieces[0].shape
        axis = range(len(first))[axis]
        if any(p.shape[:axis] + p.shape[axis + 1 :] != first[:axis] + first[axis + 1 :] for p in pieces):
            raise ValueError("The shapes differ beside the axis.")
        length = sum(piece.shape[axis] for piece in pieces)
        return self._blank(pieces[0].ring, (*first[:axis], length, *first[axis + 1 :]))

    def narrow(self, a: Share, ring: PowerOfTwoRing) -> Share:
        return self._blank(ring, a.shape)

    # --- products ----------------------------------------------------------------------------------------

    def _mul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        return self._product(ring, shape, shift)

    def _matmul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        self._count_products(ring, self._costs.product_terms * math.prod(shape) * a.shape[-1])
        return self._product(ring, shape, shift)

    def _inner(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int) -> Share:
        self._count_products(ring, self._costs.inner_terms * math.prod(a.shape))
        return self._product(ring, shape, shift)

    def _product(self, ring: Ring, shape: Shape, shift: int) -> Share:
        return self._count(self._costs.truncated_product if shift else self._costs.product, ring, shape)

    def _truncate(self, a: Share, shift: int) -> Share:
        return self._count(self._costs.truncation, a.ring, a.shape)

    # --- bits --------------------------------------------------------------------------------------------

    def random_bits(self, rows: int, count: int) -> BitShare:
        return self._blank_bits(rows, count)

    def to_bits(self, a: Share) -> BitShare:
        return self._bits_of(a, a.ring.bits, add_from_signals)

    def sign_bits(self, a: Share) -> BitShare:
        return self._bits_of(a, 1, top_bit_from_signals)

    def _bits_of(self, a: Share, rows: int, adder: Callable[[Scheme, BitShare, BitShare], BitShare]) -> BitShare:
        if not isinstance(a.ring, PowerOfTwoRing):
            raise InvalidInputError(f"Elements of {a.ring.name} have no bits to take.")
        count, signals = math.prod(a.shape), self._costs.carry_signals
        if signals is None:
            return self._blank_bits(rows, count)
        planes = BitShare(self._count(signals, BITS, (a.ring.bits, packed_length(count))), count)
        return adder(self, planes, planes)

    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        return self._count(self._costs.bit_to_ring, ring, (bits.rows, bits.count))

    def not_(self, a: BitShare) -> BitShare:
        return self._blank_bits(a.rows, a.count)

    def select_rows(self, a: BitShare, rows: slice | Sequence[int]) -> BitShare:
        selected = len(range(a.rows)[rows]) if isinstance(rows, slice) else len(rows)
        return self._blank_bits(selected, a.count)

    def stack_rows(self, pieces: Sequence[BitShare]) -> BitShare:
        return self._blank_bits(sum(piece.rows for piece in pieces), common_count(*pieces))


def _without_values() -> InvalidInputError:
    return InvalidInputError("A meter takes no values: there is nothing to deal.")


def _nothing(ring: Ring, shape: Shape) -> RingArray:
    """Return zeros that all lie in one place, not to be written to."""
    return np.ndarray(shape, ring.dtype, _ZERO, strides=(0,) * len(shape))
