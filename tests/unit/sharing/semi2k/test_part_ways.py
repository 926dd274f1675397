"""``semi2k``: programs that part ways are noticed."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from cofit import Party, run_local
from cofit.arithmetic import Z64, FixedPoint, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.errors import PartyFailedError, TransportError
from cofit.sharing import Scheme, Share
from cofit.sharing.bit_forms import Each, Lookup, Spread
from cofit.sharing.correlations import Digits
from cofit.sharing.semi2k.party import Semi2k
from cofit.sharing.shares import PlacedBits
from support.runs import TIMEOUT, run_scheme
from unit.sharing.semi2k.semi2k_runs import put_in, some


def secret(s: Scheme, *values: int) -> Share:
    return put_in(s, Z64, Z64.from_int(np.array(values)))


def first_opened(s: Scheme, value: int) -> int:
    """A public number: at the dealer it is 0."""
    return int(some(s.open(secret(s, value)), secret(s, value))[0])


def product(s: Scheme) -> object:
    return s.open(s.mul(secret(s, 3), secret(s, 4)))


def more_steps(s: Scheme) -> object:
    return product(s) if first_opened(s, 1) else None


def more_steps_before_an_announcement(s: Scheme) -> object:
    result = product(s) if first_opened(s, 1) else None
    s.barrier("end")
    return result


def fewer_steps_before_an_announcement(s: Scheme) -> object:
    result = None if first_opened(s, 1) else product(s)
    s.barrier("end")
    return result


def another_step(s: Scheme) -> object:
    return product(s) if first_opened(s, 1) else s.open(s.truncate(secret(s, 3), 1))


def another_shift(s: Scheme) -> object:
    return s.open(s.truncate(secret(s, 1000, 5000), 1 + first_opened(s, 3)))


def a_square(s: Scheme) -> object:
    x, y = secret(s, 3), secret(s, 4)
    return s.open(s.mul(x, x if first_opened(s, 1) else y))


def a_transpose(s: Scheme) -> object:
    x = s.hold(secret(s, 1, 2, 3, 4).map(lambda part: part.reshape(2, 2)))
    return s.open(s.matmul(x.map(np.transpose) if first_opened(s, 1) else x, secret(s, 1, 10)))


def another_broadcast(s: Scheme) -> object:
    row, column = (1, 4), (4, 1)
    shapes = (row, column) if first_opened(s, 1) else (column, row)
    a, b = (secret(s, 1, 2, 3, 4).map(lambda part, to=shape: part.reshape(to)) for shape in shapes)  # type: ignore[misc]
    return s.open(s.mul(a, b))


def another_length(s: Scheme) -> object:
    bits = s.boolean.random(1, 3 if first_opened(s, 1) else 4)
    return s.open(s.from_bits(bits, Z64))


def another_table(s: Scheme) -> object:
    entries = np.array([[1, 2]], dtype=np.uint64) << np.uint64(first_opened(s, 1))
    return s.boolean.open(
        s.boolean.bilinear(s.boolean.random(2, 64), s.boolean.random(3, 64), Lookup(3, [(1, entries)]))
    )


def another_form(s: Scheme) -> object:
    form = Each() if first_opened(s, 1) else Spread(1)
    return s.boolean.open(s.boolean.bilinear(s.boolean.random(2, 64), s.boolean.random(2, 64), form))


def another_place(s: Scheme) -> object:
    """The numbers have another place, and so another mask."""
    return s.open(s.from_numbers([PlacedBits(first_opened(s, 1), s.boolean.random(2, 64))], Z64))


BRANCHING = [
    another_table,
    another_form,
    another_place,
    more_steps,
    more_steps_before_an_announcement,
    fewer_steps_before_an_announcement,
    another_step,
    another_shift,
    a_square,
    a_transpose,
    another_broadcast,
    another_length,
]


TOLD = "must not branch on one|bytes for 'from_bits'|'dealer' closed the connection"


@pytest.mark.parametrize("parties", [2, 3])
@pytest.mark.parametrize("program", BRANCHING, ids=lambda program: program.__name__)
def test_a_program_that_branches_on_an_opened_value_stops_at_once(
    program: Callable[[Scheme], object], parties: int
) -> None:
    began = time.monotonic()
    with pytest.raises(TransportError, match=TOLD) as caught:
        run_scheme("semi2k", program, parties=parties)
    assert time.monotonic() - began < TIMEOUT / 4, "the parties waited for each other"
    assert "dealer" in str(caught.value)


def test_steps_that_the_dealer_alone_takes_change_nothing() -> None:
    def program(s: Scheme) -> RingArray | None:
        x = secret(s, 7)
        if not first_opened(s, 1):
            x = s.mul(x, x)
        return s.open(x)

    assert [int(some(r, Share(Z64, (Z64.zeros((1,)),)))[0]) for r in run_scheme("semi2k", program).results] == [7, 7]


def branches(party: Party) -> object:
    x = party.constant(np.array([1.0]), FixedPoint(20))
    if party.open(x, reason="a test")[0] > 0:
        x = x * x
    return party.open(x, reason="a test")


def test_a_user_is_told_that_a_program_must_not_branch() -> None:
    with pytest.raises(PartyFailedError, match="must not branch on one"):
        run_local(branches, scheme="semi2k", timeout=TIMEOUT)


def one_more_draw(s: Scheme) -> None:
    s.refresh(secret(s, 1))


def one_more_correlation(s: Scheme) -> None:
    assert isinstance(s, Semi2k)
    s._source.ask(Digits(BITS, 1, 64))


@pytest.mark.parametrize("extra", [one_more_draw, one_more_correlation])
@pytest.mark.parametrize(("parties", "rank"), [(2, 0), (2, 1), (3, 0), (3, 2)])
def test_parties_whose_streams_are_apart_stop(extra: Callable[[Scheme], None], parties: int, rank: int) -> None:
    def program(s: Scheme) -> object:
        a, b = secret(s, 3), secret(s, 4)
        if s.rank == rank:
            extra(s)
        return s.mul(a, b)

    with pytest.raises(TransportError, match="another step"):
        run_scheme("semi2k", program, parties=parties)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_parties_that_truncate_by_different_shifts_stop(rank: int) -> None:
    with pytest.raises(TransportError, match="another step"):
        run_scheme("semi2k", lambda s: s.truncate(secret(s, 1000), 3 if s.rank == rank else 4), parties=3)
