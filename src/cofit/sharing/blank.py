"""Schemes without values: what a meter and a dealer have in common.

Control flow, shapes and bounds of a party program are public, so the program runs as well on shares that hold nothing.
A share here is an array of zeros that all lie in one place (strides of zero): a million rows take no memory, and a
local operation only works out the shape of its result. What sends messages is left to the subclasses.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cofit.arithmetic import IntegerRing, Place, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length
from cofit.arithmetic.power_of_two import shifting
from cofit.arithmetic.ring import broadcast_shape, matmul_shape
from cofit.errors import InvalidInputError
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.boolean import Rows
from cofit.sharing.costs import Costs
from cofit.sharing.inputs import Inputs, Room, Values
from cofit.sharing.operands import check_reduction, common_ring
from cofit.sharing.packed_bits import PackedBits, PackedBoolean, common_count, folded_count
from cofit.sharing.regions import KnownShare, joined_regions
from cofit.sharing.scheme import Scheme
from cofit.sharing.shares import BitShare, Component, ComponentFacts, DealtShare, Share
from cofit.sharing.spec import Spec
from cofit.transport import Mesh

_ZERO = bytes(16)


@dataclass(frozen=True, slots=True, repr=False)
class _Dealt:
    share: Share
    holder: int | None = None

    def expand(self) -> Share:
        """A new one each time, as with values: the product of a share with itself is another operation."""
        return Share(self.share.ring, self.share.parts)


class _NoInputs(Inputs):
    """How a member that holds no shares takes inputs: it does not."""

    def layout(self, ring: Ring, shape: Shape) -> tuple[ComponentFacts, ...]:
        raise _without_values()

    def components(self, ring: Ring, values: Values, seed: bytes) -> tuple[Component, ...]:
        raise _without_values()

    def assemble(
        self, ring: Ring, shape: Shape, rank: int, received: Mapping[str, memoryview], offset: int = 0
    ) -> DealtShare:
        """Whatever was dealt, nothing of it came here."""
        return _Dealt(Share(ring, (nothing(ring, shape),)))

    def known(self, ring: Ring, shape: Shape, rank: int, holder: int, values: RingArray | None) -> DealtShare:
        """The values are the holder's, and nothing of them came here."""
        if values is not None:
            raise _without_values()
        return _Dealt(Share(ring, (nothing(ring, shape),)), holder)


class Blank(Scheme):
    """A member of a run that holds no shares."""

    holds_values = False
    _constant_part = 0

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self.boolean = BlankBoolean(self, self._random_words, self._bilinear_words)

    @classmethod
    def costs(cls, spec: Spec) -> Costs:
        raise InvalidInputError("Only a scheme with values has costs.")

    @property
    def _part_count(self) -> int:
        return 1

    def _blank(self, ring: Ring, shape: Shape) -> Share:
        """Return a result that takes no memory."""
        return Share(ring, (nothing(ring, shape),))

    # --- inputs ------------------------------------------------------------------------------------------

    @classmethod
    def inputs(cls, spec: Spec) -> Inputs:
        return _NoInputs()

    def receive_input(self, owner: str, ring: Ring, shape: Shape, room: Room | None = None) -> DealtShare:
        """Whatever was dealt, nothing of it came here."""
        return _Dealt(self._blank(ring, shape))

    def expand_joined(
        self,
        ring: Ring,
        shape: Shape,
        pieces: Iterable[tuple[DealtShare, Place]],
        constant: tuple[RingArray, Place] | None = None,
    ) -> Share:
        """Only the regions that parties know are worked out."""
        holders = [(place, dealt.holder if isinstance(dealt, _Dealt) else None) for dealt, place in pieces]
        regions = joined_regions(shape, holders, None if constant is None else constant[1])
        share = self._blank(ring, shape)
        return share if regions is None else KnownShare(ring, share.parts, regions)

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
        return self._blank(ring, matmul_shape(a, b))

    def sum(self, a: Share, axis: int | None) -> Share:
        axes = range(len(a.shape)) if axis is None else (axis % len(a.shape),)
        return self._blank(a.ring, tuple(n for i, n in enumerate(a.shape) if i not in axes))

    def select(self, a: Share, index: Any) -> Share:
        """A list of places is looked up on the first axis alone: NumPy would copy what it selects."""
        touched = 1 if isinstance(index, list) else len(a.shape)
        selected = np.asarray(nothing(a.ring, a.shape[:touched])[index])
        return self._blank(a.ring, selected.shape + a.shape[touched:])

    def concatenate(self, pieces: Sequence[Share], axis: int) -> Share:
        """As NumPy joins shapes: it would copy the pieces."""
        first = pieces[0].shape
        axis = range(len(first))[axis]
        if any(p.shape[:axis] + p.shape[axis + 1 :] != first[:axis] + first[axis + 1 :] for p in pieces):
            raise ValueError("The shapes differ beside the axis.")
        length = sum(piece.shape[axis] for piece in pieces)
        return self._blank(pieces[0].ring, (*first[:axis], length, *first[axis + 1 :]))

    def narrow(self, a: Share, ring: IntegerRing) -> Share:
        check_reduction(a.ring, ring)
        return self._blank(ring, a.shape)

    def high_part(self, a: Share, shift: int) -> Share:
        shifting(a.ring, shift)
        return self._blank(a.ring, a.shape)

    # --- bits --------------------------------------------------------------------------------------------

    def _random_words(self, shape: Shape) -> Share:
        return self._blank(BITS, shape)

    @abstractmethod
    def _bilinear_words(self, a: Share, b: Share, form: BitForm, shape: Shape) -> Share: ...


class BlankBoolean(PackedBoolean):
    """Shared bits without memory: only shapes are worked out."""

    def not_(self, a: BitShare) -> PackedBits:
        return blank_bits(a.rows, a.count)

    def select_rows(self, a: BitShare, rows: Rows) -> PackedBits:
        return blank_bits(_selected(a, rows), a.count)

    def fold(self, a: BitShare, groups: int) -> PackedBits:
        return blank_bits(a.rows * groups, folded_count(a, groups))

    def stack_rows(self, pieces: Sequence[BitShare]) -> PackedBits:
        return blank_bits(sum(piece.rows for piece in pieces), common_count(*pieces))

    def gather_rows(self, pieces: Sequence[tuple[BitShare, Rows]]) -> PackedBits:
        return blank_bits(sum(_selected(*piece) for piece in pieces), common_count(*(bits for bits, _ in pieces)))


def blank_bits(rows: int, count: int) -> PackedBits:
    """Return shared bits that take no memory."""
    return PackedBits(Share(BITS, (nothing(BITS, (rows, packed_length(count))),)), count)


def _selected(bits: BitShare, rows: Rows) -> int:
    return len(range(bits.rows)[rows]) if isinstance(rows, slice) else len(rows)


def nothing(ring: Ring, shape: Shape) -> RingArray:
    """Return zeros that all lie in one place, not to be written to."""
    return np.ndarray(shape, ring.dtype, _ZERO, strides=(0,) * len(shape))


def _without_values() -> InvalidInputError:
    return InvalidInputError("A member that holds no shares takes no values: there is nothing to deal.")
