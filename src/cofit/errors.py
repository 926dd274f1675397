"""Every error that cofit raises on purpose.

One family per cause, so that a caller can catch what it can act on. Messages name what is wrong, where, and
what to do; they never contain a secret, a share or a key.
"""

from __future__ import annotations


class CofitError(Exception):
    """The root of all errors raised on purpose."""


# --- what a caller passed in -----------------------------------------------------------------------------


class PlanWarning(UserWarning):
    """Public facts let expect a poor model: too few rows for the noise, a budget that is badly divided."""


class InvalidInputError(CofitError, ValueError):
    """An argument has the wrong type, value or combination."""


class ShapeError(InvalidInputError):
    """Array shapes do not fit together."""


class RingMismatchError(InvalidInputError):
    """Values of different rings meet in one operation."""


class FormatMismatchError(InvalidInputError):
    """Values with different fixed-point formats meet in one operation."""


class RangeError(InvalidInputError):
    """A value, or a result that is possible by public bounds, does not fit: refused instead of wrapped."""


class StateError(CofitError):
    """A state directory cannot be used, or what was asked contradicts what is in it."""


class BudgetExceededError(CofitError):
    """A study would spend more epsilon or delta of a data set than its owner allows."""


class OneClassWarning(UserWarning):
    """A model predicted one class for all rows of a large table. A warning, and no error."""


class OtherReleaseWarning(UserWarning):
    """A model was written by another release of cofit, which this one cannot check in full. A warning, and no error."""


class VerificationError(CofitError):
    """What a model file states does not hold: it was changed, or was never what it says."""


def parameter_error(
    parameter: str,
    owner: str,
    must_be: str,
    got: object,
    kind: type[InvalidInputError] = InvalidInputError,
) -> InvalidInputError:
    """Build the house error: "The 'x' parameter of Y must be ... Got ... instead."."""
    return kind(f"The '{parameter}' parameter of {owner} must be {must_be}. Got {got!r} instead.")


# --- what happened on the way to a peer ------------------------------------------------------------------


class TransportError(CofitError):
    """Something went wrong on the way to a peer. ``peer`` is the peer's name."""

    def __init__(self, peer: str, message: str) -> None:
        super().__init__(message)
        self.peer = peer

    def __reduce__(self) -> tuple[type[TransportError], tuple[str, ...]]:
        return type(self), (self.peer, str(self))


class HandshakeError(TransportError):
    """The peer was refused, or refused us, before any protocol message was exchanged."""


class CertificateError(HandshakeError):
    """The peer's certificate is not the pinned one."""


class VersionMismatchError(HandshakeError):
    """The peer speaks another version of the wire protocol."""


class StudyMismatchError(HandshakeError):
    """The peer agreed to another study (its hash differs)."""


class SchemeMismatchError(HandshakeError):
    """The peer runs another secret-sharing scheme or ring."""


class SessionMismatchError(HandshakeError):
    """The peer belongs to another session of the same study."""


class FrameError(TransportError):
    """The peer sent bytes that are not a valid next frame."""


class OversizedFrameError(FrameError):
    """A frame announces more bytes than expected or allowed; nothing was allocated for it."""


class SequenceError(FrameError):
    """A frame came twice, out of order, or from another step of the program."""


class PeerClosedError(TransportError):
    """The peer closed the connection (or died) in the middle."""


class PeerSilentError(TransportError):
    """The peer sent or accepted nothing for the agreed time."""


class PeerAbortedError(TransportError):
    """The peer gave up and said why. ``culprit`` names the party it blames: itself, another, or us."""

    def __init__(self, peer: str, message: str, culprit: str | None = None) -> None:
        super().__init__(peer, message)
        self.culprit = peer if culprit is None else culprit

    def __reduce__(self) -> tuple[type[TransportError], tuple[str, ...]]:
        return type(self), (self.peer, str(self), self.culprit)


class MeshClosedError(TransportError):
    """The mesh was closed, or died of an earlier error: it carries no further message."""


# --- what a protocol found out ---------------------------------------------------------------------------


class ProtocolError(CofitError):
    """A check inside a protocol failed. Terminal: the run is abandoned and never resumed."""


class DisputeError(ProtocolError):
    """What one party says is not what another one says: at least one of ``parties`` cheats or is broken, and it is not
    the party that raises this.
    """

    def __init__(self, message: str, parties: tuple[str, ...]) -> None:
        super().__init__(message)
        self.parties = parties

    def __reduce__(self) -> tuple[type[DisputeError], tuple[str, tuple[str, ...]]]:
        return type(self), (str(self), self.parties)


class StoppedError(CofitError):
    """A member of a run was stopped because another one failed."""


class PartyFailedError(CofitError):
    """A member of a run failed. ``party`` names the culprit: a member with an error of its own, or else the one that
    the others saw fail (silent, gone, misbehaving; all of those in dispute). ``__cause__`` is the error closest to the
    cause, and ``failures`` maps every failed member's name to its error.
    """

    def __init__(self, party: str, message: str, failures: dict[str, BaseException] | None = None) -> None:
        super().__init__(message)
        self.party = party
        self.failures = failures or {}

    def __reduce__(self) -> tuple[type[PartyFailedError], tuple[str, str, dict[str, BaseException]]]:
        return type(self), (self.party, str(self), self.failures)
