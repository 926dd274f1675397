"""What peers can bring about without end: so many lines a day, then sums, and a restart gives nobody new lines."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cofit.roles.files.audit import AuditFile, read_audit
from cofit.roles.files.day_counts import FULL_LINES


class Clock:
    """Noon of some day, and later."""

    now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def refuse(log: AuditFile, times: int, peer: str | None = "owner-a", event: str = "request refused") -> int:
    return sum(log.note(event, peer, request="x", why="y") for _ in range(times))


def sums(path: Path, peer: str | None = "owner-a", event: str = "request refused") -> list[tuple[str, int]]:
    found = [r for r in read_audit(path) if r["event"] == "summary" and (r["of"], r["peer"]) == (event, peer)]
    return [(record["day"], record["more"]) for record in found]


def lines(path: Path, event: str = "request refused") -> list[dict[str, Any]]:
    return [record for record in read_audit(path) if record["event"] == event]


def test_so_many_lines_are_written_out_and_the_rest_is_summed_up(path: Path, clock: Clock) -> None:
    log = AuditFile(path, clock)
    assert refuse(log, 5000) == FULL_LINES
    assert [record["of_day"] for record in lines(path)] == list(range(1, FULL_LINES + 1))
    assert [more for _, more in sums(path)] == [1, 10, 100, 1000]
    log.close()
    assert sums(path)[-1] == ("2026-03-01", 5000 - FULL_LINES)


def test_peers_strangers_and_events_have_lines_of_their_own(path: Path, clock: Clock) -> None:
    log = AuditFile(path, clock)
    for peer in ("owner-a", "owner-b", None):
        for event in ("request refused", "connection refused"):
            assert refuse(log, 300, peer, event) == FULL_LINES
    log.write("released")
    assert lines(path, "released"), "what is not noted about a peer is always written"
    log.close()
    assert {sums(path, peer)[-1][1] for peer in ("owner-a", "owner-b", None)} == {200}


@pytest.mark.parametrize("killed", [False, True])
def test_a_restart_gives_no_new_lines(path: Path, clock: Clock, killed: bool) -> None:
    total = 0
    for _ in range(20):
        log = AuditFile(path, clock)
        total += refuse(log, 60)
        if killed:
            os.close(log._descriptor)
        else:
            log.close()
    assert total == len(lines(path)) == FULL_LINES
    told = sums(path)[-1][1]
    assert told == (10 if killed else 1100), "a kill loses what was counted since the last sum"
    assert len(read_audit(path)) < FULL_LINES + 30


def test_a_new_day_begins_with_the_sum_of_the_last(path: Path, clock: Clock) -> None:
    log = AuditFile(path, clock)
    refuse(log, 137)
    clock.now += timedelta(days=1)
    log.end_day()
    assert sums(path)[-1] == ("2026-03-01", 37)
    log.end_day()
    assert refuse(log, 137) == FULL_LINES
    clock.now += timedelta(days=3)
    assert refuse(log, 1) == 1
    assert [(day, more) for day, more in sums(path) if more == 37] == [("2026-03-01", 37), ("2026-03-02", 37)]
    log.close()
    assert len(sums(path)) == 6, "1, 10 and the last of two days"


def test_a_clock_that_goes_back_gives_one_more_day_and_breaks_nothing(path: Path, clock: Clock) -> None:
    log = AuditFile(path, clock)
    refuse(log, 200)
    clock.now -= timedelta(days=400)
    assert refuse(log, 200) == FULL_LINES
    clock.now += timedelta(days=400)
    log.close()
    again = AuditFile(path, clock)
    assert refuse(again, 50) == 0, "the lines of that day are used up"
    again.close()
    read_audit(path)


def test_lines_and_sums_are_synced_before_note_returns(
    path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = AuditFile(path, clock)
    synced, fsync = [0], os.fsync

    def count(descriptor: int) -> None:
        fsync(descriptor)
        synced[0] = os.fstat(descriptor).st_size

    monkeypatch.setattr(os, "fsync", count)
    for _ in range(FULL_LINES + 100):
        refuse(log, 1)
        assert synced[0] == path.stat().st_size
    log.close()
    assert synced[0] == path.stat().st_size


def test_a_full_disk_at_the_end_of_a_day_loses_nothing(
    path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = AuditFile(path, clock)
    refuse(log, 150)
    clock.now += timedelta(days=1)
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        for _ in range(3):
            with pytest.raises(OSError, match="No space"):
                log.end_day()
    log.end_day()
    assert sums(path)[-1] == ("2026-03-01", 50)
    log.close()
