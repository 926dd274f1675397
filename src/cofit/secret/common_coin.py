"""A coin of all parties: 32 public random bytes, drawn once, that nobody could foresee or choose.

What is checked by random projections must be fixed before anybody knows them, and they must never be drawn again: who
could toss until it likes the coin would find one that overlooks its lie. So the coin is drawn after the contributions
are fixed and agreed (``basis`` says which), and every later session has the same one.

**The protocol**, the same in every session. Each party has a record, which only grows, and is durable when ``save``
returns:

1. Party i draws a nonce of 32 bytes, if its record has none, and saves it. Its commitment is
   c_i = SHA-256(tag, SHA-256(basis), number of parties, i, nonce_i).
2. All announce their commitments. A party whose record has a list of commitments compares, and stops if one differs;
   otherwise it saves the list.
3. All agree on the list. Whoever tells its digest has saved the list.
4. All announce their nonces. Each is compared with its commitment. coin = SHA-256(tag, all c_i, all nonce_i), which is
   saved, or compared with the one in the record.

**Nobody knows it too early, or chooses it.** An honest party reveals its nonce in step 4 only. By then it has heard in
step 3, from every honest party, the digest of its own list: so all honest parties have the *same* list L, on disk.
While the commitments of a corrupted party could still be chosen, nobody knew the nonce of any honest party: the
commitments say nothing about 32 random bytes, SHA-256 taken as a random function. After that they are fixed, and
whoever could open one in two ways has found a collision. So the coin is a function of L and of nonces that were fixed
without knowing those of honest parties; one honest nonce makes it uniform. The number i in c_i keeps a party from
announcing another's commitment as its own.

**No second coin**, whoever kills which sessions and processes. If any honest nonce was ever revealed, all honest
parties have L on disk, and with any other list they stop. Their own nonces are on disk since before anything was sent.
Hence every session that gets to a coin has the same L, the same nonces and the same coin. If no honest nonce was
revealed, nobody knows anything about the coin yet. A party can refuse to reveal: then there is no coin and no model,
but never another coin. (A record that is lost, or goes back to an older one, is noticed by the others, who stop. If no
honest party has its record any more, nothing prevents a second coin: keep them as long as the data.)

With a passive scheme all parties do this, and the claim holds for owners who lie together with parties that look. With
``rep4`` it holds against one party that does what it likes; what it tells two parties differently is found in step 3.

A member without values (a dealer, a meter) hears all of it and has nothing to say. It gets the same coin, and does not
check it: what the parties compute does not depend on its copy.

3 rounds of 32 bytes from every party to each other one and to a dealer (``rep4``: 6, with its echoes). Everybody who
listens learns the coin: it is public.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from cofit.arithmetic.prg import fresh_seed
from cofit.errors import InvalidInputError, ProtocolError, StateError
from cofit.secret.party import Party
from cofit.secret.stored import pack, unpack

COIN_BYTES = 32
LABEL = "coin"
_COMMIT_TAG, _COIN_TAG = b"cofit coin commitment 1\0", b"cofit coin 1\0"
_PLACE = struct.Struct("<II")
_RECORD, _NAME = b"cofitcon", "the record of the coin"
_FIELDS = ("basis", "parties", "rank", "nonce", "commitments", "coin")


class CoinStore(Protocol):
    """Where one party keeps the one record of a coin: opaque, and secret until all have revealed."""

    def load(self) -> bytes | None:
        """Return the record, or None if there is none."""

    def save(self, record: bytes) -> None:
        """Replace the record; it survives a crash once this returns, and until then the old one does."""


class MemoryCoinStore:
    """A store for runs whose coin ends with them."""

    def __init__(self, record: bytes | None = None) -> None:
        self._record = record

    def load(self) -> bytes | None:
        return self._record

    def save(self, record: bytes) -> None:
        self._record = record

    def __repr__(self) -> str:
        return f"<MemoryCoinStore, {'empty' if self._record is None else 'with a record'}>"


def common_coin(party: Party, store: CoinStore, basis: bytes) -> bytes:
    """Return 32 random bytes, the same at all parties and in all runs with the same stores.

    store: this party's own; a member without values passes any. basis: what the parties have fixed and agreed on before
        (contributions, plan), the same at all of them. A record that was made for another one is refused: StateError.

    ProtocolError if a party commits to another nonce than before, or reveals another one than it committed to, or tells
    two parties different things.
    """
    with party.label(LABEL):
        if not party.holds_values:
            return _overhear(party)
        record = _load(party, store, basis)
        told = party.announce("commit", _commitment(record.basis, len(party.parties), party.rank, record.nonce))
        if record.commitments is None:
            record = _save(store, replace(record, commitments=told))
        elif changed := _differing(party, told, record.commitments):
            raise _refused(changed, "commits to another number than in an earlier session")
        party.agree("commitments to the coin", b"".join(told))
        nonces = party.announce("reveal", record.nonce)
        opened = [_commitment(record.basis, len(nonces), rank, nonce) for rank, nonce in enumerate(nonces)]
        if changed := _differing(party, opened, told):
            raise _refused(changed, "reveals another number than it committed to")
        coin = _coin(told, nonces)
        if record.coin is None:
            _save(store, replace(record, coin=coin))
        elif record.coin != coin:
            raise ProtocolError("The coin is not the one in this party's record. Nothing is computed with it.")
        return coin


def _overhear(party: Party) -> bytes:
    told = party.announce("commit", bytes(COIN_BYTES))
    party.agree("commitments to the coin", b"".join(told))
    return _coin(told, party.announce("reveal", bytes(COIN_BYTES)))


def _commitment(basis: bytes, parties: int, rank: int, nonce: bytes) -> bytes:
    return hashlib.sha256(_COMMIT_TAG + basis + _PLACE.pack(parties, rank) + nonce).digest()


def _coin(commitments: Sequence[bytes], nonces: Sequence[bytes]) -> bytes:
    return hashlib.sha256(_COIN_TAG + b"".join(commitments) + b"".join(nonces)).digest()


def _differing(party: Party, told: Sequence[bytes], known: Sequence[bytes]) -> list[str]:
    return [name for name, one, other in zip(party.parties, told, known, strict=True) if one != other]


def _refused(names: Sequence[str], what: str) -> ProtocolError:
    who = " and ".join(f"'{name}'" for name in names)
    return ProtocolError(
        f"{who} {what}. The coin is drawn once, and nothing is computed with "
        f"another one. If that party lost its state, or went back to a backup, agree on a new study."
    )


# --- the record ------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class _Record:
    """``basis``: its SHA-256. The nonce is fixed first, then the list of all commitments, then the coin."""

    basis: bytes
    parties: int
    rank: int
    nonce: bytes
    commitments: tuple[bytes, ...] | None = None
    coin: bytes | None = None


def _load(party: Party, store: CoinStore, basis: bytes) -> _Record:
    """Return this party's record; where there is none, one with a fresh nonce, which is saved."""
    digest, data = hashlib.sha256(basis).digest(), store.load()
    if data is None:
        fresh = _Record(digest, len(party.parties), party.rank, fresh_seed())
        return _save(store, fresh)
    record = _decode(data)
    if (record.basis, record.parties, record.rank) != (digest, len(party.parties), party.rank):
        raise StateError(
            "The coin here was drawn for another plan, other contributions or another party, and there is never a "
            "second one. Run the cofit release that drew it, with the state of this party; or agree on a new study."
        )
    return record


