"""Values that are stored and stay shared: what is opened beside them, how they are stored, and computed with later."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from cofit import LocalRun, Party, run_local
from cofit.arithmetic import Z64, FixedPoint
from cofit.errors import PartyFailedError, ProtocolError
from cofit.roles import MemoryStore
from cofit.secret import SecretArray, release_once
from cofit.secret.release import stored_value
from cofit.secret.stored import unpack
from cofit.sharing.shares import Share

KEY, KEPT = "study 1", 3
VALUES = np.array([5, -7, 11, 13, 17])
FOUR = ("party-a", "party-b", "party-c", "party-d")
SCHEMES = {"rep3": FOUR[:3], "rep4": FOUR}
Stores = dict[str, MemoryStore]


def released(scheme: str, stores: Stores, kept: int = KEPT, seen: dict[str, Share] | None = None) -> LocalRun[Any]:
    def program(party: Party) -> Any:
        def draw() -> Any:
            value = party.constant(VALUES, FixedPoint(0, Z64)) + party.random_bits((5,)) * 0
            if seen is not None:
                seen[party.name] = value._share
            return value

        found = release_once(party, draw, stores[party.name], reason="a test", key=KEY, kept=kept)
        return found.tolist()

    return run_local(program, scheme=scheme, parties=SCHEMES[scheme], timeout=20.0)


def used(scheme: str, stores: Stores, key: str = KEY, liar: str = "") -> LocalRun[Any]:
    def program(party: Party) -> Any:
        if party.name == liar:
            party.import_share = partial(altered, party.import_share)  # type: ignore[method-assign]
        value = stored_value(party, stores[party.name], key)
        assert value is not None
        return party.open(value, reason="a test").tolist()

    return run_local(program, scheme=scheme, parties=SCHEMES[scheme], timeout=20.0)


def altered(read: Callable[[bytes], SecretArray], data: bytes) -> SecretArray:
    """The share that a party has stored, with another number in it."""
    value = read(data)
    first, *others = (part.copy() for part in value._share.parts)
    first[0] += 1
    return SecretArray(value._scheme, Share(Z64, (first, *others)), value.format, value.integer_limit)


def fresh(scheme: str) -> Stores:
    return {name: MemoryStore() for name in SCHEMES[scheme]}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_is_kept_is_stored_and_never_opened(scheme: str) -> None:
    stores = fresh(scheme)
    for _ in range(2):  # the second time from the stores
        run = released(scheme, stores)
        assert set(map(tuple, run.results.values())) == {(13, 17)}
        assert [opening.shape for opening in run.openings] == [(2,)]
    assert set(map(tuple, used(scheme, stores).results.values())) == {tuple(VALUES.tolist())}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_where_all_is_kept_nothing_is_opened(scheme: str) -> None:
    stores = fresh(scheme)
    for _ in range(2):
        run = released(scheme, stores, kept=5)
        assert not any(run.results.values()) and not run.openings
    assert set(map(tuple, used(scheme, stores).results.values())) == {tuple(VALUES.tolist())}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_is_stored_in_a_sharing_of_its_own(scheme: str) -> None:
    """Shares that stay for years must have nothing in common with the messages of the session that drew them."""
    stores: Stores = fresh(scheme)
    seen: dict[str, Share] = {}
    released(scheme, stores, seen=seen)

    def program(party: Party) -> bool:
        record = stores[party.name].load()
        assert record is not None
        _, data = unpack(b"cofitrel", "a stored release", ("key", "draw"), record)
        stored, drawn = party.import_share(data)._share.parts, seen[party.name].parts
        return all((one != other).all() for one, other in zip(stored, drawn, strict=True))

    assert all(run_local(program, scheme=scheme, parties=SCHEMES[scheme]).results.values())


def test_a_party_that_alters_its_stored_share_is_found_out_whenever_it_is_used() -> None:
    stores = fresh("rep4")
    released("rep4", stores)
    with pytest.raises(PartyFailedError) as info:
        used("rep4", stores, liar="party-c")
    assert isinstance(info.value.__cause__, ProtocolError)
    assert "stored do not fit together" in str(info.value.__cause__)


@pytest.mark.parametrize("lost", [FOUR[:1], FOUR[:3]])
def test_what_not_all_have_of_the_same_draw_is_not_computed_with(lost: tuple[str, ...]) -> None:
    stores = fresh("rep3")
    released("rep3", stores)
    without = {name: MemoryStore() if name in lost else store for name, store in stores.items()}
    with pytest.raises(PartyFailedError, match=r"cannot be proven|nothing to compute with"):
        used("rep3", without)
    other = fresh("rep3")
    released("rep3", other)
    with pytest.raises(PartyFailedError, match="different draws"):
        used("rep3", {**stores, "party-b": other["party-b"]})
    with pytest.raises(PartyFailedError, match="'key' parameter"):
        used("rep3", stores, key="study 2")
