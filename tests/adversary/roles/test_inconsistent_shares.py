"""Owners that deal shares of different values to different parties: found before anything is computed, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest

from cofit import Party, run_local
from cofit.errors import DisputeError, PartyFailedError
from cofit.roles.local.member import Contribution
from cofit.transport import Mesh
from cofit.transport.buffers import byte_view
from support.schemes import local

LIAR, HONEST = "owner-b", "owner-a"
OWNERS = {HONEST: {"x": Contribution(np.arange(5.0), 8.0)}, LIAR: {"y": Contribution(np.arange(5.0), 8.0)}}
PARTIES = ("party-a", "party-b", "party-c", "party-d", "party-e")
HOLDERS = {
    "rep3": {"seeds": (0, 1, 2), "array": (1, 2)},
    "rep4": {"seeds": (0, 1, 2, 3), "array": (0, 1, 2)},
    "repn": {"seeds": (0, 1, 2), "array": (1, 2)},
    "shamir/5": {"seeds": (0, 1, 2, 3, 4), "array": (2, 3, 4)},
}
CASES = [(s, what, rank) for s, holders in HOLDERS.items() for what, ranks in holders.items() for rank in ranks]


@contextmanager
def lying(to: str, number: int, byte: int = 0) -> Iterator[None]:
    """One owner changes a bit of its how-manieth message, to one party alone."""
    original = Mesh.exchange
    seen: list[str] = []

    def exchange(mesh: Mesh, label: str, send: Any, receive: Any, *more: Any) -> None:
        if mesh.name == LIAR and label == "input":
            seen.append(label)
            if len(seen) - 1 == number:
                pieces = send[to] if isinstance(send[to], list) else [send[to]]
                changed = bytearray(b"".join(map(byte_view, pieces)))
                changed[byte] ^= 4
                send = {**send, to: changed}
        original(mesh, label, send, receive, *more)

    with mock.patch.object(Mesh, "exchange", exchange):
        yield


def counting(computed: list[str]) -> Callable[[Party], Any]:
    def program(party: Party) -> Any:
        computed.append(party.name)
        return party.open(party.input(HONEST, "x") + party.input(LIAR, "y"), reason="a test")

    return program


@pytest.mark.parametrize(("scheme", "what", "rank"), CASES)
def test_an_owner_that_deals_a_party_another_share_is_named(scheme: str, what: str, rank: int) -> None:
    computed: list[str] = []
    with lying(PARTIES[rank], 0 if what == "seeds" else 1), pytest.raises(PartyFailedError) as caught:
        run_local(counting(computed), **local(scheme), owners=OWNERS, timeout=10)
    assert LIAR in caught.value.party and HONEST not in str(caught.value)
    disputes = {name: error for name, error in caught.value.failures.items() if isinstance(error, DisputeError)}
    assert disputes, "nobody found out"
    for name, error in disputes.items():
        assert error.parties[0] == LIAR and name not in error.parties
        assert f"Owner '{LIAR}' has dealt" in str(error)
    assert not set(computed) & set(disputes), "it computed with shares that do not fit together"


def test_a_second_seed_of_the_first_party_counts_too() -> None:
    with lying("party-a", 0, byte=32), pytest.raises(PartyFailedError, match=f"Owner '{LIAR}' has dealt"):
        run_local(counting([]), scheme="rep3", owners=OWNERS, timeout=10)


@pytest.mark.parametrize("scheme", HOLDERS)
def test_owners_that_deal_alike_are_not_suspected(scheme: str) -> None:
    run = run_local(counting([]), **local(scheme), owners=OWNERS, timeout=10)
    assert all(np.allclose(opened, 2 * np.arange(5.0)) for opened in run.results.values())


@pytest.mark.parametrize("rank", [0, 1])
def test_with_semi2k_no_two_parties_are_dealt_the_same(rank: int) -> None:
    """So nothing can fail to fit: whatever an owner sends is a sharing of one value, the same for all."""
    with lying(PARTIES[rank], 1 if rank == 0 else 0):
        run = run_local(counting([]), scheme="semi2k", owners=OWNERS, timeout=10)
    first, second = run.results.values()
    assert np.array_equal(first, second)
    assert not np.allclose(first, 2 * np.arange(5.0))
