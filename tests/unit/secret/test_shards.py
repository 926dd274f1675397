"""Values in shards: sums over them, rows brought together and divided again, and checks of all sessions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cofit import Contribution, Party, SecretArray
from cofit.arithmetic import Z64, FixedPoint
from cofit.errors import InvalidInputError, ProtocolError, RangeError
from cofit.secret.shards import Split, added, divided, each, joined, total, with_rows
from cofit.secret.sums import AddedSum, PartOfSum, Sum, by_rows, matrix, sums
from cofit.sharing.sums import PartialSum
from support.shards import run_sharded

FORMAT = FixedPoint(16, Z64)
RNG = np.random.default_rng(7)
X = RNG.integers(-8, 9, (10, 3)) / 8
Y = RNG.integers(-8, 9, 10) / 8
OWNERS = {"owner": {"x": Contribution(X, 1.0, FORMAT), "y": Contribution(Y, 1.0, FORMAT)}}
SCHEMES = ("clear/1", "rep3", "rep4", "semi2k", "shamir", "shamir/5/1", "repn")


def inputs(party: Party) -> tuple[SecretArray, SecretArray]:
    here = with_rows(party)
    return each(Party.input, here, "owner", "x"), each(Party.input, here, "owner", "y")


def products(x: SecretArray, y: SecretArray) -> list[Sum]:
    """X^T y with 20 of 32 fractional bits, and <y, y> with all of them."""
    return [Sum([matrix(x.T, y)], 20, proven_bound=len(x)), Sum([by_rows(y, y)], 32)]


def summed(party: Party) -> Any:
    with party.label("sums"):
        found = sums(*added(each(products, *inputs(party))))
    return [party.open(value, reason="a test") for value in found]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("count", [1, 2, 4])
def test_sums_over_shards_are_truncated_once(scheme: str, count: int) -> None:
    along, square = run_sharded(summed, scheme, OWNERS, count).results["party-0"]
    off = (along - X.T @ Y) * 2**20
    assert (off > -1).all() and (off <= 1).all()
    assert square == Y @ Y


def test_shards_of_rep3_send_nothing_for_a_sum() -> None:
    run = run_sharded(summed, "rep3", OWNERS, 2)
    for counts in run.shards.values():
        assert all(not name.startswith("sums/") for shard in counts for name in shard)
    assert run.rounds("sums/") == 2, "those of one truncation, for both sums"


def test_totals_and_rows_that_are_brought_together_and_divided_again() -> None:
    def program(party: Party) -> Any:
        x, y = inputs(party)
        rows = joined(x)
        again = divided(rows, y)
        assert isinstance(again, Split)
        values = (total(each(SecretArray.sum, x, 0)), rows, joined(again), joined(each(SecretArray.sum, again, 1)))
        return [party.open(value, reason="a test") for value in values]

    found = run_sharded(program, "rep3", OWNERS, 3).results["party-1"]
    for value, wanted in zip(found, (X.sum(axis=0), X, X, X.sum(axis=1)), strict=True):
        assert value.tolist() == wanted.tolist()


def test_what_is_not_split_is_what_it_is() -> None:
    assert each(max, 3, 4) == 4
    wanted: list[Sum] = []
    assert added(wanted) is wanted


def test_nothing_is_opened_after_a_check_of_a_shard_has_failed() -> None:
    def program(party: Party) -> Any:
        x, _ = inputs(party)
        value = total(each(SecretArray.sum, x, 0))
        party._shards.parties.pieces[1].result()._scheme.verification.fail("Somebody lied to shard 1.")  # type: ignore[union-attr]
        return party.open(value, reason="a test")

    with pytest.raises(ProtocolError, match="lied to shard 1"):
        run_sharded(program, "repn", OWNERS, 2)


def test_inputs_are_forgotten_in_all_shards() -> None:
    def program(party: Party) -> Any:
        party.forget_inputs()
        with pytest.raises(InvalidInputError, match="forget_inputs"):
            total(each(SecretArray.sum, inputs(party)[0], 0))

    run_sharded(program, "rep3", OWNERS, 2)


def part(shape: int = 2, shift: int = 0, limit: int = 1) -> PartOfSum:
    return PartOfSum(PartialSum(Z64, (Z64.zeros((shape,)),), shift), FORMAT, limit)


def test_limits_of_parts_are_added_before_the_truncation() -> None:
    scheme: Any = object()
    assert AddedSum(scheme, [part(shift=4, limit=100), part(shift=4, limit=60)]).integer_limit == 11
    most = FORMAT.capacity
    assert AddedSum(scheme, [part(limit=most - 1), part(limit=1)]).integer_limit == most
    with pytest.raises(RangeError, match="before its truncation"):
        AddedSum(scheme, [part(limit=most), part(limit=1)])


@pytest.mark.parametrize("other", [part(shape=3), part(shift=1)])
def test_parts_of_different_sums_are_not_added(other: PartOfSum) -> None:
    with pytest.raises(InvalidInputError, match="one shape and one shift"):
        part().partial.plus(other.partial)


def test_a_split_shows_nothing() -> None:
    shards: Any = None
    assert repr(Split(shards, [1, 2])) == "<Split among 2 shards>"
