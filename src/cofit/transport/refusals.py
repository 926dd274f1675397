"""Who was turned away at the port and why: counted and reported always, logged within limits."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum

from cofit.errors import (
    FrameError,
    SchemeMismatchError,
    SessionMismatchError,
    StudyMismatchError,
    TransportError,
    VersionMismatchError,
)
from cofit.transport.rates import TokenBuckets

_log = logging.getLogger(__name__)
_LINES_PER_SECOND = 1 / 600
_LINES_AT_ONCE = 50

OnRefusal = Callable[[str, "str | None", str], object]
"""Called with the kind of a refusal, the peer's name (None unless it authenticated), and its network address."""


class Refused(StrEnum):
    """The kinds of refusals."""

    NO_ROOM = "no-room"
    """Dropped at random: too many connections that had not authenticated."""
    SILENT = "silent"
    """It did not authenticate and greet in time."""
    CLOSED = "closed"
    """It closed the connection before it had authenticated and greeted."""
    NO_TLS = "no-tls"
    """No TLS 1.3 with a certificate."""
    CERTIFICATE = "certificate"
    """Its certificate is not pinned."""
    EXPIRED = "expired"
    """Its certificate has expired or is not yet valid."""
    OUR_CERTIFICATE = "our-certificate"
    """It rejected our certificate."""
    PROTOCOL = "protocol"
    """It did not say by ALPN which protocol it wants, or wants an unknown one."""
    NOT_A_PARTY = "not-a-party"
    """A participant that is no computing party asked for the mesh."""
    ADDRESS_RATE = "address-rate"
    """Too many connections from one address."""
    PEER_RATE = "peer-rate"
    """Too many connections of one participant."""
    BUSY = "busy"
    """Too many conversations at once, of one participant or in all."""
    VERSION = "version"
    STUDY = "study"
    SCHEME = "scheme"
    SESSION = "session"
    GREETING = "greeting"
    """Another fault of the greeting, such as a wrong name."""
    RESUMPTION = "resumption"
    """It wanted to go on with a line, and could not prove that it is the process at its other end."""
    FRAME = "frame"
    """A participant sent bytes that are not a valid message."""
    FAILED = "failed"
    """The handler of a conversation failed; not the participant's fault for all we know."""


EXPLAINED: dict[Refused, str] = {
    Refused.NO_ROOM: "too many connections at once had not said who they are",
    Refused.SILENT: "it did not say in time who it is",
    Refused.CLOSED: "it closed the connection before it had said who it is",
    Refused.NO_TLS: "it does not speak TLS 1.3 with a certificate",
    Refused.CERTIFICATE: "its certificate is none of the study's",
    Refused.EXPIRED: "its certificate has expired or is not yet valid; look at both clocks",
    Refused.OUR_CERTIFICATE: "it does not accept our certificate: its study may have another one of ours",
    Refused.PROTOCOL: "it wants a protocol that this release does not speak",
    Refused.NOT_A_PARTY: "only computing parties may ask for that",
    Refused.ADDRESS_RATE: "too many connections from its address",
    Refused.PEER_RATE: "too many connections of this participant",
    Refused.BUSY: "too many conversations at once",
    Refused.VERSION: "it runs another release of cofit",
    Refused.STUDY: "it holds another study: compare the hashes that `cofit check` prints",
    Refused.SCHEME: "it runs another scheme",
    Refused.SESSION: "it belongs to another session",
    Refused.GREETING: "its greeting does not fit: compare names, addresses and certificates",
    Refused.RESUMPTION: "it could not prove that it is who was there before the line broke",
    Refused.FRAME: "it sent bytes that are no valid message",
    Refused.FAILED: "answering it failed here",
}
"""Each kind in words, for the log."""
_KINDS: tuple[tuple[type[TransportError], Refused], ...] = (
    (StudyMismatchError, Refused.STUDY),
    (SchemeMismatchError, Refused.SCHEME),
    (SessionMismatchError, Refused.SESSION),
    (VersionMismatchError, Refused.VERSION),
    (FrameError, Refused.FRAME),
)


def kind_of(error: TransportError) -> Refused:
    """Return the kind of refusal that an error of the greeting means."""
    return next((kind for family, kind in _KINDS if isinstance(error, family)), Refused.GREETING)


class Refusals:
    """Counts refusals, and reports each to ``report``, if given, from the thread where they happen.

    A flood of strangers must not become a flood of log lines: of one kind and participant at most 50 are logged at once
    and one in ten minutes in the long run. A report that fails is logged likewise, and disturbs nobody.
    """

    def __init__(self, report: OnRefusal | None = None) -> None:
        self._report = report
        self._counts: Counter[str] = Counter()
        self._lines = TokenBuckets(_LINES_PER_SECOND, _LINES_AT_ONCE)
        self._lock = threading.Lock()

    @property
    def counts(self) -> Mapping[str, int]:
        """How many refusals of each kind there were so far."""
        with self._lock:
            return dict(self._counts)

    def add(self, kind: Refused, peer: str | None, address: str) -> None:
        """Note one refusal."""
        with self._lock:
            self._counts[kind.value] += 1
        if self._report is None:
            return
        try:
            self._report(kind.value, peer, address)
        except Exception as error:
            if self.loggable(Refused.FAILED, peer):
                _log.error("A refusal (%s) could not be reported: %s.", kind.value, type(error).__name__)

    def loggable(self, kind: Refused, peer: str | None) -> bool:
        """Whether a line about such a refusal may be logged now; asking uses it up."""
        with self._lock:
            return self._lines.take(f"{kind.value} {peer or ''}", time.monotonic())
