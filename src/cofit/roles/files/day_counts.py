"""How often each event of a day was noted about each peer: so that whoever is refused all day cannot fill a disk.

Of one event about one peer ``FULL_LINES`` lines a day are written out. What comes after is counted, and the count is
told at 1, 10, 100 ... and when the day or the process ends: about ten lines for a billion events. The counts of the day
are found again in the log itself, so a restart gives nobody new lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

FULL_LINES = 100
"""How many lines a day about one event and peer are written out."""
SUMMARY = "summary"
NUMBER = "of_day"
"""The field of a line that was written out: its number among those of the day about the same event and peer."""


@dataclass(frozen=True)
class Summary:
    """That ``event`` happened ``more`` times about ``peer`` on ``day`` beyond the lines that were written out.

    The last summary of a day has the count of the whole day.
    """

    event: str
    peer: str | None
    day: str
    more: int

    def facts(self) -> dict[str, str | int | None]:
        """What its line says."""
        return {"of": self.event, "peer": self.peer, "day": self.day, "written": FULL_LINES, "more": self.more}


class DayCounts:
    """The counts of one day (a date in ISO form). Another day, earlier or later, begins anew."""

    def __init__(self, day: str) -> None:
        self.day = day
        self._counts: dict[tuple[str, str | None], int] = {}
        self._told: dict[tuple[str, str | None], int] = {}

    def recall(self, record: Mapping[str, Any]) -> None:
        """Take into account a line that is in the log already."""
        if record["event"] == SUMMARY and record.get("day") == self.day:
            key = record["of"], record["peer"]
            self._told[key] = record["more"]
            self._counts[key] = max(self._counts.get(key, 0), record["written"] + record["more"])
        elif NUMBER in record and str(record["time"]).startswith(self.day):
            key = record["event"], record["peer"]
            self._counts[key] = max(self._counts.get(key, 0), record[NUMBER])

    def add(self, event: str, peer: str | None) -> int:
        """Count one more; return how many there are today."""
        key = event, peer
        self._counts[key] = self._counts.get(key, 0) + 1
        return self._counts[key]

    def due(self, event: str, peer: str | None) -> Summary | None:
        """Return what must be told now of an event that is not written out: at 1, 10, 100 ..., None otherwise."""
        more = self._counts[event, peer] - FULL_LINES
        return self._summary(event, peer) if set(str(more)[1:]) <= {"0"} and str(more)[0] == "1" else None

    def untold(self) -> Iterator[Summary]:
        """What has changed since it was told last."""
        for (event, peer), count in list(self._counts.items()):
            if count - FULL_LINES > self._told.get((event, peer), 0):
                yield self._summary(event, peer)

    def tell(self, summary: Summary) -> None:
        """Note that a summary is in the log."""
        self._told[summary.event, summary.peer] = summary.more

    def _summary(self, event: str, peer: str | None) -> Summary:
        return Summary(event, peer, self.day, self._counts[event, peer] - FULL_LINES)
