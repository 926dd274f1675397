"""Every message that t parties of ``repn`` see together is hidden by draws that they all lack (``repn_masks.py``).

Of openings under masks of binary digits (``from_numbers``) the mask is not added bit by bit: ``test_secrecy.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, Generator, PowerOfTwoRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.sharing.group_streams import Group
from cofit.sharing.packed_bits import PackedBits
from cofit.sharing.repn.party import Repn
from cofit.sharing.shares import Share
from cofit.sharing.steps import Protocol
from support.coalitions import N
from support.forms import FORMS
from support.schemes import also_slow
from unit.sharing.repn.repn_masks import recorded
from unit.sharing.repn.repn_runs import drawn, shared

Operation = Callable[[Repn, PowerOfTwoRing], object]


def numbers(p: Repn, ring: PowerOfTwoRing, salt: int = 0, shape: Shape = (N,)) -> Share:
    return shared(p, ring, ring.from_int(np.arange(N).reshape(shape) * 1000 - 31000 + salt), salt)


def bits(p: Repn, rows: int, salt: int = 0) -> PackedBits:
    return PackedBits(shared(p, BITS, drawn(BITS, (rows, 1), f"bits {salt}"), salt), N)


def inputs(p: Repn, ring: PowerOfTwoRing) -> None:
    for source in range(len(p.names)):
        p.input(source, ring.from_int(np.full(N, 7)) if p.rank == source else None, ring, (N,))


OPERATIONS: dict[str, Operation] = {
    "inputs": inputs,
    "product": lambda p, r: p.mul(numbers(p, r), numbers(p, r, 1)),
    "two products": lambda p, r: p.mul(p.mul(numbers(p, r), numbers(p, r, 1)), numbers(p, r, 2)),
    "truncation": lambda p, r: p.truncate(numbers(p, r), 9),
    "truncation by one digit": lambda p, r: p.truncate(numbers(p, r), 1),
    "product and truncation": lambda p, r: p.mul(numbers(p, r), numbers(p, r, 1), 9),
    "two truncations": lambda p, r: p.truncate(p.truncate(numbers(p, r), 9), 3),
    "matrix product": lambda p, r: p.matmul(numbers(p, r, 0, (8, 8)), numbers(p, r, 1, (8, 8)), 5),
    "fresh sharing": lambda p, r: p.refresh(numbers(p, r)),
    "and": lambda p, r: p.boolean.and_(bits(p, 2), bits(p, 2, 1)),
    "bits to elements": lambda p, r: p.from_bits(bits(p, 2), r),
    "signs": lambda p, r: p.sign_bits(numbers(p, r), bits=9),
    "elements to bits": lambda p, r: p.to_bits(numbers(p, r)),
    **{
        f"form: {name}": lambda p, r, f=f: p.boolean.bilinear(bits(p, f[1]), bits(p, f[2], 1), f[0])  # type: ignore[misc]
        for name, f in FORMS.items()
    },
}
LONG = ("elements to bits", "two truncations", "signs", "matrix product")


def ring_for(operation: str) -> PowerOfTwoRing:
    """Both rings have their turn; the messages are the same."""
    return (Z64, Z128)[sorted(OPERATIONS).index(operation) % 2]


@pytest.mark.parametrize(
    ("parties", "operation"),
    also_slow(
        [(n, op) for n in (3, 5) for op in OPERATIONS if n == 3 or op not in LONG],
        *((n, op) for n in (5, 7) for op in OPERATIONS if n == 7 or op in LONG),
    ),
)
def test_every_message_to_a_coalition_is_masked_by_a_draw_of_its_own(parties: int, operation: str) -> None:
    ring = ring_for(operation)
    found = recorded(Repn, parties, lambda p: OPERATIONS[operation](p, ring))
    assert found.all_exposed() == {}
    assert any(found.view(found.plain, (rank,)) for rank in range(parties)), "somebody sees something"


# --- broken versions that the search must notice ---------------------------------------------------------


class Zeros(Generator):
    """Draws that are none."""

    __slots__ = ()

    def ring(self, ring: Ring, shape: Shape) -> RingArray:
        return ring.zeros(shape)


class WithoutDraws(Repn):
    """What is dealt goes to the dealer's group as it is."""

    def _drawn(self, groups: Any, ring: Ring, shape: Shape) -> dict[Group, RingArray]:
        return {group: ring.zeros(shape) for group in groups if self.rank in group}


class WithoutPairs(Repn):
    """What openers are told is not hidden singly."""

    def _to_openers(self, ring: Ring, own: RingArray) -> Protocol[RingArray | None]:
        pairs, self._pairs = self._pairs, dict.fromkeys(self._pairs, Zeros(bytes(32)))
        protocol = super()._to_openers(ring, own)
        messages = next(protocol)
        self._pairs = pairs
        yield messages
        return (yield from protocol)


class WithoutMasks(Repn):
    """What is opened is under no mask."""

    def _masks(self, ring: Ring, shape: Shape) -> dict[Group, RingArray]:
        return {group: ring.zeros(shape) for group in super()._masks(ring, shape)}


class OneMask(Repn):
    """The same mask for every opening."""

    def _masks(self, ring: Ring, shape: Shape) -> dict[Group, RingArray]:
        made: dict[Group, RingArray] = vars(self).setdefault("made", super()._masks(ring, shape))
        return made


@pytest.mark.parametrize("parties", [3, 5])
@pytest.mark.parametrize(
    ("kind", "operation"),
    [
        (WithoutDraws, "product"),
        (WithoutDraws, "inputs"),
        (WithoutDraws, "fresh sharing"),
        (WithoutPairs, "truncation"),
        (WithoutPairs, "bits to elements"),
        (WithoutMasks, "truncation"),
        (OneMask, "two truncations"),
    ],
)
def test_what_is_not_hidden_is_found(kind: type[Repn], operation: str, parties: int) -> None:
    assert recorded(kind, parties, lambda p: OPERATIONS[operation](p, Z64)).all_exposed() != {}
