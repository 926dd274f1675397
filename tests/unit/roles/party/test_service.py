"""The party as a service: any order, restarts, disks that are full, bugs, and one release for everybody."""

from __future__ import annotations

import errno
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from cofit.errors import ProtocolError, TransportError
from cofit.roles.analyst.fetch import fetch_release, statuses
from cofit.roles.files.durable import write_durably
from cofit.roles.files.keys import load_key
from cofit.roles.files.ledger import Ledger
from cofit.roles.files.release_store import FileStore
from cofit.roles.jobs.job import Work
from cofit.roles.jobs.training import Training
from cofit.roles.party import publication
from cofit.roles.party import sessions as party_sessions
from cofit.roles.party.state import PartyState
from cofit.secret import SecretArray
from unit.roles.loopback import PARTIES, Loopback, until
from unit.roles.party.faults import analyst, events, once


def test_any_order_and_one_release_for_everybody(site: Loopback, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "cofit")
    site.start("party-c", "party-a", until_released=True)
    time.sleep(0.3)
    site.start("party-b", until_released=True)
    site.contribute()
    site.join()
    assert site.ended == dict.fromkeys(PARTIES, "released")
    copies = {(site.state(name) / "published.json").read_text() for name in PARTIES}
    assert len(copies) == 1
    for name in PARTIES:
        assert not (site.state(name) / "checkpoints").exists()
        found = events(site, name)
        order = ["contributions sealed", "session begins", "release stored", "opening", "released", "stopped"]
        assert [event for event in found if event in order] == order
    told = [record.getMessage() for record in caplog.records]
    assert any("(2 of 2)" in line for line in told)
    assert any(line.startswith("train: epoch 6 of 6 (100%)") for line in told)
    assert any("answers at 127.0.0.1" in line for line in told)
    assert told.count("release") == len(PARTIES), "a step without a count is told once by each"


def test_charged_and_stored_before_the_opening_begins(site: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[bool, ...]] = []
    begin = PartyState.begin_opening

    def look(self: PartyState, number: int) -> None:
        ledger = Ledger(self.directory / "ledger.sqlite").charges()
        stored = (self.directory / "release").exists() and self.phase == "stored"
        seen.append((len(ledger) == 1, stored, not self.opening_begun()))
        begin(self, number)

    monkeypatch.setattr(PartyState, "begin_opening", look)
    site.start(until_released=True)
    site.contribute()
    site.join()
    assert seen == [(True, True, True)] * 3


