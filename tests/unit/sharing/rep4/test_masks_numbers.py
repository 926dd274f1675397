"""Ring elements from the digits of numbers with ``rep4``: what is sent is masked, and who sees a sum lacks its mask.

A receiver lacks one key. Parties 0 and 1 know the mask: they see no sum. How that is shown: see ``support.numbers``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, IntegerRing, PowerOfTwoRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.sharing import BitShare, Scheme, Share
from cofit.sharing.packed_bits import words_of
from cofit.sharing.rep4.joint import Joint
from cofit.sharing.rep4.party import Rep4
from support.numbers import WIDTHS, Change, Scripted, Seen, exposed, masking, totals, two_sums
from support.runs import run_scheme


def seen_with_rep4(kind: type[Rep4], ring: PowerOfTwoRing, receiver: int, change: Change) -> Seen:
    seen = Seen()

    class Instrumented(kind):  # type: ignore[misc, valid-type]
        masked: tuple[RingArray, ...] = ()

        def setup(self) -> None:
            super().setup()
            for k in list(self._keys):
                self._keys[k] = Scripted(k, change if k == receiver else Change(), rowwise=True)

        def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], RingArray]:
            with masking(*self._keys.values()):
                made: tuple[list[BitShare], RingArray] = super()._number_masks(width, count, ring)
            return made

        def _unmasked(self, masked: BitShare, kept: RingArray, ring: PowerOfTwoRing) -> Share:
            self.masked = words_of(masked).parts
            made: Share = super()._unmasked(masked, kept, ring)
            self.masked = ()
            return made

        def _check(self, operation: str, items: Iterable[tuple[int, Joint, RingArray, bytes]]) -> None:
            items = list(items)
            super()._check(operation, items)
            for _, joint, data, _ in items if self.rank == receiver else []:
                if self.masked and operation == "open":  # the last part of the sum
                    part = data.copy().view(np.uint64).reshape(self.masked[0].shape)
                    seen.opened(functools.reduce(BITS.add, (*self.masked, part)))
                    self.masked = ()
                else:
                    seen.messages.extend(data.copy().view(self.in_use.dtype).reshape(joint.arrays, -1))

        def _jointly(self, operation: str, ring: Ring, *rest: Any) -> dict[int, RingArray]:
            self.in_use = ring
            received: dict[int, RingArray] = super()._jointly(operation, ring, *rest)
            return received

    def program(s: Scheme) -> None:
        assert isinstance(s, Rep4)
        two_sums(s, ring)
        if s.rank == (receiver + 1) % 4:
            seen.draws = s._keys[receiver].draws  # type: ignore[attr-defined]

    run_scheme(Instrumented, program)
    return seen


def exposed_with_rep4(kind: type[Rep4], ring: PowerOfTwoRing, receiver: int) -> list[str]:
    return exposed(functools.partial(seen_with_rep4, kind, ring, receiver), totals(4))


@pytest.mark.parametrize("ring", [Z64, pytest.param(Z128, marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("receiver", range(4))
def test_rep4_hides_all_that_is_sent(ring: PowerOfTwoRing, receiver: int) -> None:
    seen = seen_with_rep4(Rep4, ring, receiver, Change())
    assert tuple(len(seen.messages[i]) for i in seen.sums) == ((), WIDTHS)[receiver > 1], "who sees the sums"
    assert exposed_with_rep4(Rep4, ring, receiver) == []


def broken_rep4(key: int, number: int, what: str) -> type[Rep4]:
    """While sums are masked and unmasked, one row that is drawn from a key is zero, or the one before it again."""

    class Broken(Rep4):
        inside = False
        rows = 0
        before: Any = None

        def _product_and_sum(self, *arguments: Any, **more: Any) -> tuple[Share, Share]:
            self.inside, self.rows = True, 0
            try:
                return super()._product_and_sum(*arguments, **more)
            finally:
                self.inside = False

        def _draw(self, key_: int, ring: Ring, shape: Shape, count: int) -> RingArray:
            drawn = super()._draw(key_, ring, shape, count)
            if self.inside and key_ == key and len(drawn):
                for row in range(count):
                    if self.rows == number:
                        drawn = drawn.copy()
                        drawn[row] = ring.zeros(shape) if what == "zero" else self.before
                    self.before, self.rows = drawn[row], self.rows + 1
            return drawn

    return Broken


# rows that are drawn from K_0 to K_3: masks of x and y first, then those of the product
ROWS = (2, 1, 4, 3)
BROKEN_REP4 = [
    pytest.param(key, row, what, marks=[pytest.mark.slow] if row != (key > 0) and (key, row) != (0, 0) else [])
    for key, count in enumerate(ROWS)
    for row in range(count)
    for what in (("zero", "repeat") if row else ("zero",))
]


@pytest.mark.parametrize(("key", "row", "what"), BROKEN_REP4)
def test_rep4_without_one_of_its_masks_is_noticed(key: int, row: int, what: str) -> None:
    assert exposed_with_rep4(broken_rep4(key, row, what), Z64, key)


class OneKey(Rep4):
    """Both parts of the mask are drawn from K_2, which party 3 has."""

    def _draw(self, key: int, ring: Ring, shape: Shape, count: int) -> RingArray:
        if getattr(self, "masking", False) and key == 3:
            return super()._draw(key, ring, shape, count) * np.uint64(0)
        return super()._draw(key, ring, shape, count)

    def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], RingArray]:
        self.masking = True
        try:
            return super()._number_masks(width, count, ring)
        finally:
            self.masking = False


def test_rep4_with_a_mask_that_a_receiver_knows_is_noticed() -> None:
    assert exposed_with_rep4(OneKey, Z64, 2) == []
    assert exposed_with_rep4(OneKey, Z64, 3)
