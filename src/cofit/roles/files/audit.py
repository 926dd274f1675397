"""The audit log of a process on disk: append-only JSON lines, each chained to the one before by its hash.

A line is {"n": 7, "time": "2026-...", "event": "...", ..., "previous": "<hash of line 6>", "hash": "<of this line>"},
where ``hash`` is the SHA-256 of the line's JSON (sorted keys) without ``hash``. Whoever holds a later line can tell
whether an earlier one was changed, removed or put in. It holds public facts only: what happened, when, with whom; never
values, shares, or anything that depends on data.

A line is on disk when ``write`` returns. A line that a crash cut short is set aside at the next start, and said so.

What peers can bring about as often as they like is noted with ``note``: of one event about one peer so many lines a day
(``day_counts``) are written out, with their number of the day, and what comes after is summed up in lines
{"event": "summary", "of": "request refused", "peer": "owner-a", "day": "2026-...", "written": 100, "more": 4711, ...}.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from cofit.errors import InvalidInputError
from cofit.roles.files.day_counts import FULL_LINES, NUMBER, SUMMARY, DayCounts, Summary

Fact: TypeAlias = str | int | float | bool | list[Any] | dict[str, Any] | None
_START = "0" * 64
_RESERVED = {"n", "time", "event", "previous", "hash"}


def _now() -> datetime:
    return datetime.now(UTC)


class AuditFile:
    """The audit log of one process, open for appending. ``clock``: the time in UTC."""

    def __init__(self, path: str | Path, clock: Callable[[], datetime] = _now) -> None:
        self._path = Path(path)
        self._lock = threading.RLock()
        self._clock = clock
        self._counts = DayCounts(self._today())
        kept, cut = _complete_lines(self._path)
        self._number, self._previous = 0, _START
        for record in _checked(kept, self._path):
            self._number, self._previous = record["n"], record["hash"]
            self._counts.recall(record)
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        if cut:
            os.ftruncate(self._descriptor, len(kept))
            self.write("log repaired", bytes_cut=len(cut))

    def write(self, event: str, **facts: Fact) -> None:
        """Append one line, durably."""
        if taken := _RESERVED & facts.keys():
            raise InvalidInputError(f"An audit record names these fields itself: {sorted(taken)}.")
        with self._lock:
            number = self._number + 1
            record: dict[str, Fact] = {
                "n": number,
                "time": self._clock().isoformat(timespec="milliseconds"),
                "event": event,
                **facts,
                "previous": self._previous,
            }
            digest = _digest(record)
            line = json.dumps({**record, "hash": digest}, sort_keys=True, allow_nan=False).encode() + b"\n"
            self._append(line)
            self._number, self._previous = number, digest

    def note(self, event: str, peer: str | None, **facts: Fact) -> bool:
        """Append a line about what a peer did (None: a stranger), or, beyond the lines of the day, count it.

        True if it is written out. What is only counted is on disk with the next summary.
        """
        with self._lock:
            self.end_day()
            number = self._counts.add(event, peer)
            if number <= FULL_LINES:
                self.write(event, peer=peer, **{NUMBER: number}, **facts)
            elif (summary := self._counts.due(event, peer)) is not None:
                self._sum_up(summary)
            return number <= FULL_LINES

    def end_day(self) -> None:
        """Sum up the day of the last note, if it is over. To be called now and then."""
        with self._lock:
            today = self._today()
            if today != self._counts.day:
                self._sum_up(*self._counts.untold())
                self._counts = DayCounts(today)

    def _sum_up(self, *summaries: Summary) -> None:
        for summary in summaries:
            self.write(SUMMARY, **summary.facts())
            self._counts.tell(summary)

    def _today(self) -> str:
        return self._clock().date().isoformat()

    def _append(self, line: bytes) -> None:
        """Write a whole line, or, where the disk is full, nothing."""
        size = os.fstat(self._descriptor).st_size
        try:
            view = memoryview(line)
            while view:
                view = view[os.write(self._descriptor, view) :]
            os.fsync(self._descriptor)
        except OSError:
            os.ftruncate(self._descriptor, size)
            raise

    def close(self) -> None:
        """Sum up the day, as far as the disk lets us, and close the file. Closing twice is fine."""
        with self._lock:
            if self._descriptor >= 0:
                with contextlib.suppress(OSError):
                    self._sum_up(*self._counts.untold())
                os.close(self._descriptor)
                self._descriptor = -1


def read_audit(path: str | Path) -> list[dict[str, Any]]:
    """Return all records of a log, or raise InvalidInputError with the number of the line where the chain breaks."""
    path = Path(path)
    kept, _ = _complete_lines(path)
    return list(_checked(kept, path))


def _complete_lines(path: Path) -> tuple[bytes, bytes]:
    """Return what is there up to the last line end, and the rest."""
    data = path.read_bytes() if path.exists() else b""
    end = data.rfind(b"\n") + 1
    return data[:end], data[end:]


def _checked(data: bytes, path: Path) -> Iterator[dict[str, Any]]:
    previous = _START
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            record = json.loads(line)
            claimed = record.pop("hash")
            intact = record["n"] == number and record["previous"] == previous and _digest(record) == claimed
        except (ValueError, KeyError, TypeError, AttributeError):
            intact = False
        if not intact:
            raise InvalidInputError(
                f"Line {number} of the audit log {path.name} was changed, or lines before it are missing or added. "
                f"Move the file away as evidence, and keep everything else in its directory."
            )
        previous = claimed
        yield {**record, "hash": claimed}


def _digest(record: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True, allow_nan=False).encode()).hexdigest()