def _save(store: CoinStore, record: _Record) -> _Record:
    listed = None if record.commitments is None else [one.hex() for one in record.commitments]
    coin = None if record.coin is None else record.coin.hex()
    values = (record.basis.hex(), record.parties, record.rank, record.nonce.hex(), listed, coin)
    store.save(pack(_RECORD, dict(zip(_FIELDS, values, strict=True)), b""))
    return record


def _decode(data: bytes) -> _Record:
    header, _ = unpack(_RECORD, _NAME, _FIELDS, data)
    try:
        listed, coin = header["commitments"], header["coin"]
        record = _Record(
            bytes.fromhex(header["basis"]),
            int(header["parties"]),
            int(header["rank"]),
            bytes.fromhex(header["nonce"]),
            None if listed is None else tuple(bytes.fromhex(one) for one in listed),
            None if coin is None else bytes.fromhex(coin),
        )
    except (TypeError, ValueError):
        raise InvalidInputError(f"The 'header' parameter of {_NAME} must be as cofit wrote it. Restore it.") from None
    sizes = {len(one) for one in (record.nonce, *(record.commitments or ()), record.coin or record.nonce)}
    if sizes != {COIN_BYTES} or (record.commitments is not None and len(record.commitments) != record.parties):
        raise InvalidInputError(f"The 'header' parameter of {_NAME} must be as cofit wrote it. Restore it.")
    return record
