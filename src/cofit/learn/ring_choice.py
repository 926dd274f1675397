"""The rings that a plan may take, and why it needs the larger one: what the smaller one did not hold."""

from __future__ import annotations

from cofit.arithmetic import Z64, Z128, IntegerRing
from cofit.errors import RangeError

RINGS: tuple[IntegerRing, ...] = (Z64, Z128)
"""From the cheapest to the largest: a plan takes the first that holds what it computes. All of them reduce to fewer
bits, which the check of rows rests on (``row_check_proof.md``).
"""


class SmallRingError(RangeError):
    """A ring is too small for a plan. ``reason``: what it does not hold, and what would help, in half a sentence."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


def reason_of(refusal: RangeError) -> str:
    """Return why a ring was refused: half a sentence, without a full stop."""
    return refusal.reason if isinstance(refusal, SmallRingError) else str(refusal).rstrip(".")
