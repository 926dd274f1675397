"""The one-time-pad argument by machine: which draw is in which message, and how.

All parties run an operation with scripted generators; then again, with one draw shifted by a constant D at all its
holders. Comparing the messages to a receiver that lacks the draw's seed shows which of them the draw is in.

Messages to a receiver are jointly uniform, whatever the secrets are, if they can be put into an order in which each one
contains, plus or minus once, a draw that is in none of the messages before it. ``unsettled`` looks for such an order
from its end: a draw that changes exactly one of the remaining messages, by exactly +-D, settles that message. What
cannot be settled is not proved to be hidden. Reused, missing or known masks all leave something over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, IntegerRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.sharing import Share
from cofit.sharing.member import Member
from cofit.sharing.rep3.party import Rep3

_SHIFT = 0x0123456789ABCDEF


class Recorder(Member):
    """Beside a scheme, as its first base class: hands all that arrives after the set-up to ``received``."""

    def received(self, operation: str, arrays: Mapping[int, RingArray]) -> None:
        """Take what has arrived in one exchange, by the rank that sent it."""

    def _exchange(
        self,
        operation: str,
        send: Mapping[int, Sequence[RingArray]] | None = None,
        receive: Mapping[int, RingArray] | None = None,
    ) -> None:
        super()._exchange(operation, send, receive)
        if operation != "setup":
            self.received(operation, receive or {})


def constant(ring: Ring, shape: Shape) -> RingArray:
    """The shift D, everywhere."""
    value = ring.from_int(np.array(_SHIFT, dtype=object) if isinstance(ring, IntegerRing) else np.uint64(_SHIFT))
    return np.broadcast_to(value, shape).copy()


def shifted_numbers(numbers: RingArray, sign: int = 1) -> RingArray:
    """Numbers of a few bytes, a row of bytes each, plus or minus D."""
    size = numbers.shape[1]
    moved = [(int.from_bytes(row.tobytes(), "little") + sign * _SHIFT) % (1 << 8 * size) for row in numbers]
    return np.frombuffer(b"".join(number.to_bytes(size, "little") for number in moved), np.uint8).reshape(-1, size)


def unsettled(plain: Sequence[RingArray], shifted: Sequence[Sequence[RingArray]]) -> list[int]:
    """Return which messages are not proved to be hidden, given all of them as they are and with each draw shifted."""
    effects = [[_effect(a, b) for a, b in zip(plain, changed, strict=True)] for changed in shifted]
    return unsettled_by(effects, len(plain))


def unsettled_by(effects: Sequence[Sequence[str]], count: int) -> list[int]:
    """The same, given how each draw changes each of the messages: 'none', 'shift' or 'otherwise'."""
    remaining = set(range(count))
    progress = True
    while progress and remaining:
        progress = False
        for changes in effects:
            hit = [i for i in remaining if changes[i] != "none"]
            if len(hit) == 1 and changes[hit[0]] == "shift":
                remaining.discard(hit[0])
                progress = True
    return sorted(remaining)


def _effect(plain: RingArray, changed: RingArray) -> str:
    """How a shifted draw changed a message: not at all, by exactly plus or minus the shift, or otherwise."""
    if np.array_equal(plain, changed):
        return "none"
    if plain.dtype == np.uint8:  # numbers of a few bytes, a row each
        moved = {tuple(shifted_numbers(plain, sign).reshape(-1)) for sign in (1, -1)}
        return "shift" if tuple(changed.reshape(-1)) in moved else "otherwise"
    rings: list[Ring] = [BITS] if plain.dtype == np.uint64 else []
    rings += [ring for ring in (Z64, Z128) if ring.dtype == plain.dtype]
    for ring in rings:
        shift = constant(ring, plain.shape)
        if np.array_equal(ring.add(plain, shift), changed) or np.array_equal(ring.sub(plain, shift), changed):
            return "shift"
    return "otherwise"


def without_zero_sharing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break ``rep3``: what a product reshares has no mask of a sharing of zero."""
    drawn = Rep3._masks

    def masks(self: Rep3, ring: Ring, shape: Shape, shift: int, plus: Share | None) -> Any:
        found = drawn(self, ring, shape, shift, plus)
        if not shift:
            found.minus.clear()
            del found.plus[0 if plus is None else 1]
        return found

    monkeypatch.setattr(Rep3, "_masks", masks)
