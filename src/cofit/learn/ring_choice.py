"""Why a plan needs the larger ring: what the smaller one did not hold."""

from __future__ import annotations

from cofit.errors import RangeError


class SmallRingError(RangeError):
    """A ring is too small for a plan. ``reason``: what it does not hold, and what would help, in half a sentence."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


def reason_of(refusal: RangeError) -> str:
    """Return why a ring was refused: half a sentence, without a full stop."""
    return refusal.reason if isinstance(refusal, SmallRingError) else str(refusal).rstrip(".")
