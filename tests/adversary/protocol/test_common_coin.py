"""The common coin: whoever dies when, whatever a party sends, there is never a second one, and nobody chooses it."""

from __future__ import annotations

import hashlib
import itertools
import queue
import secrets

import pytest

from cofit.errors import CofitError, ProtocolError
from cofit.secret import Party
from cofit.secret.common_coin import CoinStore, MemoryCoinStore, _commitment, common_coin
from support.coins import AGREE, BASIS, COMMIT, REVEAL, Session, session
from support.schemes import also_slow

PARTIES = {"rep3": 3, "rep4": 4, "repn": 3, "semi2k": 2, "shamir": 5}
SCHEMES = pytest.mark.parametrize("scheme", also_slow(["rep3", "rep4", "repn", "semi2k"], "shamir"))
LAST = {"rep3": 2, "rep4": 3, "repn": 2, "semi2k": 1, "shamir": 4}
"""The party that cheats."""


class Crash(Exception):  # noqa: N818
    """The end of a party."""


class Mortal(MemoryCoinStore):
    """A store whose party dies before or after its how-manieth saving."""

    def __init__(self, when: str = "", number: int = 0) -> None:
        super().__init__()
        self.when, self.number, self.saved = when, number, 0

    def save(self, record: bytes) -> None:
        self.saved += 1
        if (self.when, self.number) == ("before", self.saved):
            raise Crash
        super().save(record)
        if (self.when, self.number) == ("after", self.saved):
            raise Crash


def fresh(scheme: str) -> list[MemoryCoinStore]:
    return [MemoryCoinStore() for _ in range(PARTIES[scheme] + (scheme == "semi2k"))]


def name(rank: int) -> str:
    return f"party-{rank}"


def finished(scheme: str, stores: list[MemoryCoinStore]) -> tuple[bytes, Session]:
    """Let everybody come back; return the coin that all get."""
    last = session(scheme, stores)
    assert len(last.outcomes) == len(stores), last.outcomes
    assert all(isinstance(coin, bytes) and len(coin) == 32 for coin in last.outcomes.values()), last.outcomes
    (coin,) = last.coins()
    return coin, last


# --- deaths --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scheme", ["rep3", *(pytest.param(scheme, marks=pytest.mark.slow) for scheme in ("rep4", "semi2k", "shamir"))]
)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", [1, 2, 3, COMMIT, AGREE, REVEAL], ids=str)
def test_a_party_that_dies_anywhere_gives_no_other_coin(scheme: str, when: str, step: int | str) -> None:
    """At every saving and at every exchange; twice in a row; and what was revealed before is what counts after."""
    for victim in range(PARTIES[scheme]):
        stores = fresh(scheme)
        revealed: dict[str, bytes] = {}
        seen: set[bytes] = set()

        def before(who: str, label: str, told: dict[str, bytes], victim: int = victim) -> dict[str, bytes]:
            if (who, label, when) == (name(victim), step, "before"):
                raise Crash
            return told

        def after(who: str, label: str, victim: int = victim) -> None:
            if (who, label, when) == (name(victim), step, "after"):
                raise Crash

        if isinstance(step, int):
            stores[victim] = Mortal(when, step)
        for _ in range(2):
            died = session(scheme, stores, before, after)
            revealed = {**died.revealed(), **revealed}
            seen |= died.coins()
            if isinstance(step, str) or isinstance(stores[victim], Mortal):
                assert isinstance(died.outcomes[victim], Crash)
            assert not any(isinstance(error, ProtocolError) for error in died.outcomes.values()), died.outcomes
            if isinstance(step, int):  # one that is killed starts again with what was on disk
                stores[victim] = MemoryCoinStore(stores[victim].load())
        coin, last = finished(scheme, stores)
        assert seen <= {coin}, "a second coin"
        assert all(last.revealed()[who] == nonce for who, nonce in revealed.items()), "another nonce"
        assert finished(scheme, stores)[0] == coin


@SCHEMES
def test_nothing_is_revealed_before_all_have_stored_all_commitments(scheme: str) -> None:
    stores = fresh(scheme)
    stored: list[bool] = []

    def before(who: str, label: str, told: dict[str, bytes]) -> dict[str, bytes]:
        if label == REVEAL:
            records = [store.load() or b"" for store in stores[: PARTIES[scheme]]]
            stored.append(all(b'"commitments": [' in record for record in records))
        return told

    session(scheme, stores, before)
    assert stored and all(stored)


# --- a party that does what it likes -----------------------------------------------------------------------------


@SCHEMES
def test_who_sees_the_nonces_and_ends_the_session_gets_no_other_coin(scheme: str) -> None:
    """Grinding: hear all nonces, say nothing, and come back with another nonce that makes a better coin."""
    cheat, stores = LAST[scheme], fresh(scheme)

    def silent(who: str, label: str, told: dict[str, bytes]) -> dict[str, bytes]:
        return {} if (who, label) == (name(cheat), REVEAL) else told

    def leave(who: str, label: str) -> None:
        if (who, label) == (name(cheat), REVEAL):
            raise Crash

    first = session(scheme, stores, silent, leave)
    assert isinstance(first.outcomes[cheat], Crash)
    assert set(first.revealed()) == {name(rank) for rank in range(PARTIES[scheme])} - {name(cheat)}, "it heard all"
    kept = stores[cheat]
    stores[cheat] = MemoryCoinStore()
    second = session(scheme, stores)
    for rank in set(range(PARTIES[scheme])) - {cheat}:
        assert isinstance(second.outcomes[rank], CofitError), "another coin"
    assert any(
        isinstance(error, ProtocolError) and f"'{name(cheat)}' commits to another number" in str(error)
        for error in second.outcomes.values()
    )
    stores[cheat] = kept
    finished(scheme, stores)


