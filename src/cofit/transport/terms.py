"""What both ends of a connection must agree on before the first protocol message, and its encoding.

A HELLO has a fixed size and layout: session (16 bytes), study hash (32), then scheme, sender and addressee,
each as one length byte and 64 bytes padded with zeros. It is public: nothing in it is a secret.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from enum import IntEnum

from cofit.errors import (
    FrameError,
    HandshakeError,
    SchemeMismatchError,
    SessionMismatchError,
    StudyMismatchError,
    VersionMismatchError,
    parameter_error,
)
from cofit.transport.frames import MAX_NAME_BYTES, PROTOCOL_VERSION

SESSION_BYTES = 16
STUDY_BYTES = 32

_HELLO = struct.Struct(f"!{SESSION_BYTES}s{STUDY_BYTES}s" + f"B{MAX_NAME_BYTES}s" * 3)
HELLO_BYTES = _HELLO.size
REFUSE_BYTES = 1


@dataclass(frozen=True)
class Terms:
    """What a party agreed to: a session, a study (by its hash), a scheme and a protocol version.

    ``scheme`` names everything about the scheme that both ends must share, in fields with slashes between them: its
    name, the number of parties, how many of them may be corrupted, and where correlated randomness comes from, such as
    ``"rep3/3/1/none"``; and the route of products and the soundness of checks in bits, where they are not as usual.
    """

    session: bytes
    study: bytes
    scheme: str
    version: int = PROTOCOL_VERSION

    def __post_init__(self) -> None:
        for field, size in (("session", SESSION_BYTES), ("study", STUDY_BYTES)):
            value = getattr(self, field)
            if not isinstance(value, bytes) or len(value) != size:
                got = f"{len(value)} bytes" if isinstance(value, bytes) else type(value).__name__
                raise parameter_error(field, "Terms", f"{size} bytes", got)
        check_name("scheme", "Terms", self.scheme)
        if not isinstance(self.version, int) or not 0 <= self.version < 1 << 16:
            raise parameter_error("version", "Terms", "an integer of 16 bits", self.version)


def without_session(terms: Terms) -> Terms:
    """Return the terms of a conversation: it belongs to a study, but to no session, so that one is all zeros."""
    return replace(terms, session=bytes(SESSION_BYTES))


def check_name(parameter: str, owner: str, name: str) -> None:
    """Raise InvalidInputError unless ``name`` is 1 to 64 bytes of printable text."""
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name.encode()) <= MAX_NAME_BYTES:
        raise parameter_error(parameter, owner, f"printable text of 1 to {MAX_NAME_BYTES} bytes", name)


class Refusal(IntEnum):
    """Why a HELLO was refused: the one byte of a REFUSE frame."""

    MALFORMED = 0
    VERSION = 1
    NAME = 2
    STUDY = 3
    SCHEME = 4
    SESSION = 5
    PARTIES = 6
    THRESHOLD = 7
    CORRELATIONS = 8
    ROUTE = 9
    SOUNDNESS = 10


_FIELDS = (
    Refusal.SCHEME,
    Refusal.PARTIES,
    Refusal.THRESHOLD,
    Refusal.CORRELATIONS,
    Refusal.ROUTE,
    Refusal.SOUNDNESS,
)
_STATED = 4
"""So many fields are always there."""
_MEANING: dict[Refusal, tuple[type[HandshakeError], str]] = {
    Refusal.MALFORMED: (HandshakeError, "the greeting is malformed; run the same cofit release everywhere"),
    Refusal.VERSION: (
        VersionMismatchError,
        "the two ends speak different protocol versions; install the same cofit release everywhere",
    ),
    Refusal.NAME: (
        HandshakeError,
        "the two ends disagree on who they are; check names, addresses and certificates in the study",
    ),
    Refusal.STUDY: (
        StudyMismatchError,
        "the two ends hold different studies (the hashes differ); compare the study files",
    ),
    Refusal.SCHEME: (
        SchemeMismatchError,
        "the two ends run different schemes; compare the 'scheme' of the study files",
    ),
    Refusal.PARTIES: (
        SchemeMismatchError,
        "the two ends run the scheme among different numbers of parties; compare the 'parties' of the study files",
    ),
    Refusal.THRESHOLD: (
        SchemeMismatchError,
        "the two ends differ in the 'threshold' of the scheme: how many parties may be corrupted together",
    ),
    Refusal.CORRELATIONS: (
        SchemeMismatchError,
        "the two ends differ in the 'correlations' of the scheme: where correlated randomness comes from, such as a "
        "dealer; compare the 'dealer' of the study files",
    ),
    Refusal.ROUTE: (
        SchemeMismatchError,
        "the two ends differ in the 'route' of the scheme: how products travel, which follows from the plan; run the "
        "same cofit release everywhere",
    ),
    Refusal.SOUNDNESS: (
        SchemeMismatchError,
        "the two ends differ in the soundness of the scheme: how surely its checks notice a lie; run the same cofit "
        "release everywhere",
    ),
    Refusal.SESSION: (
        SessionMismatchError,
        "the two ends are in different sessions of the study; start all parties anew together",
    ),
}


def refusal_error(peer: str, refusal: Refusal, *, by_peer: bool) -> HandshakeError:
    """Build the typed error of a refusal, at the end that refused or at the one that was refused."""
    kind, meaning = _MEANING[refusal]
    happened = f"{peer!r} refused our greeting" if by_peer else f"The greeting of {peer!r} was refused"
    return kind(peer, f"{happened}: {meaning}.")


def encode_hello(terms: Terms, sender: str, addressee: str) -> bytes:
    """Return the HELLO payload."""
    texts: list[int | bytes] = []
    for text in (terms.scheme, sender, addressee):
        raw = text.encode()
        texts += [len(raw), raw]
    return _HELLO.pack(terms.session, terms.study, *texts)


def judge_hello(payload: bytes, terms: Terms, own_name: str, peer: str) -> Refusal | None:
    """Compare a peer's HELLO with our terms; return why it must be refused, or None."""
    session, study, *texts = _HELLO.unpack(payload)
    try:
        scheme, sender, addressee = (_unpad(peer, texts[i], texts[i + 1]) for i in (0, 2, 4))
    except FrameError:
        return Refusal.MALFORMED
    if sender != peer or addressee != own_name:
        return Refusal.NAME
    if study != terms.study:
        return Refusal.STUDY
    if scheme != terms.scheme:
        return _differing(scheme, terms.scheme)
    if session != terms.session:
        return Refusal.SESSION
    return None


def _differing(theirs: str, ours: str) -> Refusal:
    """Return which field two different schemes differ in first."""
    fields = zip(_fields(theirs), _fields(ours), _FIELDS, strict=False)
    return next((refusal for their, our, refusal in fields if their != our), Refusal.SCHEME)


def _fields(scheme: str) -> list[str]:
    """Return the fields of a scheme, with those that are left out."""
    fields = scheme.split("/")
    return fields if len(fields) < _STATED else [*fields, *[""] * (len(_FIELDS) - len(fields))]


def _unpad(peer: str, size: int, raw: bytes) -> str:
    if not 0 < size <= MAX_NAME_BYTES or any(raw[size:]):
        raise FrameError(peer, "A text of the greeting has an impossible length or padding.")
    try:
        return raw[:size].decode()
    except UnicodeDecodeError:
        raise FrameError(peer, "A text of the greeting is not UTF-8.") from None
