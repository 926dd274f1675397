"""A real target: what owners may put in, and what the parties hold against it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cofit import Party, run_local
from cofit.arithmetic import Z64, Z128, FixedPoint, IntegerRing
from cofit.errors import InvalidInputError
from cofit.learn.targets import NUMBER


def test_numbers_of_the_range_are_shared_as_they_are() -> None:
    given = np.array([-1.0, 0.25, 1.0])
    assert NUMBER.encoded(given).tolist() == given.tolist()
    assert NUMBER.ranged


@pytest.mark.parametrize("wrong", [1.001, -1.001, np.nan, np.inf])
def test_others_are_refused(wrong: float) -> None:
    with pytest.raises(InvalidInputError, match="from -1 to 1"):
        NUMBER.encoded(np.array([0.0, wrong]))


@pytest.mark.parametrize("ring", [Z64, Z128], ids=lambda ring: ring.name)
def test_what_is_public_of_them(ring: IntegerRing) -> None:
    facts = NUMBER.facts(5, ring)
    assert (facts.shape, facts.bound, facts.format.fraction_bits) == ((5,), 1.0, 12)


def test_the_check_tells_the_range_from_everything_else() -> None:
    given = np.array([-4097, -4096, 0, 4096, 4097, 1 << 40])

    def program(party: Party) -> list[Any]:
        targets = party.constant(given, FixedPoint(0)).loosened(1 << 41)
        return [party.open(one, reason="test") for one in NUMBER.not_negative(targets)]

    tests = next(iter(run_local(program, scheme="clear", parties=1).results.values()))
    passed = np.all([np.asarray(one) >= 0 for one in tests], axis=0)
    assert passed.tolist() == [False, True, True, True, False, False]
