"""Proving, on a new connection, to be the two processes of an old line, and agreeing on where its streams go on.

The three messages, and why nobody else can make them, are in ``resume_proof.md``. Here they are computed and judged;
``line.py`` says what they do to a line, and ``homecoming.py`` moves them.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import struct
from dataclasses import dataclass

from cofit.transport.frames import HEADER, HEADER_BYTES, MAGIC, NO_TAG, Kind, control_frame
from cofit.transport.records import KEY_BYTES
from cofit.transport.terms import SESSION_BYTES, Terms

NONCE_BYTES = 32
_MAC_BYTES = 32
_ASK = struct.Struct(f"!{SESSION_BYTES}sQ{NONCE_BYTES}sQ{_MAC_BYTES}s")
_ANSWER = struct.Struct(f"!{NONCE_BYTES}sQ{_MAC_BYTES}s")
REQUEST_BYTES = HEADER_BYTES + _ASK.size
ANSWER_BYTES = HEADER_BYTES + _ANSWER.size
CONFIRM_BYTES = HEADER_BYTES + _MAC_BYTES


class NotResumedError(Exception):
    """What came is no message of the resumption that is due: the connection is dropped, and nothing else follows."""


@dataclass(frozen=True)
class Request:
    """The first message. ``generation`` 0 asks whether the line is known, and resumes nothing."""

    session: bytes
    generation: int
    nonce: bytes
    position: int
    mac: bytes


def session_key(terms: Terms, dialler: str, acceptor: str, half: bytes, other: bytes) -> bytes:
    """Return the key of a line from both halves, that of the dialler first."""
    digest = hashlib.sha256(b"cofit line key 1" + terms.session + terms.study)
    for name in (dialler, acceptor):
        digest.update(len(name.encode()).to_bytes(1, "big") + name.encode())
    digest.update(half + other)
    return digest.digest()


class Ticket:
    """The key of one line, and what can be proven with it. The key stays out of the repr."""

    def __init__(self, key: bytes, terms: Terms, dialler: str, acceptor: str) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError("a key of another length")
        self._key = key
        self._version = terms.version
        self._session = terms.session
        self._names = b"".join(len(name.encode()).to_bytes(1, "big") + name.encode() for name in (dialler, acceptor))

    # --- the end that dials --------------------------------------------------------------------------------

    def request(self, generation: int, position: int) -> tuple[Request, bytes]:
        """Return the first message, also as a frame."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        request = Request(self._session, generation, nonce, position, self._mac_of(generation, nonce, position))
        payload = _ASK.pack(self._session, generation, nonce, position, request.mac)
        return request, control_frame(Kind.RESUME, self._version, NO_TAG, 0, payload)

    def read_answer(self, request: Request, frame: bytes) -> tuple[int, bytes]:
        """Return the position that the acceptor has received, and the third message as a frame."""
        nonce, position, mac = _ANSWER.unpack(_payload(frame, Kind.RESUMED, self._version))
        self._check(mac, b"resumed", request, nonce, position)
        proof = self._mac(b"confirmed", request, nonce, position)
        return position, control_frame(Kind.RESUMED, self._version, NO_TAG, 1, proof)

    # --- the end that accepts ------------------------------------------------------------------------------

    def check_request(self, request: Request) -> None:
        """Raise NotResumedError unless a process with the key made the request."""
        expected = self._mac_of(request.generation, request.nonce, request.position)
        if request.session != self._session or not hmac.compare_digest(expected, request.mac):
            raise NotResumedError("a resumption without the key of the line")

    def answer(self, request: Request, position: int) -> tuple[bytes, bytes]:
        """Return the second message as a frame, and the third one that is then due."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        payload = _ANSWER.pack(nonce, position, self._mac(b"resumed", request, nonce, position))
        proof = self._mac(b"confirmed", request, nonce, position)
        return (
            control_frame(Kind.RESUMED, self._version, NO_TAG, 0, payload),
            control_frame(Kind.RESUMED, self._version, NO_TAG, 1, proof),
        )

    def _mac_of(self, generation: int, nonce: bytes, position: int) -> bytes:
        return self._hmac(b"resume" if generation else b"known?", struct.pack("!QQ", generation, position) + nonce)

    def _mac(self, label: bytes, request: Request, nonce: bytes, position: int) -> bytes:
        return self._hmac(
            label,
            struct.pack("!QQQ", request.generation, request.position, position) + request.nonce + nonce,
        )

    def _check(self, mac: bytes, label: bytes, request: Request, nonce: bytes, position: int) -> None:
        if not hmac.compare_digest(mac, self._mac(label, request, nonce, position)):
            raise NotResumedError("an answer without the key of the line")

    def _hmac(self, label: bytes, fields: bytes) -> bytes:
        content = len(label).to_bytes(1, "big") + label + self._names + self._session + fields
        return hmac.digest(self._key, content, "sha256")


def read_request(frame: bytes, version: int) -> Request:
    """Read the first message; NotResumedError if it is none."""
    return Request(*_ASK.unpack(_payload(frame, Kind.RESUME, version)))


def is_refusal(header: bytes) -> bool:
    """Whether a frame with this header says that the line is not known."""
    magic, _, kind, *_ = HEADER.unpack_from(header)
    return bool(magic == MAGIC and kind == Kind.REFUSE)


def _payload(frame: bytes, kind: Kind, version: int) -> bytes:
    size = len(frame) - HEADER_BYTES
    if frame[:HEADER_BYTES] != HEADER.pack(MAGIC, version, kind, 0, 0, NO_TAG, 0, size):
        raise NotResumedError("no frame of a resumption")
    return frame[HEADER_BYTES:]
