"""What a program will ask of a source of correlated randomness: recorded beforehand, without values and messages.

The program runs on shares that hold nothing (``blank.py``), as it does at a meter and at a dealer; every member that
records the same program among as many parties comes to the same demand (``registry.recorded_demand``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from cofit.arithmetic.bits import packed_length
from cofit.sharing.blank import nothing
from cofit.sharing.correlations import Correlations, Demand, Digits, Mask, MaskDigits, MaskPieces, Request, Travelling

T = TypeVar("T")


class Recorder(Correlations):
    """A source that makes nothing and notes what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._demand: list[Request[Any]] = []
        self._count = 0

    @property
    def demand(self) -> Demand:
        """What was asked for, in order."""
        return tuple(self._demand)

    def _make(self, request: Request[T]) -> T:
        self._demand.append(request)
        result: Any = None
        if isinstance(request, Mask):
            self._count += 1
            result = MaskPieces((), self._count)
        elif isinstance(request, Digits):
            self._count += 1
            words = nothing(request.ring, (request.width, packed_length(request.count)))
            result = MaskDigits(words, self._count)
        answer: T = result
        return answer

    def _make_ahead(self, demand: Sequence[Request[Any]]) -> Sequence[Any]:
        return [self._make(request) for request in demand]

    def position(self, rank: int) -> int:
        return self.asked

    def travelling(self) -> Travelling:
        return Travelling({}, {})

    def start(self, session: bytes) -> None:
        """There is nothing to begin with."""
