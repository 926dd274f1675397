"""Party.joined: several owners' contributions in one array, held once."""

from __future__ import annotations

import tracemalloc
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Z64, Z128, Contribution, FixedPoint, Party, SecretArray
from cofit.arithmetic import Generator, PowerOfTwoRing, RingArray
from cofit.errors import FormatMismatchError, InvalidInputError, PartyFailedError, ShapeError
from cofit.sharing import DealtShare, Share
from cofit.sharing.rep3 import Rep3Dealt
from unit.secret.runs import SCHEMES, F, failure, run

Array = npt.NDArray[Any]
Owners = dict[str, dict[str, Contribution]]
NORTH = np.array([[0.5, -1.25], [3.0, 0.0], [-4.0, 2.0**-24]])
SOUTH = np.array([[1.0, 2.0], [-3.0, 4.0], [7.5, -7.5]])
PAIRS = [("north", "x"), ("south", "x")]


def owners(format: FixedPoint = F) -> Owners:
    return {
        "north": {"x": Contribution(NORTH, 4, format), "y": Contribution([1, 0, 1], 1, FixedPoint(0))},
        "south": {"x": Contribution(SOUTH, 8, format), "y": Contribution([0, 0], 1, FixedPoint(0))},
    }


@pytest.mark.parametrize("format", [F, FixedPoint(50, Z128)], ids=str)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_rows_below_and_columns_beside_each_other(scheme: str, axis: int, format: FixedPoint) -> None:
    def program(party: Party) -> tuple[Array, FixedPoint, float, bool, Array]:
        x = party.joined(PAIRS, axis)
        again = party.joined(tuple(PAIRS), axis)
        gram = party.open(x.T.matmul(x, fraction_bits=20), reason="test")
        return party.open(x, reason="test"), x.format, x.bound, x is again, gram

    want = np.concatenate([NORTH, SOUTH], axis=axis)
    for got, of, bound, same, gram in run(program, scheme, owners(format)).results.values():
        assert (got == want).all()
        assert (of, bound, same) == (format, 8, True)
        assert np.abs(gram - want.T @ want).max() <= 2.0**-20


@pytest.mark.parametrize("scheme", SCHEMES)
def test_vectors_join_too_and_one_pair_is_the_input(scheme: str) -> None:
    def program(party: Party) -> tuple[list[int], bool]:
        y = party.joined([("south", "y"), ("north", "y")], 0)
        alone = party.joined([("north", "x")], 1) is party.input("north", "x")
        return party.open(y, reason="test").tolist(), alone

    for got, alone in run(program, scheme, owners()).results.values():
        assert got == [0, 0, 1, 0, 1]
        assert alone


@pytest.mark.parametrize("scheme", SCHEMES)
def test_inputs_are_pieces_of_what_was_joined(scheme: str) -> None:
    def program(party: Party) -> list[tuple[Array, float]]:
        party.joined(PAIRS, 1)
        pieces = [party.input(*pair) for pair in PAIRS]
        pieces.append(party.joined(PAIRS[::-1], 0))
        return [(party.open(x, reason="test"), x.bound) for x in pieces]

    for north, south, other in run(program, scheme, owners()).results.values():
        assert (north[0].tolist(), north[1]) == (NORTH.tolist(), 4)
        assert (south[0].tolist(), south[1]) == (SOUTH.tolist(), 8)
        assert (other[0].tolist(), other[1]) == ([*SOUTH.tolist(), *NORTH.tolist()], 8)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_input_taken_before_is_joined_too(scheme: str) -> None:
    def program(party: Party) -> Array:
        party.input("south", "x")
        return party.open(party.joined(PAIRS, 0), reason="test")

    for got in run(program, scheme, owners()).results.values():
        assert (got == np.concatenate([NORTH, SOUTH])).all()


def test_joining_sends_nothing() -> None:
    traffic = run(lambda party: party.joined(PAIRS, 1).shape, owners=owners()).traffic
    assert {label for counts in traffic.values() for label in counts} <= {"setup", "input", "receipt"}


