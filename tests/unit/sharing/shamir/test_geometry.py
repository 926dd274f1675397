"""Who does what in ``shamir``: the claims of its proof about who sees what, for all coalitions of all geometries.

What hides the messages of a resharing is linear: message i is a summand, plus draws with the coefficients 1 and -1. T
sees some messages and lacks some draws. The messages are jointly uniform to T, whatever the summands are, exactly if
the matrix of coefficients (messages seen, draws lacked) has full rank modulo 2 and modulo every prime that is the
modulus of a field: then some choice of the draws gives any messages, and as many choices for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from unittest import mock

import pytest

from cofit.arithmetic import F61
from cofit.sharing import SCHEMES
from cofit.sharing.group_streams import Group
from cofit.sharing.shamir.geometry import Geometry

GEOMETRIES = [Geometry(n, t) for n in range(3, 8) for t in SCHEMES["shamir"].info.thresholds(n)]
RESHARINGS: dict[str, tuple[Callable[[Geometry], Group], int | None]] = {
    "products": (lambda g: g.multipliers, None),
    "products through a party": (lambda g: g.multipliers, 0),
    "fresh sharings": (lambda g: g.openers, None),
}
geometries = pytest.mark.parametrize("geometry", GEOMETRIES, ids=lambda g: f"{g.parties}/{g.threshold}")
resharings = pytest.mark.parametrize("what", RESHARINGS)


def coalitions(geometry: Geometry) -> Iterable[Group]:
    """All sets of parties that may collude, also smaller ones."""
    for size in range(1, geometry.threshold + 1):
        yield from combinations(range(geometry.parties), size)


def rank(rows: list[list[int]], modulus: int) -> int:
    """The rank of a matrix modulo a prime."""
    rows, found = [[c % modulus for c in row] for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        inverse = pow(rows[found][column], -1, modulus)
        for i in range(found + 1, len(rows)):
            factor = rows[i][column] * inverse
            rows[i] = [(a - factor * b) % modulus for a, b in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


def seen_messages(geometry: Geometry, senders: Group, relay: int | None, corrupted: Group) -> list[list[int]]:
    """The draws that T lacks (columns) in each of the messages of a resharing that T sees (rows)."""
    honest = [s for s in senders if s not in corrupted]
    pairs = list(combinations(honest, 2))
    hiding = geometry.hiding(senders, relay)
    groups = [group for group in hiding if not set(group) & set(corrupted)]

    def row(sender: int) -> list[int]:
        zero = [(pair[0] == sender) - (pair[1] == sender) for pair in pairs]
        return [*zero, *(int(hiding[group] == sender) for group in groups)]

    def meets(rank: int) -> bool:
        return bool(set(geometry.own_groups[rank]) & set(corrupted))

    if relay is None:
        return [row(sender) for sender in honest if meets(sender)]
    if relay in corrupted:
        return [row(sender) for sender in honest]
    total = [sum(column) for column in zip(*(row(sender) for sender in honest), strict=True)]
    return [total] if meets(relay) else []


def exposed(geometry: Geometry, what: str) -> list[Group]:
    """The coalitions that are not proved to see uniform messages."""
    chosen, relay = RESHARINGS[what]
    found = []
    for corrupted in coalitions(geometry):
        messages = seen_messages(geometry, chosen(geometry), relay, corrupted)
        if any(rank(messages, modulus) < len(messages) for modulus in (2, F61.modulus)):
            found.append(corrupted)
    return found


@geometries
@resharings
def test_what_a_coalition_sees_of_a_resharing_is_uniform(geometry: Geometry, what: str) -> None:
    assert exposed(geometry, what) == []


@geometries
@resharings
def test_a_resharing_that_leaves_a_draw_out_is_noticed(geometry: Geometry, what: str) -> None:
    """Every draw of a group is needed, by the coalition of all others."""
    chosen, relay = RESHARINGS[what]
    needed = geometry.hiding(chosen(geometry), relay)
    for group in needed:
        rest = {other: sender for other, sender in needed.items() if other != group}
        with mock.patch.object(Geometry, "hiding", lambda *_, rest=rest: rest):
            assert exposed(geometry, what) == [tuple(r for r in range(geometry.parties) if r not in group)]


@geometries
@resharings
def test_draws_are_added_by_an_honest_sender_that_has_them(geometry: Geometry, what: str) -> None:
    chosen, relay = RESHARINGS[what]
    senders = chosen(geometry)
    for group, sender in geometry.hiding(senders, relay).items():
        assert group in geometry.groups
        assert sender in group
        assert sender in senders


@geometries
@resharings
def test_every_party_has_a_term_of_a_resharing(geometry: Geometry, what: str) -> None:
    """A share is a sum of terms; with none there would be nothing to send, and nothing to hide."""
    chosen, relay = RESHARINGS[what]
    senders = chosen(geometry)
    tellers = senders if relay is None else (relay,)
    for party in range(geometry.parties):
        told = [s for s in tellers if party in geometry.own_groups[s]]
        drawn = [group for group in geometry.hiding(senders, relay) if party in group]
        assert told or drawn


@geometries
def test_a_value_that_a_party_shares_is_hidden_and_all_have_a_term_of_it(geometry: Geometry) -> None:
    for source in range(geometry.parties):
        own = geometry.own_groups[source]
        assert source in own
        drawn = [group for group in geometry.groups if source in group and group != own]
        for party in range(geometry.parties):
            assert party in own or any(party in group for group in drawn)
        for corrupted in coalitions(geometry):
            if source not in corrupted and set(own) & set(corrupted):
                assert any(not set(group) & set(corrupted) for group in drawn), "the rest has no draw that T lacks"


@geometries
def test_for_every_coalition_there_is_a_group_of_all_others(geometry: Geometry) -> None:
    for corrupted in coalitions(geometry):
        assert any(not set(group) & set(corrupted) for group in geometry.groups)


@geometries
def test_whoever_sees_a_masked_value_lacks_a_mask(geometry: Geometry) -> None:
    openers, maskers = set(geometry.openers), set(geometry.maskers)
    assert not openers & maskers
    assert (len(openers), len(maskers)) == (geometry.threshold + 1, geometry.threshold)
    assert geometry.multipliers == tuple(sorted(openers | maskers))
    for corrupted in map(set, coalitions(geometry)):
        assert openers - corrupted, "an honest opener, whose draws with an honest masker are in its message"
        if corrupted & openers:
            assert maskers - corrupted
        else:
            assert corrupted <= set(range(geometry.threshold + 1, geometry.parties))


@geometries
def test_what_is_opened_has_enough_shares_and_no_more(geometry: Geometry) -> None:
    for party in range(geometry.parties):
        readers = geometry.readers(party)
        assert readers[0] == party
        assert len(set(readers)) == geometry.threshold + 1


@geometries
def test_the_work_of_hiding_is_spread(geometry: Geometry) -> None:
    """No sender adds more than its part of the draws and one more."""
    for chosen, relay in RESHARINGS.values():
        senders = chosen(geometry)
        added = list(geometry.hiding(senders, relay).values())
        most = max((added.count(s) for s in senders), default=0)
        assert most <= -(-len(added) // (geometry.threshold + 1)) + 1
