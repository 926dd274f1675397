"""Party: inputs, sharing, the one function that opens values, and its log."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Z128, Contribution, FixedPoint, Party, SecretArray
from cofit.errors import InvalidInputError, PartyFailedError, RangeError
from cofit.secret import AuditLog, Opening
from unit.secret.runs import PARTIES, SCHEMES, F, at_one, failure, run

Array = npt.NDArray[Any]
VALUES = np.array([[0.5, -1.25], [3.0, 0.0]])


def test_facts() -> None:
    def program(party: Party) -> tuple[str, int, tuple[str, ...], tuple[str, ...], str]:
        return party.name, party.rank, party.parties, party.owners, repr(party)

    owners = {"north": {"x": Contribution(VALUES, 4)}, "south": {"x": Contribution(VALUES, 4)}}
    results = run(program, owners=owners).results
    for rank, name in enumerate(PARTIES):
        assert results[name][:4] == (name, rank, PARTIES, ("north", "south"))
        assert results[name][4] == f"<Party {name}, {rank + 1} of 3, scheme rep3>"


# --- values in ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
def test_inputs_of_owners(scheme: str) -> None:
    wide = FixedPoint(50, Z128)
    owners = {
        "north": {"x": Contribution(VALUES, 4), "n": Contribution([1, 2, 3], 9, FixedPoint(0))},
        "south": {"x": Contribution(-VALUES, 8.5, wide), "one": Contribution(0.5, 1)},
    }

    def program(party: Party) -> list[tuple[Array, FixedPoint, float]]:
        named = [("south", "one"), ("north", "n"), ("north", "x"), ("south", "x"), ("north", "x")]
        inputs = [party.input(owner, name) for owner, name in named]
        return [(party.open(x, reason="test"), x.format, x.bound) for x in inputs]

    for one, n, north, south, again in run(program, scheme, owners).results.values():
        assert (one[0].tolist(), *one[1:]) == (0.5, F, 1)
        assert (n[0].tolist(), *n[1:]) == ([1, 2, 3], FixedPoint(0), 9)
        assert (north[0].tolist(), *north[1:]) == (VALUES.tolist(), F, 4)
        assert (south[0].tolist(), *south[1:]) == ((-VALUES).tolist(), wide, 8.5)
        assert again[0].tolist() == VALUES.tolist()


@pytest.mark.parametrize(
    ("owner", "name", "parameter", "known"),
    [("west", "x", "'owner'", "north"), ("north", "y", "'name'", "'x'"), ("", "x", "'owner'", "north")],
)
def test_unknown_inputs(owner: str, name: str, parameter: str, known: str) -> None:
    def program(party: Party) -> SecretArray:
        return party.input(owner, name)

    with pytest.raises(PartyFailedError) as info:
        run(program, owners={"north": {"x": Contribution(VALUES, 4)}})
    cause = info.value.__cause__
    assert isinstance(cause, InvalidInputError)
    assert parameter in str(cause)
    assert known in str(cause)


def test_inputs_before_they_are_collected() -> None:
    def program(party: Party) -> SecretArray:
        return Party(party._scheme, {"north": {"x": Contribution(VALUES, 4).facts()}}).input("north", "x")

    assert "collect()" in str(failure(program))


@pytest.mark.parametrize("source", PARTIES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_party_can_share(scheme: str, source: str) -> None:
    def program(party: Party) -> tuple[Array, float]:
        x = party.share(source, VALUES if party.name == source else None, (2, 2), F, 4)
        y = party.share(source, -VALUES if party.name == source else None, (2, 2), FixedPoint(60, Z128), 4)
        return np.stack([party.open(x, reason="x"), party.open(y, reason="y")]), x.bound

    for got, bound in run(program, scheme).results.values():
        assert (got == [VALUES, -VALUES]).all()
        assert bound == 4


def test_sharing_by_the_wrong_party_or_with_wrong_values() -> None:
    assert "'party' parameter of share" in str(failure(lambda party: party.share("west", [1], (1,), F, 1)))
    assert "source party" in str(failure(lambda party: party.share("party-a", None, (1,), F, 1)))
    assert isinstance(failure(lambda party: party.share("party-a", [1.0], (2,), F, 1)), InvalidInputError)
    error = failure(lambda party: party.share("party-a", [0.1, 7.654], (2,), F, 1))
    assert isinstance(error, RangeError)
    assert "(1,)" in str(error)
    assert "7.65" not in str(error)

    def eager(party: Party) -> SecretArray:
        return party.share("party-a", [1.0], (1,), F, 1)

    with pytest.raises(PartyFailedError) as info:
        run(eager)
    assert info.value.party in ("party-b", "party-c")
    assert isinstance(info.value.__cause__, InvalidInputError)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("values", [1.5, [1, -2], VALUES, np.zeros((0, 2))], ids=repr)
def test_constants(scheme: str, values: npt.ArrayLike) -> None:
    def program(party: Party) -> tuple[Array, float]:
        x = party.constant(values, F)
        return party.open(x, reason="test"), x.bound

    for got, bound in run(program, scheme).results.values():
        assert got.tolist() == np.asarray(values).tolist()
        assert bound == max(np.abs(values).reshape(-1).tolist(), default=0)


# --- values out --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", [["party-a"], ["party-c", "party-b"], ("party-b",), [], list(PARTIES)], ids=str)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_opening_to_some(scheme: str, to: list[str]) -> None:
    def program(party: Party) -> tuple[Array | None, Array | None]:
        x = party.share("party-a", VALUES if party.rank == 0 else None, (2, 2), F, 4)
        secret = party.constant([1, 0], FixedPoint(0)).bits()[0]
        return party.open(x, reason="x", to=to), party.open(secret, reason="bits", to=to)

    result = run(program, scheme)
    for name, (numbers, bits) in result.results.items():
        if name in to:
            assert numbers is not None
            assert bits is not None
            assert numbers.tolist() == VALUES.tolist()
            assert bits.tolist() == [[1, 0]]
        else:
            assert numbers is None
            assert bits is None
    assert [opening.learned_by for opening in result.openings] == [tuple(to)] * 2


def test_opening_to_one_name() -> None:
    def program(party: Party) -> Array | None:
        return party.open(party.constant([1.5], F), reason="test", to="party-b")

    result = run(program)
    assert {name for name, value in result.results.items() if value is not None} == {"party-b"}
    assert result.openings[0].learned_by == ("party-b",)


def test_only_the_receivers_are_sent_anything() -> None:
    def program(party: Party) -> None:
        party.open(party.constant(VALUES, F), reason="test", to=["party-c"])

    traffic = run(program).traffic
    assert [traffic[name].get_or_zero("open").bytes_sent for name in PARTIES] == [0, 4 * 8, 0]
    assert [traffic[name].get_or_zero("open").bytes_received for name in PARTIES] == [0, 0, 4 * 8]


@pytest.mark.parametrize("reason", ["", " ", "\t\n", None, 3])
def test_a_reason_is_needed(reason: Any) -> None:
    def program(party: Party) -> list[Any]:
        with pytest.raises(InvalidInputError, match="'reason' parameter of open"):
            party.open(party.constant([1], F), reason=reason)
        return [party.audit.openings, party._scheme.mesh.counts.get_or_zero("open").messages_sent]

    assert all(result == [(), 0] for result in run(program).results.values())


def test_what_cannot_be_opened() -> None:
    for value in (1.0, VALUES, None, "x"):
        error = failure(lambda party, value=value: party.open(value, reason="test"))  # type: ignore[misc]
        assert isinstance(error, InvalidInputError)
        assert "Only secret values" in str(error)
    error = failure(lambda party: party.open(party.constant([1], F), reason="test", to=["west"]))
    assert isinstance(error, InvalidInputError)
    assert "west" in str(error)


def test_the_log_tells_what_was_opened_why_and_to_whom() -> None:
    def program(party: Party) -> tuple[Opening, ...]:
        x = party.share("party-a", VALUES if party.rank == 0 else None, (2, 2), F, 4)
        party.open(x, reason="the matrix")
        party.open(x.sum(), reason="the sum", to=["party-b"])
        party.open(party.random_secret_bits((3,), width=5), reason="coins", to=["party-c", "party-a"])
        return party.audit.openings

    result = run(program)
    want = (
        Opening(1, "the matrix", "Z_2^64 with 24 fractional bits", (2, 2), PARTIES),
        Opening(2, "the sum", "Z_2^64 with 24 fractional bits", (), ("party-b",)),
        Opening(3, "coins", "5 bits an element", (3,), ("party-c", "party-a")),
    )
    assert result.openings == want
    for log in result.results.values():
        assert log == want
    assert "1.25" not in repr(result.openings)


@pytest.mark.parametrize("kind", ["numbers", "bits"])
def test_the_record_is_written_before_the_value_is_opened(kind: str) -> None:
    def program(party: Party) -> list[tuple[int, int]]:
        seen: list[tuple[int, int]] = []

        def sink(opening: Opening) -> None:
            seen.append((opening.number, party._scheme.mesh.counts.get_or_zero("open").messages_sent))

        careful = Party(party._scheme, {}, AuditLog(sink))
        x = party.constant([1, 2], FixedPoint(0))
        for _ in range(3):
            careful.open(x if kind == "numbers" else party.random_secret_bits((2,)), reason="test")
        return seen

    for seen in run(program).results.values():
        assert seen == [(1, 0), (2, 1), (3, 2)]


def test_nothing_is_opened_when_the_record_cannot_be_written() -> None:
    def program(party: Party) -> int:
        def full_disk(opening: Opening) -> None:
            raise OSError(28, "No space left on device")

        careful = Party(party._scheme, {}, AuditLog(full_disk))
        with pytest.raises(OSError, match="No space"):
            careful.open(party.constant([1.0], F), reason="test")
        return party._scheme.mesh.counts.get_or_zero("open").messages_sent

    assert all(sent == 0 for sent in run(program).results.values())


def test_the_log_by_itself() -> None:
    records: list[Opening] = []
    log = AuditLog(records.append)
    assert not log.openings
    first = log.record("why", "kind", (2,), ("a",))
    second = log.record("again", "kind", (), ("a", "b"))
    assert records == [first, second]
    assert log.openings == (first, second)
    assert [record.number for record in records] == [1, 2]
    with pytest.raises(AttributeError):
        first.reason = "other"  # type: ignore[misc]


@pytest.mark.parametrize("format", [F, FixedPoint(0), FixedPoint(60, Z128), FixedPoint(0, Z128)], ids=str)
def test_types_of_opened_values(format: FixedPoint) -> None:
    got = at_one(lambda party: party.open(party.constant([1, -2], format), reason="test"))
    assert got.tolist() == [1, -2]
    if format.fraction_bits:
        assert got.dtype == np.float64
    else:
        assert got.dtype == (np.int64 if format.ring.bits == 64 else object)


def test_labels_nest() -> None:
    def program(party: Party) -> None:
        x = party.constant([1.0], F)
        with party.label("outer"), party.label("inner"):
            x * x
        with party.label("outer"):
            party.open(x, reason="test")
        x * x

    for counts in run(program).traffic.values():
        assert {"outer/inner/mul", "outer/open", "mul"} <= set(counts)


# --- an owner's contribution -------------------------------------------------------------------------------


def test_contributions_show_no_value() -> None:
    contribution = Contribution([77.5, 31.25], bound=100)
    assert repr(contribution) == "<Contribution shape=(2,), Z_2^64 with 24 fractional bits, bound 100>"
    assert contribution.facts().shape == (2,)
    assert "77" not in repr(contribution.facts())


def test_contributions_with_impossible_bounds() -> None:
    with pytest.raises(RangeError):
        Contribution([1.0], bound=2.0**40).facts()
    with pytest.raises(InvalidInputError):
        Contribution([1.0], bound=float("nan")).facts()