WRONG: dict[str, tuple[Any, Any, type[InvalidInputError], Sequence[str]]] = {
    "owner": ([("north", "x"), ("west", "x")], 0, InvalidInputError, ["'owner' parameter of joined", "west"]),
    "name": ([("north", "x"), ("south", "z")], 0, InvalidInputError, ["'name' parameter of joined", "'south'", "'z'"]),
    "format": ([("north", "x"), ("south", "y")], 0, FormatMismatchError, ["'y' of 'south'", "'x' of 'north'"]),
    "shape": ([("north", "y"), ("south", "y")], 1, InvalidInputError, ["'axis'", "'y' of 'north'", "(3,)"]),
    "axis": (PAIRS, 2, InvalidInputError, ["'axis' parameter of joined", "(3, 2)"]),
    "negative axis": (PAIRS, -1, InvalidInputError, ["'axis' parameter of joined"]),
    "no axis": (PAIRS, None, InvalidInputError, ["'axis' parameter of joined"]),
    "nothing": ([], 0, InvalidInputError, ["'inputs' parameter of joined"]),
    "twice": ([*PAIRS, PAIRS[0]], 0, InvalidInputError, ["'inputs' parameter of joined", "different"]),
    "no pairs": (["north", "south"], 0, InvalidInputError, ["'inputs' parameter of joined", "owner"]),
    "wide": ([("north", "x"), ("wide", "x")], 0, ShapeError, ["'x' of 'wide'", "'x' of 'north'", "(3, 5)", "(3, 2)"]),
    "flat": ([("north", "x"), ("wide", "v")], 0, ShapeError, ["'v' of 'wide'", "(2,)"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_name_the_owner_and_the_input(name: str) -> None:
    pairs, axis, kind, texts = WRONG[name]
    more = {**owners(), "wide": {"x": Contribution(np.ones((3, 5)), 1), "v": Contribution(np.ones(2), 1)}}
    with pytest.raises(PartyFailedError) as info:
        run(lambda party: party.joined(pairs, axis), "clear", more)
    cause = info.value.__cause__
    assert type(cause) is kind
    assert all(text in str(cause) for text in texts), str(cause)


def test_inputs_before_they_are_collected() -> None:
    def program(party: Party) -> SecretArray:
        facts = {owner: {name: c.facts() for name, c in named.items()} for owner, named in owners().items()}
        return Party(party._scheme, facts).joined(PAIRS, 0)

    assert "collect()" in str(failure(program))


# --- nothing is held twice --------------------------------------------------------------------------------------


class Watched:
    """A dealt share that knows whether the one before it is gone when its turn comes."""

    def __init__(self, inner: DealtShare, before: Callable[[], object | None]) -> None:
        self.inner, self.before = inner, before

    def expand(self) -> Share:
        raise AssertionError("an own copy of the share")

    def expand_into(self, parts: Sequence[RingArray]) -> None:
        assert self.before() is None, "the contribution before this one is still held"
        self.inner.expand_into(parts)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_contribution_is_dropped_before_the_next_is_expanded(scheme: str, axis: int) -> None:
    def program(party: Party) -> int:
        before: Callable[[], object | None] = lambda: None  # noqa: E731
        for pair in PAIRS:
            party._dealt[pair] = watched = Watched(party._dealt[pair], before)
            before = weakref.ref(watched)
            del watched
        party.joined(PAIRS, axis)
        assert before() is None
        return len(party._dealt)

    assert set(run(program, scheme, owners()).results.values()) == {2}, "the labels are still there"


@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_expanding_into_a_place_needs_no_copy(ring: PowerOfTwoRing, rank: int, axis: int) -> None:
    shape = (1500, 400)
    seeds = (bytes([1] * 32), bytes([2] * 32))[: 2 if rank == 0 else 1]
    explicit = None if rank == 0 else Generator(bytes([3] * 32)).ring(ring, shape)
    dealt = Rep3Dealt(ring, shape, rank, seeds, explicit)
    want = dealt.expand()
    joint = [ring.zeros((3000, 400) if axis == 0 else (1500, 800)) for _ in range(2)]
    places = [part[1500:] if axis == 0 else part[:, 400:] for part in joint]
    tracemalloc.start()
    dealt.expand_into(places)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < want.parts[0].nbytes / 4
    for place, part, whole in zip(places, want.parts, joint, strict=True):
        np.testing.assert_array_equal(place, part)
        assert np.array_equal(whole[:1500] if axis == 0 else whole[:, :400], ring.zeros(shape)), "wrote elsewhere"
