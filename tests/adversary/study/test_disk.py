"""A party whose disk is full, and durability of what is acknowledged: nothing is lost and nothing is opened twice."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cofit.roles.files.audit import AuditFile, read_audit
from cofit.roles.party.state import PartyState
from support.nursery import until
from support.studies import PARTIES, Lab

MakeLab = Callable[..., Lab]
SETTINGS: dict[str, Any] = {
    "model": {"epochs": 12},
    "compute": {"checkpoint_epochs": 2, "timeout": 5, "connect_timeout": 5},
}


@contextlib.contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[None]:
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=0700", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path, leave: int) -> Path:
    """Fill the disk up to some bytes."""
    ballast = folder / ".ballast"
    descriptor = os.open(ballast, os.O_WRONLY | os.O_CREAT, 0o600)
    with contextlib.suppress(OSError):
        while True:
            os.write(descriptor, bytes(4096))
    os.close(descriptor)
    free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    os.truncate(ballast, max(0, ballast.stat().st_size - max(0, leave - free)))
    return ballast


def test_an_upload_that_does_not_fit_is_refused_and_goes_on_when_there_is_room(make_lab: MakeLab) -> None:
    lab = make_lab(rows=(3000, 3000), features=20, **SETTINGS)
    with small_disk(lab.state("party-c"), 3000):
        ballast = fill(lab.state("party-c"), 400_000)
        lab.start()
        lab.up()
        owner = lab.contribute("owner-a")
        until(lambda: "request of 'owner-a' failed" in lab.log("party-c"), "party-c tells of its disk")
        assert lab.children["party-c"].poll() is None, "a full disk does not end a party"
        ballast.unlink()
        if owner.wait(60):
            assert lab.contribute("owner-a").wait(60) == 0, lab.log("owner-a")
        assert lab.contribute("owner-b").wait(60) == 0, lab.log("owner-b")
        lab.wait_released()
        lab.check_one_release()
        lab.kill("party-c")


@pytest.mark.parametrize(
    "point",
    [
        "before charge",
        pytest.param("before save release", marks=pytest.mark.slow),
        pytest.param("before checkpoint", marks=pytest.mark.slow),
        pytest.param("before phase stored", marks=pytest.mark.slow),
        pytest.param("before begin opening", marks=pytest.mark.slow),
        pytest.param("before write published.json", marks=pytest.mark.slow),
        pytest.param("before phase released", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("leave", [0, pytest.param(6000, marks=pytest.mark.slow)])
def test_a_disk_that_is_full_from_some_point_on(make_lab: MakeLab, point: str, leave: int) -> None:
    lab = make_lab(**SETTINGS)
    with small_disk(lab.state("party-b"), 2000):
        lab.start("party-a", "party-c")
        lab.start("party-b", pause={point: 2.0})
        lab.contribute_all()
        until(lambda: point in lab.trace("party-b"), f"party-b is {point}")
        ballast = fill(lab.state("party-b"), leave)
        until(lambda: "failed" in lab.log("party-b") or lab.phase("party-b") == "released", "it tells")
        assert lab.children["party-b"].poll() is None, lab.log("party-b")
        lab.audit("party-b")
        ballast.unlink()
        lab.wait_released(90)
        lab.check_one_release()
        lab.kill("party-b")


@pytest.mark.parametrize("room", [1, 50, 199])
def test_an_audit_line_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """A disk that takes a part of a line and then no more: the chain holds, and later lines follow."""
    log = AuditFile(tmp_path / "audit.jsonl")
    log.write("first")
    write, left = os.write, [room]

    def full(descriptor: int, data: bytes | memoryview) -> int:
        if not left[0]:
            raise OSError(28, "No space left on device")
        done = write(descriptor, memoryview(data)[: left[0]])
        left[0] -= done
        return done

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            log.write("lost", text="x" * 300)
    log.write("second")
    log.close()
    assert [record["event"] for record in read_audit(tmp_path / "audit.jsonl")] == ["first", "second"]
    AuditFile(tmp_path / "audit.jsonl").close()


def test_an_upload_is_synced_before_it_counts_as_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file and its directory are synced after the last byte and before the fact that they are here."""
    state = PartyState(tmp_path / "state", "study", "party-a")
    digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"  # of b"x"
    state.begin_upload("owner", "u" * 32, {"files": {"f": {"size": 1, "sha256": digest}}})
    steps: list[str] = []
    fsync = os.fsync

    def synced(descriptor: int) -> None:
        steps.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    state._database.set_trace_callback(lambda statement: steps.append(statement.split()[0]))
    state.append("owner", "u" * 32, "f", 0, b"x")
    del steps[:]
    state.commit("owner", "u" * 32)
    (synchronous,) = state._database.execute("PRAGMA synchronous").fetchone()
    folder = next((tmp_path / "state" / "uploads").glob("*/*")).name
    order = [step for step in steps if step in ("f", folder, "UPDATE", "COMMIT")]
    assert order == ["f", folder, "UPDATE", "COMMIT"]
    assert synchronous >= 2, "SQLite syncs every transaction"
    state.close()


@pytest.mark.parametrize("jump", [-3e8, *(pytest.param(jump, marks=pytest.mark.slow) for jump in (3e8, -3600))])
def test_a_party_whose_clock_jumps(make_lab: MakeLab, jump: float) -> None:
    """The wall clock of one party jumps in the middle of everything, and again when it is killed and restarted."""
    jumping = (
        "import datetime, time\n"
        f"start, real, jump = time.monotonic(), datetime.datetime, {jump}\n"
        "class Jumping(real):\n"
        "    @classmethod\n"
        "    def now(cls, tz=None):\n"
        "        late = time.monotonic() - start > 0.5\n"
        "        return real.now(tz) + datetime.timedelta(seconds=jump if late else 0)\n"
        "import cofit.roles.files.audit, cofit.roles.files.ledger, cofit.roles.party.sessions\n"
        "for module in (cofit.roles.files.audit, cofit.roles.files.ledger, cofit.roles.party.sessions):\n"
        "    module.datetime = Jumping\n"
    )
    lab = make_lab(**SETTINGS)
    lab.start("party-a", before=jumping, die={"after open": 1})
    lab.start("party-b", "party-c")
    lab.contribute_all()
    assert lab.children["party-a"].wait() == -9
    lab.start("party-a")
    lab.wait_released()
    lab.check_one_release()
    assert all(lab.events(party).count("release stored") == 1 for party in PARTIES)
