"""Sizes at which something changes: the largest sums, many rows, single rows, nothing at all."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.arithmetic import Z64
from cofit.sharing.bit_forms import Outer
from cofit.sharing.repn.party import Repn
from cofit.sharing.shares import PlacedBits
from support.schemes import also_slow
from unit.sharing.repn.repn_runs import run, shared


@pytest.mark.parametrize("digits", [1, 2, 20])
@pytest.mark.parametrize("parties", also_slow([3, 5], 7))
def test_the_largest_numbers_are_right_whatever_their_masks(parties: int, digits: int) -> None:
    count = 200

    def program(p: Repn) -> list[int]:
        bits = p.boolean.constant(np.ones((digits, count), np.uint8))
        opened = p.open(p.from_numbers([PlacedBits(0, bits)], Z64))
        assert opened is not None
        return [int(value) for value in Z64.to_int(opened)]

    for found in run(program, parties):
        assert found == [(1 << digits) - 1] * count


def test_the_largest_number_of_seven_parties() -> None:
    test_the_largest_numbers_are_right_whatever_their_masks(7, 3)


def test_a_form_of_more_rows_than_a_kernel_takes_at_once() -> None:
    ones = np.ones((20, 70), np.uint8)

    def program(p: Repn) -> bool:
        a, b = (p.boolean.input(source, ones if p.rank == source else None, 20, 70) for source in (0, 1))
        opened = p.boolean.open(p.boolean.bilinear(a, b, Outer()))
        return opened is not None and opened.shape == (400, 70) and bool(opened.all())

    assert all(run(program))


def test_a_long_row_times_a_column() -> None:
    values = np.arange(20_000) % 7

    def program(p: Repn) -> int:
        a = shared(p, Z64, Z64.from_int(values))
        b = shared(p, Z64, Z64.from_int(values), 1)
        opened = p.open(p.matmul(a, b))
        assert opened is not None
        return int(Z64.to_int(opened))

    assert run(program) == [int((values * values).sum())] * 3


def test_forms_of_nothing() -> None:
    def program(p: Repn) -> tuple[int, ...]:
        none = p.boolean.constant(np.zeros((2, 0), np.uint8))
        product = p.boolean.bilinear(none, none, Outer())
        p.boolean.and_(none, none)
        opened = p.boolean.open(product)
        assert opened is not None
        return opened.shape

    assert run(program) == [(4, 0)] * 3