@SCHEMES
@pytest.mark.parametrize("lie", [bytes(32), b"\x01" + bytes(31)], ids=["another", "a bit"])
def test_a_reveal_that_does_not_fit_its_commitment(scheme: str, lie: bytes) -> None:
    """Told to all others alike, so that nothing but the commitment shows it."""
    cheat = LAST[scheme]

    def lying(party: Party, store: CoinStore, basis: bytes) -> bytes:
        if party.rank != cheat:
            return common_coin(party, store, basis)
        with party.label("coin"):
            own = _commitment(hashlib.sha256(basis).digest(), PARTIES[scheme], cheat, bytes(31) + b"\x01")
            party.agree("commitments to the coin", b"".join(party.announce("commit", own)))
            return b"".join(party.announce("reveal", lie))

    outcomes = session(scheme, fresh(scheme), draw=lying).outcomes
    for rank in set(range(PARTIES[scheme])) - {cheat}:
        assert isinstance(outcomes[rank], ProtocolError)
        assert f"'{name(cheat)}' reveals another number than it committed to" in str(outcomes[rank])


@SCHEMES
def test_a_commitment_that_is_a_copy_cannot_be_opened(scheme: str) -> None:
    """Who waits and says what the first party says would have its nonce; but the party's number is in a commitment."""
    cheat = LAST[scheme]
    said: dict[str, queue.Queue[bytes]] = {COMMIT: queue.Queue(), REVEAL: queue.Queue()}

    def overheard(who: str, label: str, told: dict[str, bytes]) -> dict[str, bytes]:
        if who == name(0) and label in said:
            said[label].put(next(iter(told.values())))
        return told

    def copying(party: Party, store: CoinStore, basis: bytes) -> bytes:
        if party.rank != cheat:
            return common_coin(party, store, basis)
        with party.label("coin"):
            told = party.announce("commit", said[COMMIT].get(timeout=10))
            party.agree("commitments to the coin", b"".join(told))
            return b"".join(party.announce("reveal", said[REVEAL].get(timeout=10)))

    outcomes = session(scheme, fresh(scheme), overheard, draw=copying).outcomes
    for rank in set(range(PARTIES[scheme])) - {cheat}:
        assert isinstance(outcomes[rank], ProtocolError)
        assert f"'{name(cheat)}' reveals another number" in str(outcomes[rank])


@pytest.mark.parametrize("scheme", ["rep3", "rep4"])
def test_a_party_that_commits_differently_to_two_others_is_found_out_before_anything_is_revealed(scheme: str) -> None:
    """It does so consistently: to each of them all that it says fits together."""
    cheat, victim, stores = LAST[scheme], 1, fresh(scheme)
    other, heard = secrets.token_bytes(32), {}
    forged = _commitment(hashlib.sha256(BASIS).digest(), PARTIES[scheme], cheat, other)

    def equivocating(who: str, label: str, told: dict[str, bytes]) -> dict[str, bytes]:
        if label == COMMIT:
            heard[who] = next(iter(told.values()))
        if who != name(cheat):
            return told
        if label == COMMIT:
            return {**told, name(victim): forged}
        if label == AGREE:
            listed = [forged if rank == cheat else heard[name(rank)] for rank in range(PARTIES[scheme])]
            return {**told, name(victim): hashlib.sha256(b"".join(listed)).digest()}
        return {**told, name(victim): other} if label == REVEAL else told

    done = session(scheme, stores, equivocating)
    assert isinstance(done.outcomes[victim], ProtocolError)
    assert all(isinstance(done.outcomes[rank], CofitError) for rank in range(PARTIES[scheme]) if rank != cheat)
    assert not set(done.revealed()) - {name(cheat)}, "an honest party has revealed"
    assert "do not agree on the commitments to the coin" in str(done.outcomes[victim]) or scheme == "rep4"


@SCHEMES
@pytest.mark.parametrize(("label", "byte"), list(itertools.product([COMMIT, AGREE, REVEAL], [0, 31])))
def test_every_message_to_one_party_changed(scheme: str, label: str, byte: int) -> None:
    cheat = LAST[scheme]
    for victim in set(range(PARTIES[scheme])) - {cheat}:

        def lying(who: str, said: str, told: dict[str, bytes], victim: int = victim) -> dict[str, bytes]:
            if (who, said) != (name(cheat), label):
                return told
            changed = bytearray(told[name(victim)])
            changed[byte] ^= 0x80
            return {**told, name(victim): bytes(changed)}

        done = session(scheme, fresh(scheme), lying)
        assert isinstance(done.outcomes[victim], ProtocolError)
        assert len(done.coins()) <= 1


# --- records -------------------------------------------------------------------------------------------------


@SCHEMES
def test_a_party_that_lost_its_record_is_named_and_nothing_is_drawn(scheme: str) -> None:
    stores = fresh(scheme)
    coin, _ = finished(scheme, stores)
    for victim in range(PARTIES[scheme]):
        without = [MemoryCoinStore(None if rank == victim else s.load()) for rank, s in enumerate(stores)]
        done = session(scheme, without)
        assert not done.coins() - {coin}
        told = [str(e) for rank, e in done.outcomes.items() if rank != victim and isinstance(e, ProtocolError)]
        assert told and all(f"'{name(victim)}' commits to another number" in text for text in told)
        assert not done.revealed().keys() - {name(victim)}


def test_records_of_two_draws_do_not_mix() -> None:
    first, second = fresh("rep3"), fresh("rep3")
    coins = {finished("rep3", first)[0], finished("rep3", second)[0]}
    assert len(coins) == 2
    done = session("rep3", [first[0], first[1], second[2]])
    assert not done.coins()
    assert isinstance(done.outcomes[0], ProtocolError)
