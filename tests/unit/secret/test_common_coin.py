"""The common coin of the parties: one for all, what it costs, and what its record may be."""

from __future__ import annotations

import hashlib
import json

import pytest

from cofit.errors import InvalidInputError, StateError
from cofit.secret import Party
from cofit.secret.common_coin import MemoryCoinStore, common_coin
from cofit.secret.stored import pack
from cofit.sharing import Scheme, meter_of, scheme_named
from support.coins import BASIS, session
from support.runs import run_scheme

SCHEMES = {"clear": 3, "rep3": 3, "rep4": 4, "repn": 3, "semi2k": 3}


def stores(scheme: str) -> list[MemoryCoinStore]:
    return [MemoryCoinStore() for _ in range(SCHEMES[scheme] + (scheme == "semi2k"))]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_members_get_the_same_coin_each_time_and_another_one_elsewhere(scheme: str) -> None:
    kept = stores(scheme)
    coins = [session(scheme, kept).outcomes for _ in range(2)]
    assert all(len(outcomes) == len(kept) for outcomes in coins), "the dealer too"
    (coin,) = {value for outcomes in coins for value in outcomes.values()}
    assert isinstance(coin, bytes) and len(coin) == 32
    assert session(scheme, stores(scheme)).coins().isdisjoint({coin})


@pytest.mark.parametrize("mesh", ["tls", "faulty"])
def test_over_real_and_slow_connections(mesh: str) -> None:
    kept = stores("rep4")

    def program(s: Scheme) -> bytes:
        return common_coin(Party(s, {}), kept[s.rank], BASIS)

    assert len(set(run_scheme("rep4", program, mesh=mesh).results)) == 1


@pytest.mark.parametrize(
    ("scheme", "rounds", "size"),
    [
        ("clear", 3, 3 * 3 * 2 * 32),
        ("rep3", 3, 3 * 3 * 2 * 32),
        ("rep4", 6, 3 * 4 * 3 * (32 + 32)),  # every announcement is echoed
        ("semi2k", 3, 3 * 3 * 3 * 32),  # the dealer hears all
    ],
)
def test_rounds_and_bytes(scheme: str, rounds: int, size: int) -> None:
    kept = stores(scheme)

    def program(s: Scheme) -> bytes:
        return common_coin(Party(s, {}), kept[s.rank], BASIS)

    for _ in range(2):  # with a record and without: the same
        run = run_scheme(scheme, program, parties=SCHEMES[scheme])
        assert max(counts.total.rounds for counts in run.traffic) == rounds
        assert run.everything().bytes_sent == size
        assert all(label.startswith("coin/") for counts in run.traffic for label in counts)
    meter = meter_of(scheme_named(scheme), scheme_named(scheme).info.spec(SCHEMES[scheme]))
    assert len(common_coin(Party(meter, {}), MemoryCoinStore(), BASIS)) == 32
    assert (meter.tally_of("coin").rounds, meter.tally_of("coin").bytes) == (rounds, size)


def test_a_member_without_values_keeps_nothing() -> None:
    kept = stores("semi2k")
    session("semi2k", kept)
    assert [store.load() is not None for store in kept] == [True, True, True, False]


def test_the_coin_depends_on_the_nonce_of_every_party() -> None:
    kept = stores("rep3")
    (coin,) = session("rep3", kept).coins()
    for rank in range(3):
        changed = [MemoryCoinStore(_without_list(s.load(), anew=place == rank)) for place, s in enumerate(kept)]
        assert session("rep3", changed).coins().isdisjoint({coin})
    unchanged = [MemoryCoinStore(_without_list(s.load(), anew=False)) for s in kept]
    assert session("rep3", unchanged).coins() == {coin}


def _header(record: bytes | None) -> dict[str, object]:
    assert record is not None
    length = int.from_bytes(record[10:14], "little")
    return dict(json.loads(record[14 : 14 + length]))


def _without_list(record: bytes | None, *, anew: bool) -> bytes:
    header = _header(record) | {"commitments": None, "coin": None}
    return pack(b"cofitcon", header | ({"nonce": "ab" * 32} if anew else {}), b"")


@pytest.mark.parametrize("field", ["basis", "rank", "parties"])
def test_a_record_of_something_else_is_refused_and_not_overwritten(field: str) -> None:
    kept = stores("rep3")
    (coin,) = session("rep3", kept).coins()
    before = kept[1].load()
    if field == "basis":
        outcome = session("rep3", kept, basis={0: BASIS, 1: b"others", 2: BASIS}).outcomes[1]
    else:
        header = _header(before) | ({"rank": 2} if field == "rank" else {"parties": 2, "commitments": ["ab" * 32] * 2})
        changed = MemoryCoinStore(pack(b"cofitcon", header, b""))
        outcome = session("rep3", [kept[0], changed, kept[2]]).outcomes[1]
    assert isinstance(outcome, StateError)
    assert "never a second one" in str(outcome)
    assert kept[1].load() == before
    assert session("rep3", kept).coins() == {coin}


@pytest.mark.parametrize(
    "change",
    [
        {"nonce": "ab"},
        {"nonce": None},
        {"coin": "zz"},
        {"coin": "ab"},
        {"commitments": ["ab" * 32]},
        {"commitments": ["ab" * 31] * 3},
        {"commitments": 3},
        {"rank": None},
    ],
    ids=str,
)
def test_a_record_that_is_none_is_refused_without_showing_it(change: dict[str, object]) -> None:
    kept = stores("rep3")
    session("rep3", kept)
    secret = str(_header(kept[0].load())["nonce"])
    kept[0] = MemoryCoinStore(pack(b"cofitcon", _header(kept[0].load()) | change, b""))
    outcome = session("rep3", kept).outcomes[0]
    assert isinstance(outcome, InvalidInputError)
    assert "record of the coin" in str(outcome) and secret not in str(outcome)
    assert secret not in repr(kept[0])


def test_a_damaged_record_is_refused() -> None:
    kept = stores("rep3")
    session("rep3", kept)
    record = bytearray(kept[2].load() or b"")
    record[40] ^= 1
    kept[2] = MemoryCoinStore(bytes(record))
    outcome = session("rep3", kept).outcomes[2]
    assert isinstance(outcome, InvalidInputError)
    assert "'checksum' parameter of the record of the coin" in str(outcome)


def test_a_stored_coin_that_the_nonces_do_not_give_is_refused() -> None:
    kept = stores("rep3")
    session("rep3", kept)
    header = _header(kept[0].load()) | {"coin": hashlib.sha256(b"another").hexdigest()}
    kept[0] = MemoryCoinStore(pack(b"cofitcon", header, b""))
    assert "not the one in this party's record" in str(session("rep3", kept).outcomes[0])
