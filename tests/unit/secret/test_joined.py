"""Party.joined: several owners' contributions in one array, held once."""

from __future__ import annotations

import dataclasses
import tracemalloc
import weakref
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Z64, Z128, Contribution, FixedPoint, Party, SecretArray
from cofit.arithmetic import IntegerRing
from cofit.arithmetic.engine import LOCAL
from cofit.errors import FormatMismatchError, InvalidInputError, PartyFailedError, ShapeError
from cofit.sharing import DealtShare
from cofit.sharing.expansion import Expansion
from cofit.sharing.inputs import Room
from cofit.sharing.rep3.party import Rep3
from cofit.sharing.summands import DealtSummands, joined
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


def watch(dealt: DealtShare, before: Callable[[], object | None]) -> DealtShare:
    """The same dealt share, which checks that the one before it is gone when its turn comes."""

    class Watched(type(dealt)):  # type: ignore[misc]
        __slots__ = ("__weakref__",)

        def __getattribute__(self, name: str) -> Any:
            if name in ("x_2", "values"):
                assert before() is None, "the contribution before this one is still held"
            return super().__getattribute__(name)

    return Watched(*(getattr(dealt, field.name) for field in dataclasses.fields(dealt)))  # type: ignore[arg-type]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_contribution_is_dropped_before_the_next_is_expanded(scheme: str, axis: int) -> None:
    def program(party: Party) -> int:
        before: Callable[[], object | None] = lambda: None  # noqa: E731
        for pair in PAIRS:
            party._dealt[pair] = watched = watch(party._dealt[pair], before)
            before = weakref.ref(watched)
            del watched
        party.joined(PAIRS, axis)
        assert before() is None
        return len(party._dealt)

    assert set(run(program, scheme, owners()).results.values()) == {2}, "the labels are still there"


def expansion(ring: IntegerRing, shape: tuple[int, ...]) -> Expansion:
    return Expansion(LOCAL, lambda _done, _total: None, ring, shape, 2)


@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_the_peak_is_one_share(ring: IntegerRing, rank: int, axis: int) -> None:
    """Never more than two arrays of the joint shape, whether dealt, copied or drawn, and a chunk; of four owners."""
    shape, joint = ((400, 1500), (1600, 1500)) if axis == 0 else ((1600, 375), (1600, 1500))
    inputs = Rep3.inputs(Rep3.info.spec())
    seed, explicit = bytes(range(32)), inputs.explicit
    tracemalloc.start()
    dealt = [
        DealtSummands(ring, shape, tuple(ring.zeros(shape) if j == explicit else seed for j in inputs.held[rank]))
        for _ in range(4)
    ]
    places = [
        tuple(slice(i * n, i * n + n) if at == axis else slice(0, n) for at, n in enumerate(shape)) for i in range(4)
    ]
    joined(ring, joint, ((dealt.pop(0), place) for place in places), 2, expansion(ring, joint))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * 1600 * 1500 * ring.element_bytes + (1 << 20)


@pytest.mark.parametrize("rank", [1, 2])
def test_what_was_received_in_its_place_stays_there(rank: int) -> None:
    inputs = Rep3.inputs(Rep3.info.spec())
    shapes, explicit = [(3, 5), (0, 5), (2, 5)], inputs.held[rank].index(inputs.explicit)
    layouts = [inputs.layout(Z64, shape) for shape in shapes]
    room = Room(layouts, rank)
    dealt, places, start = [], [], 0
    for shape, layout in zip(shapes, layouts, strict=True):
        mine = [facts for facts in layout if rank in facts.ranks]
        received = {f.name: room.take(f) if f.size > 32 else memoryview(bytearray(f.size)) for f in mine}
        for content in received.values():
            content[:] = np.random.default_rng(start).bytes(len(content))
        dealt.append(inputs.assemble(Z64, shape, rank, received))
        places.append((slice(start, start + shape[0]), slice(0, 5)))
        start += shape[0]
    separate = [share.expand().parts for share in dealt]
    for together in (True, False):
        order = dealt if together else dealt[::-1]
        shape = (5, 5)
        where = (
            places if together else [(slice(0, 2), slice(0, 5)), (slice(2, 2), slice(0, 5)), (slice(2, 5), slice(0, 5))]
        )
        whole = joined(Z64, shape, zip(order, where, strict=True), 2, expansion(Z64, shape))
        parts = separate if together else separate[::-1]
        for part in range(2):
            assert (whole.parts[part] == np.concatenate([piece[part] for piece in parts])).all()
        kept = np.shares_memory(whole.parts[explicit], separate[0][explicit])
        assert kept == together, "in place, or copied: never over what another contribution holds"


# --- a constant column ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", [F, FixedPoint(50, Z128)], ids=str)
@pytest.mark.parametrize("taken", [False, True])
@pytest.mark.parametrize("pairs", [PAIRS, PAIRS[:1]], ids=len)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_constant_fills_one_more_column(
    scheme: str, axis: int, pairs: list[tuple[str, str]], taken: bool, format: FixedPoint
) -> None:
    def program(party: Party) -> tuple[Array, float, bool, Array]:
        if taken:
            party.input("north", "x")
        x = party.joined(pairs, axis, constant=Fraction(-37, 4))
        same = x is party.joined(pairs, axis, constant=-9.25)
        return party.open(x, reason="test"), x.bound, same, party.open(party.input("north", "x"), reason="test")

    joint = np.concatenate([NORTH, SOUTH][: len(pairs)], axis=axis)
    for got, bound, same, north in run(program, scheme, owners(format)).results.values():
        assert (got[:, :-1] == joint).all()
        assert (got[:, -1] == -9.25).all()
        assert got.shape == (joint.shape[0], joint.shape[1] + 1)
        assert (bound, same) == (9.25, True)
        assert (north == NORTH).all()


@pytest.mark.parametrize("constant", ["1", [1.0], float("nan"), 2.0**40])
def test_constants_that_are_no_fitting_number(constant: Any) -> None:
    with pytest.raises(PartyFailedError) as info:
        run(lambda party: party.joined(PAIRS, 1, constant=constant), "clear", owners())
    assert isinstance(info.value.__cause__, InvalidInputError)


def test_vectors_take_no_constant() -> None:
    with pytest.raises(PartyFailedError, match="'constant' parameter of joined"):
        run(lambda party: party.joined([("north", "y"), ("south", "y")], 0, constant=1), "clear", owners())
