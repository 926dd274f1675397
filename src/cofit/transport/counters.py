"""Exact counts of rounds, messages and bytes, per protocol label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass

from cofit.transport.frames import HEADER_BYTES


@dataclass(frozen=True)
class LabelCounts:
    """What one party did under one label. Bytes are payload bytes; wire bytes add the frame headers.

    Wire bytes leave out the greeting, notices of waiting or abort, and what TLS and TCP add.
    """

    rounds: int = 0
    messages_sent: int = 0
    messages_received: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    wire_bytes_sent: int = 0

    def __add__(self, other: LabelCounts) -> LabelCounts:
        return LabelCounts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: LabelCounts) -> LabelCounts:
        return LabelCounts(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class Counts(Mapping[str, LabelCounts]):
    """The counts of all labels at one moment: immutable, comparable, and a mapping from label to counts.

    A label that never occurred has zero counts when asked with ``get_or_zero``.
    """

    entries: tuple[tuple[str, LabelCounts], ...] = ()

    def __getitem__(self, label: str) -> LabelCounts:
        for name, counts in self.entries:
            if name == label:
                return counts
        raise KeyError(label)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def get_or_zero(self, label: str) -> LabelCounts:
        """Return the counts of ``label``, zero where it never occurred."""
        return self.get(label, LabelCounts())

    @property
    def total(self) -> LabelCounts:
        """The sum over all labels."""
        return sum((counts for _, counts in self.entries), LabelCounts())

    def __sub__(self, earlier: Counts) -> Counts:
        """Return what happened since ``earlier``; labels without any change are left out."""
        zero = LabelCounts()
        changes = ((label, counts - earlier.get_or_zero(label)) for label, counts in self.entries)
        return Counts(tuple((label, change) for label, change in changes if change != zero))


class Counters:
    """The running counts of one mesh. Only a completed exchange counts."""

    def __init__(self) -> None:
        self._labels: dict[str, list[int]] = {}

    def add(self, label: str, sent: int, bytes_sent: int, received: int, bytes_received: int) -> None:
        """Count one exchange: a round if it waited for at least one message."""
        counts = self._labels.get(label)
        if counts is None:
            counts = self._labels[label] = [0] * 6
        if received:
            counts[0] += 1
            counts[2] += received
            counts[4] += bytes_received
        counts[1] += sent
        counts[3] += bytes_sent
        counts[5] += bytes_sent + sent * HEADER_BYTES

    def snapshot(self) -> Counts:
        """Return the counts of this moment."""
        return Counts(tuple((label, LabelCounts(*counts)) for label, counts in sorted(self._labels.items())))
