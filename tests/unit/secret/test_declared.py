"""The party of a study's program: what it refuses, and which restarts are safe."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import cofit
from cofit.errors import PartyFailedError, ProtocolError
from cofit.roles.files.release_store import MemoryStore
from cofit.secret import Opening, Party, release_once
from cofit.secret.declared import DeclaredParty

Stores = dict[str, list[MemoryStore]]
OWNERS = {"owner": {"x": cofit.Contribution(np.array([1.0, 2.0]), bound=4.0)}}


def served(program: Callable[[Any], Any], stores: Stores, allowed: Callable[[Opening], None] | None = None) -> Any:
    """Run a program as a study does, with one store for each opening, and return what every party got."""

    def main(party: Party) -> Any:
        made = 0

        def release(draw: Any) -> Any:
            nonlocal made
            made += 1
            return release_once(party, draw, stores[party.name][made - 1], reason="r", key=f"test {made}")

        declared = DeclaredParty(party, allowed or (lambda opening: None), release)
        result = program(declared)
        if declared.failure is not None:
            raise declared.failure
        return result

    return cofit.run_local(main, owners=OWNERS).results


def fresh(openings: int = 3) -> Stores:
    return {name: [MemoryStore() for _ in range(openings)] for name in ("party-a", "party-b", "party-c")}


def restarted(stores: Stores, kept: int) -> Stores:
    """The stores of parties that were killed after so many openings."""
    return {
        name: [MemoryStore(one.load()) if i < kept else MemoryStore() for i, one in enumerate(mine)]
        for name, mine in stores.items()
    }


def noisy(party: Any) -> float:
    """The same noisy value twice: together as much as once."""
    bits = party.random_bits((40,))
    first = party.open(bits, reason="r")
    second = party.open(bits, reason="r")
    return float(np.abs(first - second).sum())


def test_a_second_draw_of_what_was_opened_is_refused() -> None:
    """Killed between the openings of one draw: a new session would open another one."""
    stores = fresh()
    assert all(result == 0 for result in served(noisy, stores).values())
    assert all(result == 0 for result in served(noisy, restarted(stores, 2)).values()), "both are stored: replayed"
    with pytest.raises(PartyFailedError, match="cannot draw again"):
        served(noisy, restarted(stores, 1))


def test_nothing_that_a_program_is_given_differs_between_two_sessions() -> None:
    """Whatever did would be a draw that nobody counts: a subset by the session's id, summed up once in each of two."""
    found: list[dict[str, Any]] = []

    def program(party: Any) -> None:
        facts = [name for name, kind in vars(Party).items() if isinstance(kind, property)]
        given = {}
        for name in facts:
            with suppress(cofit.CofitError):
                given[name] = getattr(party, name)
        if party.rank == 0:
            found.append(given)

    for _ in range(2):
        served(program, fresh(0))
    assert found[0] == found[1]
    assert {"name", "rank", "parties", "owners"} <= set(found[0])


def test_draws_after_the_last_repeated_opening_are_free() -> None:
    def program(party: Any) -> tuple[float, Any]:
        total = float(party.open(party.input("owner", "x").sum(), reason="r"))
        return total, party.open(party.random_bits((40,)), reason="r").tolist()

    stores = fresh()
    first = served(program, stores)["party-a"]
    again = served(program, restarted(stores, 1))["party-a"]
    assert first[0] == again[0] == 3.0 and first[1] != again[1]
    assert served(program, restarted(stores, 2))["party-a"] == first


def test_a_caught_refusal_ends_the_run() -> None:
    opened: list[str] = []

    def check(opening: Opening) -> None:
        if opening.reason != "r":
            raise ProtocolError("not declared")
        opened.append(opening.reason)

    def program(party: Any) -> None:
        x = party.input("owner", "x")
        with pytest.raises(ProtocolError):
            party.open(x, reason="another")
        with pytest.raises(ProtocolError, match="not declared"):
            party.open(x, reason="r")

    with pytest.raises(PartyFailedError, match="not declared"):
        served(program, fresh(), check)
    assert not opened


@pytest.mark.parametrize(
    "name", ["share", "announce", "agree", "export_share", "import_share", "take", "collect", "session"]
)
def test_what_goes_past_the_study_is_refused(name: str) -> None:
    def program(party: Any) -> None:
        getattr(party, name)

    with pytest.raises(PartyFailedError, match=f"free of party.{name}"):
        served(program, fresh())


def test_the_method_of_the_class_above_opens_nothing_either() -> None:
    with pytest.raises(PartyFailedError, match="past the study"):
        served(lambda party: Party.open(party, party.input("owner", "x"), reason="r"), fresh())


def test_bits_are_opened_as_integers() -> None:
    def program(party: Any) -> Any:
        return party.open(party.input("owner", "x").sign_bits(), reason="r")

    seen: list[tuple[int, ...]] = []
    result = served(program, fresh(), lambda opening: seen.append(opening.shape))
    assert result["party-b"].tolist() == [[0, 0]] and set(seen) == {(1, 2)}