@pytest.mark.parametrize("late", [pytest.param("party-a", marks=pytest.mark.slow), "party-c"])
def test_a_released_party_opens_again_for_one_that_has_not_published(
    site: Loopback, late: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One party cannot publish; the others are released, and take part again until it can."""
    blocked = threading.Event()

    def full(path: Path, data: bytes, **options: Any) -> None:
        if path.name == "published.json" and f"{late}.state" in str(path) and not blocked.is_set():
            raise OSError(errno.ENOSPC, "No space left on device")
        write_durably(path, data, **options)

    monkeypatch.setattr(publication, "write_durably", full)
    site.start()
    site.contribute()
    others = [name for name in PARTIES if name != late]
    until(lambda: site.released(*others))
    before = (site.state(others[0]) / "release").read_bytes()
    site.stop(*others)
    blocked.set()
    site.start(*others)
    until(site.released)
    assert (site.state(others[0]) / "release").read_bytes() == before, "the same shares, not new ones"
    copies = {(site.state(name) / "published.json").read_text() for name in PARTIES}
    assert len(copies) == 1
    fetch_release(site.study, load_key(site.study, site.folder / "analyst.key"))


def test_a_party_that_stops_while_all_are_storing_ends_nothing(site: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """One party has not stored when the others have: nothing was opened, and they draw again."""
    error = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(FileStore, "save", once("party-b.state", FileStore.save, error))
    site.start(until_released=True)
    site.contribute()
    site.join()
    assert site.ended == dict.fromkeys(PARTIES, "released")
    for name in ("party-a", "party-c"):
        assert events(site, name).count("stored release discarded") == 1
        assert len(Ledger(site.state(name) / "ledger.sqlite").charges()) == 1
    assert "stored release discarded" not in events(site, "party-b")


def test_a_record_that_is_lost_after_the_opening_began_is_not_drawn_again(
    site: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note of the opening at any party forbids to discard."""

    def full(path: Path, data: bytes, **options: Any) -> None:
        if path.name == "published.json":
            raise OSError(errno.ENOSPC, "No space left on device")
        write_durably(path, data, **options)

    monkeypatch.setattr(publication, "write_durably", full)
    site.start()
    site.contribute()
    until(lambda: all("opening" in events(site, name) for name in PARTIES))
    site.stop()
    (site.state("party-b") / "release").unlink()
    monkeypatch.setattr(publication, "write_durably", write_durably)
    site.start()
    until(lambda: any(site.running[name][0]._state.phase == "failed" for name in PARTIES))
    site.stop()
    for name in PARTIES:
        assert "stored release discarded" not in events(site, name)
        assert not (site.state(name) / "published.json").exists()
    assert (site.state("party-a") / "release").exists()


@pytest.mark.parametrize(
    ("target", "attribute", "error"),
    [
        (PartyState, "save_checkpoint", OSError(errno.ENOSPC, "No space left on device")),
        pytest.param(PartyState, "component", OSError(errno.EIO, "Input/output error"), marks=pytest.mark.slow),
        pytest.param(
            PartyState, "save_checkpoint", ZeroDivisionError("value 0.125 of a patient"), marks=pytest.mark.slow
        ),
    ],
    ids=["disk full", "disk broken", "bug"],
)
def test_what_goes_wrong_here_is_told_and_tried_again(
    site: Loopback,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    target: Any,
    attribute: str,
    error: Exception,
) -> None:
    monkeypatch.setattr(target, attribute, once("party-b.state", getattr(target, attribute), error))
    site.start(until_released=True)
    site.contribute()
    site.join()
    assert site.ended == dict.fromkeys(PARTIES, "released")
    assert events(site, "party-b").count("session failed") >= 1
    told = [record.getMessage() for record in caplog.records if "tried again" in record.getMessage()]
    assert told
    assert "0.125" not in caplog.text, "texts of errors that are not ours may contain data"
    if isinstance(error, OSError):
        assert any("Make room" in line and str(error.strerror) in line for line in told)


def test_a_full_disk_during_an_upload_is_answered_and_the_owner_may_repeat(
    site: Loopback, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    error = OSError(errno.ENOSPC, "No space left on device")
    original, left = PartyState.append, [error] * 8
    monkeypatch.setattr(
        PartyState,
        "append",
        lambda self, *args: (_ for _ in ()).throw(left.pop()) if left else original(self, *args),
    )
    site.start()
    until(lambda: all(isinstance(s, dict) for s in statuses(site.study, analyst(site), 1.0).values()))
    for _ in range(9):
        try:
            site.contribute("owner-a")
        except TransportError as refused:
            assert "disk" in str(refused)
        else:
            break
    site.contribute("owner-b")
    until(site.released)
    assert "Make room" in caplog.text


def test_a_failed_check_ends_the_study_here(site: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_args: Any, **_kwargs: Any) -> None:
        raise ProtocolError("the shares do not fit together")

    monkeypatch.setattr(Training, "value", wrong)
    site.start(until_released=True)
    site.contribute()
    until(lambda: "failed" in site.ended.values())
    site.stop()
    assert any("check failed" in events(site, name) for name in PARTIES)
    assert not any((site.state(name) / "published.json").exists() for name in PARTIES)


@pytest.mark.parametrize("culprit", [pytest.param("party-a", marks=pytest.mark.slow), "party-c"])
def test_a_check_that_failed_at_one_party_ends_all_who_wait_for_a_release(
    site: Loopback, monkeypatch: pytest.MonkeyPatch, culprit: str
) -> None:
    """The one stays until the others have asked it, and they end with an error that names it."""
    original = Training.value

    def wrong(self: Training, work: Work) -> SecretArray:
        if work.party.name == culprit:
            raise ProtocolError("the shares do not fit together")
        return original(self, work)

    monkeypatch.setattr(Training, "value", wrong)
    site.start(until_released=True)
    site.contribute()
    site.join()
    assert site.ended == {culprit: "failed"}
    others = sorted(set(PARTIES) - {culprit})
    assert sorted(site.errors) == others
    for name in others:
        assert f"'{culprit}' says that a check failed there" in str(site.errors[name])
        assert events(site, name)[-1] == "stopped"


@pytest.mark.parametrize("culprit", ["party-a", "party-b"])
def test_a_party_that_has_forgotten_is_named(site: Loopback, culprit: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "cofit")
    site.start(culprit)
    site.start("party-c", until_released=True)
    site.stop(culprit)
    state = PartyState(site.state(culprit), site.study.hash, culprit)
    state.forget_shares()
    state.close()
    site.start(culprit)
    until(lambda: "party-c" in site.errors)
    assert f"'{culprit}' says that its shares were deleted (`cofit forget`)" in str(site.errors["party-c"])
    site.running.pop("party-c")


def test_a_leader_says_plainly_that_another_has_forgotten(
    site: Loopback, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "cofit")
    monkeypatch.setattr(party_sessions, "run_session", lambda *_: threading.Event().wait(0.2))
    site.start()
    site.contribute()
    until(lambda: all("session begins" in events(site, name) for name in PARTIES))
    site.stop()
    state = PartyState(site.state("party-b"), site.study.hash, "party-b")
    state.forget_shares()
    state.close()
    site.start()
    until(lambda: "'party-b' says that its shares were deleted" in caplog.text)
