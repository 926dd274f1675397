"""Truncation is the floor or one more, for every shift and up to the ends of the range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, PowerOfTwoRing
from cofit.sharing.repn.party import Repn
from cofit.sharing.repn.truncation import low_width, top_width
from support.schemes import also_slow
from unit.sharing.repn.repn_runs import plain, run, shared

SHIFTS = {Z64: range(1, 63), Z128: (1, 2, 5, 63, 64, 65, 125, 126)}


def values(ring: PowerOfTwoRing, shift: int) -> list[int]:
    """The ends of the range, and what lies about multiples of the divisor."""
    most, step = 1 << ring.value_bits, 1 << shift
    around = [k * step + d for k in (-2, -1, 0, 1, 2) for d in (-1, 0, 1)]
    ends = [-most, -most + 1, most - 1, most - 2, most // 2, -(most // 2), most // 3]
    return [v for v in (*around, *ends) if -most <= v < most]


def truncated(ring: PowerOfTwoRing, shift: int, parties: int, salt: int = 0) -> tuple[list[int], list[int]]:
    """What values become, and their floors."""
    wanted = values(ring, shift)
    array = ring.from_int(np.array(wanted, dtype=object))
    parts = run(lambda p: p.truncate(shared(p, ring, array, salt), shift).parts, parties)
    found: Any = ring.to_int(plain(ring, parts, parties))
    return [int(v) for v in found], [v >> shift for v in wanted]


def errors(ring: PowerOfTwoRing, shifts: Any, parties: int) -> set[int]:
    off: set[int] = set()
    for shift in shifts:
        found, floors = truncated(ring, shift, parties, shift)
        off |= {a - b for a, b in zip(found, floors, strict=True)}
    return off


@pytest.mark.parametrize("parties", also_slow([3], 5, 7))
def test_every_shift(parties: int) -> None:
    assert errors(Z64, SHIFTS[Z64], parties) == {0, 1}


@pytest.mark.parametrize("parties", also_slow([3, 5], 7))
def test_shifts_of_long_elements_and_of_five(parties: int) -> None:
    assert errors(Z128, SHIFTS[Z128], parties) == {0, 1}
    assert errors(Z64, (1, 2, 3, 4, 5, 31, 61, 62), parties) <= {0, 1}


@pytest.mark.parametrize("parties", also_slow([3, 5], 7))
def test_multiples_of_the_divisor_that_fit_are_off_by_a_carry_at_most(parties: int) -> None:
    """Products that are truncated with something added: as a whole."""
    a, b, c = (np.array([most, -most, 3, -5, 0]) for most in (1 << 30, (1 << 30) - 1, 1 << 40))

    def program(p: Repn) -> Any:
        x, y, z = (shared(p, Z64, Z64.from_int(v), i) for i, v in enumerate((a, b, c)))
        return p.mul(x, y, 7, z).parts

    found = Z64.to_int(plain(Z64, run(program, parties), parties))
    assert set(found - ((a * b + c) >> 7)) <= {0, 1}


def test_widths_of_digits() -> None:
    for groups in (2, 9, 34):
        low, top = low_width(groups), top_width(groups)
        assert groups <= 1 << low < 2 * groups
        assert groups * (1 << 64 - top) + (1 << 63) <= 1 << 64
