"""Shards that only count: one meter for all shards of a kind, and what comes to the head comes from every shard."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cofit import Party, SecretArray
from cofit.arithmetic import Z64, FixedPoint
from cofit.secret import InputFacts
from cofit.secret.metered_shards import MeteredShards
from cofit.secret.shards import Split, added, divided, each, joined, total, with_rows
from cofit.secret.sums import Sum, matrix, sums
from cofit.sharing import meter_of, scheme_named
from cofit.sharing.meter import Meter

FACTS = InputFacts((10, 3), FixedPoint(16, Z64), 1.0)
SIZES = (10, 10, 11)


def metered(scheme: str) -> tuple[Party, Meter, list[Meter]]:
    """A head with shards of 10, 10 and 11 rows, which are of two kinds."""
    kind = scheme_named(scheme)
    head, *meters = [meter_of(kind) for _ in range(3)]
    parties = []
    for meter, rows in zip(meters, (10, 11), strict=True):
        facts = replace(FACTS, shape=(rows, 3))
        parties.append(Party(meter, {"owner": {"x": facts}}))
        parties[-1].take("owner", "x", meter.receive_input("owner", Z64, facts.shape))
    party = Party(head, {})
    MeteredShards(party, parties, (0, 0, 1))
    return party, head, meters


def rows_of(party: Party) -> SecretArray:
    return each(Party.input, with_rows(party), "owner", "x")


def first_column(x: SecretArray) -> SecretArray:
    return x[:, 0]


def squares(x: SecretArray) -> list[Sum]:
    return [Sum([matrix(x.T, x[:, 0])], 16, proven_bound=len(x))]


def test_rows_of_all_shards_are_brought_together_and_divided_again() -> None:
    party, head, _ = metered("rep3")
    column = each(first_column, rows_of(party))
    before = head.live.now
    together = joined(column)
    assert together.shape == (sum(SIZES),)
    assert head.live.now - before == sum(SIZES) * 8
    assert head.live.peak >= 2 * sum(SIZES) * 8, "the pieces, and what is made of them"
    again = divided(together, column)
    assert isinstance(again, Split)
    assert [piece.shape for piece in again.pieces] == [(10,), (11,)], "one for each kind"


def test_what_is_added_up_comes_from_every_shard_with_its_bound() -> None:
    party, _, _ = metered("rep3")
    one = each(first_column, rows_of(party))
    summed = total(each(SecretArray.sum, one))
    assert summed.integer_limit == sum(SIZES) << 16
    (value,) = sums(*added(each(squares, rows_of(party))))
    assert value.integer_limit == (sum(SIZES) << 16) + 1, "and what a truncation adds"


@pytest.mark.parametrize("scheme", ["rep3", "rep4", "shamir", "semi2k"])
def test_work_of_a_kind_is_counted_once_under_the_label_of_the_head(scheme: str) -> None:
    party, head, meters = metered(scheme)
    with party.label("epoch"):
        sums(*added(each(squares, rows_of(party))))
    costs, local = scheme_named(scheme).costs(scheme_named(scheme).info.spec()), scheme != "semi2k"
    for meter, rows in zip(meters, (10, 11), strict=True):
        assert meter.tally_of("epoch").multiply_adds == costs.product_terms * 3 * rows
        assert (meter.tally_of("epoch").bytes == 0) is local, "products are local before their truncation, or not"
    truncated = costs.truncated_product if local else costs.truncation
    assert head.tally_of("epoch").rounds == truncated.rounds
    assert head.tally_of("epoch").multiply_adds == 0
    assert head.tally_of("").bytes == 0
