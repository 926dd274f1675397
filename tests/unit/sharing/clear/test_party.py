"""The cleartext twin: exact, in the open, and it says so."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, PowerOfTwoRing, RingArray
from cofit.sharing import Scheme, scheme_named
from support.runs import run_scheme

VALUES = np.array([[0, 1, -1], [7, -8, 2**40]], dtype=object)


@pytest.mark.parametrize("shift", [0, 1, 3, 41])
@pytest.mark.parametrize("chosen", [Z64, Z128], ids=str)
def test_truncation_is_the_floor(chosen: PowerOfTwoRing, shift: int) -> None:
    def program(s: Scheme) -> RingArray | None:
        return s.open(s.truncate(s.constant(chosen, chosen.from_int(VALUES)), shift))

    for opened in run_scheme("clear", program).results:
        assert opened is not None
        np.testing.assert_array_equal(chosen.to_int(opened).astype(object), VALUES >> shift)


def test_a_share_is_the_value_at_every_party() -> None:
    def program(s: Scheme) -> RingArray:
        return s.input(1, Z64.from_int(VALUES) if s.rank == 1 else None, Z64, VALUES.shape).parts[0]

    for part in run_scheme("clear", program, parties=2).results:
        np.testing.assert_array_equal(Z64.to_int(part).astype(object), VALUES)


def test_it_says_that_it_protects_nothing() -> None:
    info = scheme_named("clear").info
    assert not info.secret
    assert info.adversary.startswith("none")


def test_opening_sends_nothing() -> None:
    run = run_scheme("clear", lambda s: s.open(s.constant(Z64, Z64.zeros((3,)))) is not None)
    assert run.results == [True] * 3
    assert run.everything().bytes_sent == 0
