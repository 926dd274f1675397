"""Delegations of shards: one signature fits one party, study, session, shard, number of shards, worker and address."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from cofit.errors import CertificateError, InvalidInputError, ProtocolError
from cofit.learn.division import DELEGATION_BYTES
from cofit.roles.files.signatures import TAG as RELEASE_TAG
from cofit.roles.files.signatures import sign
from cofit.roles.shards.delegation import TAG, Place, delegated, delegation, split_records
from cofit.study.document import PartyEntry
from cofit.transport import Identity, fingerprint, generate_identity

PLACE = Place("ab" * 32, bytes(range(16)), 1, 3)
HOST, PORT = "10.0.0.7", 41001


@cache
def _made(name: str, number: int) -> Identity:
    del number
    return generate_identity(name)


def identity(name: str = "party-a", number: int = 0) -> Identity:
    return _made(name, number)


def worker(number: int = 0) -> str:
    return _made("party-a", 100 + number).certificate_pem


def entry(name: str = "party-a", number: int = 0) -> PartyEntry:
    pem = identity(name, number).certificate_pem
    return PartyEntry(name, pem, fingerprint(pem), "10.0.0.1", 9000)


def record() -> bytes:
    return delegation(identity(), PLACE, HOST, PORT, worker())


def changed(**fields: Any) -> bytes:
    told = json.loads(record())
    return json.dumps({**told, **fields}).encode()


def refused(told: bytes, place: Place = PLACE, party: PartyEntry | None = None) -> str:
    assert delegated(record(), entry(), PLACE)
    with pytest.raises(CertificateError, match="refused") as caught:
        delegated(told, party or entry(), place)
    assert caught.value.peer == (party or entry()).name
    return str(caught.value)


def test_what_a_head_signs_is_taken() -> None:
    told = record()
    peer = delegated(told, entry(), PLACE)
    assert (peer.name, peer.host, peer.port, peer.certificate_pem) == ("party-a", HOST, PORT, worker())
    assert len(told) == DELEGATION_BYTES


@pytest.mark.parametrize(
    "place",
    [
        replace(PLACE, study="ac" * 32),
        replace(PLACE, session=bytes(16)),
        replace(PLACE, shard=0),
        replace(PLACE, shard=2),
        replace(PLACE, shards=2),
        replace(PLACE, shards=4),
    ],
    ids=["study", "session", "another shard", "the next shard", "fewer shards", "more shards"],
)
def test_it_holds_in_no_other_place(place: Place) -> None:
    why = refused(record(), place)
    assert ("it is for shard 1 of 3" in why) == ((place.shard, place.shards) != (1, 3))
    honest = json.loads(record())
    refused(json.dumps(honest | {"shard": place.shard, "shards": place.shards}).encode(), place)


@pytest.mark.parametrize(
    "fields",
    [
        {"host": "10.0.0.8"},
        {"port": PORT + 1},
        {"certificate": worker(1)},
        {"signature": "00" * 64},
        {"signature": ""},
        {"signature": "zz"},
        {"signature": "ab" * 100_000},
    ],
    ids=["host", "port", "worker", "no signature", "empty", "no hexadecimal", "a long signature"],
)
def test_nothing_in_it_may_be_changed(fields: dict[str, Any]) -> None:
    assert "does not fit" in refused(changed(**fields))


def test_another_party_cannot_sign_it() -> None:
    other = delegation(identity("party-b"), PLACE, HOST, PORT, worker())
    refused(other)
    namesake = delegation(identity("party-a", 1), PLACE, HOST, PORT, worker())
    refused(namesake)
    refused(record(), party=replace(entry("party-b"), certificate_pem=identity().certificate_pem))


def test_what_the_key_signs_elsewhere_is_no_delegation() -> None:
    content = PLACE.signed("party-a", HOST, PORT, worker())
    assert content.startswith(TAG) and not content.startswith(RELEASE_TAG) and not RELEASE_TAG.startswith(TAG)
    as_release = RELEASE_TAG + content.removeprefix(TAG)
    refused(changed(signature=sign(identity(), as_release)))
    refused(changed(signature=sign(identity(), b"", b"")))
    with pytest.raises(InvalidInputError, match="begin with"):
        sign(identity(), content)  # a release is never signed with these bytes
    with pytest.raises(InvalidInputError, match="begin with"):
        sign(identity(), as_release, TAG)


@pytest.mark.parametrize(
    "told",
    [
        b"",
        b" " * DELEGATION_BYTES,
        bytes(DELEGATION_BYTES),
        b"\xff" * DELEGATION_BYTES,
        b"[" * DELEGATION_BYTES,
        b'{"a":' * 800,
        b"[]",
        b"null",
        b"{}",
        b'"text"',
        b'{"shard":1,"shard":1}',
        b"1" * DELEGATION_BYTES,
        b'{"host":"\\ud800"}',
    ],
)
def test_garbage_is_refused(told: bytes) -> None:
    assert "malformed" in refused(told)


@pytest.mark.parametrize(
    "fields",
    [
        {"extra": 1},
        {"shard": True},
        {"shards": 3.0},
        {"shard": "1"},
        {"shard": None},
        {"port": "41001"},
        {"port": 41001.0},
        {"port": True},
        {"host": ["10.0.0.7"]},
        {"host": {"a": {"b": 1}}},
        {"certificate": None},
        {"certificate": {"pem": 1}},
        {"signature": 12},
        {"port": 10**30},
    ],
    ids=str,
)
def test_other_kinds_of_values_are_refused(fields: dict[str, Any]) -> None:
    assert "malformed" in refused(changed(**fields))


@pytest.mark.parametrize("name", ["shard", "shards", "host", "port", "certificate", "signature"])
def test_nothing_may_be_missing(name: str) -> None:
    told = json.loads(record())
    del told[name]
    assert "malformed" in refused(json.dumps(told).encode())


@pytest.mark.parametrize(
    ("host", "port"),
    [(HOST, 0), (HOST, -1), (HOST, 1 << 16), ("", PORT), ("a" * 256, PORT), ("a\nb", PORT), ("a\0b", PORT)],
)
def test_an_address_that_is_none_is_refused_even_if_signed(host: str, port: int) -> None:
    assert "address" in refused(delegation(identity(), PLACE, host, port, worker()))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "0.0.0.0", "169.254.169.254", "::ffff:127.0.0.1"])
def test_a_party_of_another_machine_cannot_send_a_worker_to_itself(host: str) -> None:
    told = delegation(identity(), PLACE, host, PORT, worker())
    assert "of this machine itself" in refused(told)
    for same in ("127.0.0.1", "localhost", host):
        peer = delegated(told, replace(entry(), host=same), PLACE)
        assert peer.host == host and peer.may_be_near


def test_a_name_is_judged_where_it_leads_to() -> None:
    told = delegation(identity(), PLACE, "worker.example", PORT, worker())
    assert not delegated(told, entry(), PLACE).may_be_near
    assert delegated(told, replace(entry(), host="worker.example"), PLACE).may_be_near


def test_a_certificate_that_is_none_is_refused() -> None:
    for text in ("", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "\u20ac"):
        refused(changed(certificate=text))


def test_a_delegation_that_would_not_fit_is_not_made() -> None:
    with pytest.raises(InvalidInputError, match=f"longer than {DELEGATION_BYTES}"):
        delegation(identity(), PLACE, "h" * DELEGATION_BYTES, PORT, worker())


def test_records_of_another_number_of_shards_are_refused() -> None:
    told = record() * 3
    assert split_records(told, 3, "party-a") == [told[:DELEGATION_BYTES]] * 3
    for wrong in (b"", told[:-1], told + b" ", record() * 2, record() * 4):
        with pytest.raises(ProtocolError, match="'party-a' has told of another number"):
            split_records(wrong, 3, "party-a")


def test_every_shard_of_every_session_has_a_session_of_its_own() -> None:
    sessions = [bytes(16), bytes(15) + b"\1", bytes(range(16))]
    places = [
        Place(study, session, shard, shards)
        for study, session in itertools.product(("ab" * 32, "cd" * 32), sessions)
        for shards in (1, 2, 11, 12, 112)
        for shard in range(shards)
    ]
    own = {place.own_session for place in places}
    assert len(own) == len(places) and own.isdisjoint(sessions)
    assert {len(one) for one in own} == {16}
