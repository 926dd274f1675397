"""The audit log: one record for every value that a party program opens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cofit.arithmetic import Shape


@dataclass(frozen=True)
class Opening:
    """What was opened, why, and who learned it. Never the value."""

    number: int
    reason: str
    kind: str
    shape: Shape
    learned_by: tuple[str, ...]


class AuditLog:
    """The openings of one run, in order. ``sink`` is called with each record *before* the value is opened."""

    def __init__(self, sink: Callable[[Opening], None] | None = None) -> None:
        self._records: list[Opening] = []
        self._sink = sink

    def record(self, reason: str, kind: str, shape: Shape, learned_by: tuple[str, ...]) -> Opening:
        """Write one record."""
        opening = Opening(len(self._records) + 1, reason, kind, shape, learned_by)
        self._records.append(opening)
        if self._sink is not None:
            self._sink(opening)
        return opening

    @property
    def openings(self) -> tuple[Opening, ...]:
        """All records so far."""
        return tuple(self._records)
