"""Whom the workers of other parties may talk to: what a party's head signs for each of its shards.

A worker makes a key of its own for one session, and keeps it to itself. The head signs, with the party's key, which
never leaves it,

    tag, study, session of the heads, party, shard, number of shards, fingerprint of the worker's certificate, address

and the heads tell each other all of these in their session. Every worker, and a dealer, checks the signatures itself
against the certificates in the study, and pins the certificates that they name: so shard k of one party talks to shards
k of the others alone, in this session alone. The tag keeps these bytes apart from everything else that the key signs
(``files.signatures``). Addresses are public; whoever lies about its own is not reached.

**Where a delegation leads.** A worker, and a dealer, dial what another party says: a TCP connection and the first
message of TLS, and nothing that is worth anything before the other end has shown the certificate that was signed. A
party whose address in the study is not of the machine itself cannot send them to themselves, or to their link; to any
other address it can, and to any port.

The session of shard k follows from that of the heads, from k and from the number of shards.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from cofit.errors import CertificateError, InvalidInputError, ProtocolError
from cofit.learn.division import DELEGATION_BYTES
from cofit.roles.files.signatures import check_bytes, sign
from cofit.study.document import PartyEntry
from cofit.transport import Identity, Peer, fingerprint, is_near
from cofit.transport.strict_json import decode_header
from cofit.transport.terms import SESSION_BYTES

TAG = b"cofit shard delegation v1\0"
_FIELDS = {"shard", "shards", "host", "port", "certificate", "signature"}
_LONGEST_HOST = 255
_SESSION_TAG = b"cofit shard session v1\0"


@dataclass(frozen=True)
class Place:
    """A session of shards: the study (its hash), the session of the heads, which shard, and of how many."""

    study: str
    session: bytes
    shard: int
    shards: int

    @property
    def own_session(self) -> bytes:
        """The session of this shard's mesh."""
        told = f"{self.study} {self.session.hex()} {self.shard} of {self.shards}".encode()
        return hashlib.sha256(_SESSION_TAG + told).digest()[:SESSION_BYTES]

    @property
    def sessions(self) -> int:
        """How many there are at once: those of all shards, and of the heads."""
        return self.shards + 1

    def signed(self, party: str, host: str, port: int, certificate_pem: str) -> bytes:
        """Return what a head signs."""
        content = {
            "study": self.study,
            "session": self.session.hex(),
            "party": party,
            "shard": self.shard,
            "shards": self.shards,
            "worker": fingerprint(certificate_pem),
            "host": host,
            "port": port,
        }
        return TAG + json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def delegation(identity: Identity, place: Place, host: str, port: int, certificate_pem: str) -> bytes:
    """Return the record with which the head of a party says who is one of its shards."""
    signature = sign(identity, place.signed(identity.name, host, port, certificate_pem), TAG)
    record = {
        "shard": place.shard,
        "shards": place.shards,
        "host": host,
        "port": port,
        "certificate": certificate_pem,
        "signature": signature,
    }
    told = json.dumps(record, sort_keys=True, separators=(",", ":")).encode()
    if len(told) > DELEGATION_BYTES:
        raise InvalidInputError(f"The delegation of shard {place.shard} is longer than {DELEGATION_BYTES} bytes.")
    return told.ljust(DELEGATION_BYTES)


def delegated(record: bytes, party: PartyEntry, place: Place) -> Peer:
    """Return the worker that a party says is its shard; CertificateError unless it has signed just that."""
    told = _read(record, party.name)
    host, port, certificate = told["host"], told["port"], told["certificate"]
    if (told["shard"], told["shards"]) != (place.shard, place.shards):
        raise _refused(party.name, f"it is for shard {told['shard']} of {told['shards']}")
    try:
        content = place.signed(party.name, host, port, certificate)
    except InvalidInputError:
        raise _refused(party.name, "it names no certificate") from None
    if not check_bytes(party.certificate_pem, told["signature"], content):
        raise _refused(party.name, "its signature does not fit the study, the session, the shard and the worker")
    near = host == party.host or is_near(party.host)
    if is_near(host) and not near:
        raise _refused(party.name, f"the address {host} is one of this machine itself, and not of another one")
    return Peer(party.name, host, port, certificate, may_be_near=near)


def _read(record: bytes, party: str) -> dict[str, Any]:
    told: dict[str, Any] = {}
    with contextlib.suppress(ValueError):
        told = decode_header(record.rstrip(b" "))
    kinds = {"shard": int, "shards": int, "host": str, "port": int, "certificate": str, "signature": str}
    if set(told) != _FIELDS:
        raise _refused(party, "it is malformed")
    if any(type(told[name]) is not kind for name, kind in kinds.items()):
        raise _refused(party, "it is malformed")
    if not 0 < told["port"] < 1 << 16 or not 0 < len(told["host"]) <= _LONGEST_HOST or not told["host"].isprintable():
        raise _refused(party, "its address is none")
    return told


def _refused(party: str, why: str) -> CertificateError:
    return CertificateError(party, f"The delegation of a shard by '{party}' is refused: {why}. Nothing is sent to it.")


def split_records(told: bytes, shards: int, party: str) -> list[bytes]:
    """Return the records of all shards of one party, as its head has told them."""
    if len(told) != shards * DELEGATION_BYTES:
        raise ProtocolError(f"'{party}' has told of another number of shards.")
    return [told[k * DELEGATION_BYTES : (k + 1) * DELEGATION_BYTES] for k in range(shards)]
