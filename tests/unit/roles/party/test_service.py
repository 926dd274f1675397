"""The party as a service: any order, restarts, disks that are full, bugs, and one release for everybody."""

from __future__ import annotations

import errno
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cofit.errors import InvalidInputError, ProtocolError, TransportError
from cofit.roles.analyst.fetch import fetch_release, statuses
from cofit.roles.files.audit import AuditFile, read_audit
from cofit.roles.files.durable import write_durably
from cofit.roles.files.keys import load_key
from cofit.roles.files.ledger import Ledger
from cofit.roles.files.release_store import FileStore
from cofit.roles.files.signatures import SignedRelease
from cofit.roles.jobs.job import Work
from cofit.roles.jobs.training import Training
from cofit.roles.party import publication
from cofit.roles.party import sessions as party_sessions
from cofit.roles.party.desk import Begin
from cofit.roles.party.service import PartyService
from cofit.roles.party.sessions import PartySessions
from cofit.roles.party.state import PartyState
from cofit.secret import SecretArray
from cofit.transport import Reception
from unit.roles.loopback import PARTIES, Loopback, loopback, until


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Loopback]:
    with loopback(tmp_path) as made:
        yield made


def events(site: Loopback, name: str) -> list[str]:
    return [record["event"] for record in read_audit(site.state(name) / "audit.jsonl")]


def once(name: str, original: Callable[..., Any], error: Exception, when: Callable[..., bool] = lambda *_: True) -> Any:
    """The original, but the first call of the thread of party ``name`` (as its state tells) raises."""
    left = [error]

    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        if left and name in str(getattr(self, "directory", getattr(self, "path", ""))) and when(*args):
            raise left.pop()
        return original(self, *args, **kwargs)

    return wrapped


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


def test_charged_and_stored_before_the_opening_begins(site: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[bool, ...]] = []
    begin = PartyState.begin_opening

    def look(self: PartyState) -> None:
        ledger = Ledger(self.directory / "ledger.sqlite").charges()
        stored = (self.directory / "release").exists() and self.phase == "stored"
        seen.append((len(ledger) == 1, stored, not self.opening_begun))
        begin(self)

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
    until(lambda: all(isinstance(s, dict) for s in statuses(site.study, _analyst(site), 1.0).values()))
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


@pytest.mark.parametrize("name", ["party-a", pytest.param("party-b", marks=pytest.mark.slow)])
@pytest.mark.parametrize("training", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_reception_that_dies_ends_the_party(
    site: Loopback, name: str, training: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody could reach it any more, and it would wait for ever; restarted, it resumes."""
    broken, hold = threading.Event(), threading.Event()
    original = Reception._wait

    def failing(self: Reception, now: float) -> set[int]:
        if broken.is_set() and name in repr(self):
            raise MemoryError
        return original(self, now)

    monkeypatch.setattr(Reception, "_wait", failing)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    if training:
        monkeypatch.setattr(party_sessions, "run_session", lambda *_: hold.wait(60))
    site.start()
    if training:
        site.contribute()
        until(lambda: all("session begins" in events(site, name) for name in PARTIES))
    broken.set()
    until(lambda: name in site.errors, 20)
    assert f"The reception of '{name}' has stopped" in str(site.errors[name])
    assert events(site, name)[-1] == "stopped"
    site.running.pop(name)
    broken.clear()
    hold.set()
    monkeypatch.undo()
    site.start(name)
    site.contribute()
    until(site.released)


@pytest.mark.parametrize(("name", "attempts"), [("party-a", 1), ("party-b", 4)])
def test_only_the_leader_pauses_after_a_session_that_failed(
    site: Loopback, monkeypatch: pytest.MonkeyPatch, name: str, attempts: int
) -> None:
    """Pauses of two parties could fit together such that one always comes when the other has given up."""
    service = PartyService(Training(site.study), load_key(site.study, site.folder / f"{name}.key"), site.state(name))
    tried: list[Begin] = []

    def fails(self: Any, reception: Any, begin: Begin) -> bool:
        tried.append(begin)
        if len(tried) == 4:
            service.stop()
        return False

    invitation = Begin(bytes(16), "2026-01-01T00:00:00+00:00")
    monkeypatch.setattr(party_sessions, "_FIRST_PAUSE", 60.0)
    monkeypatch.setattr(PartySessions, "_attempt", fails)
    monkeypatch.setattr(PartySessions, "_lead", lambda _: invitation)
    monkeypatch.setattr(PartySessions, "_invited", lambda _: invitation)
    threading.Timer(2.0, service.stop).start()
    service.run()
    assert len(tried) == attempts


def test_a_damaged_checkpoint_is_not_used(site: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = once("party-a.state", FileStore.save, OSError(errno.EIO, "Input/output error"))
    monkeypatch.setattr(FileStore, "save", broken)
    original = PartyState.checkpoint

    def damaged(self: PartyState, checkpoint: Any) -> bytes:
        record = original(self, checkpoint)
        return record[:-1] if "party-c.state" in str(self.directory) and checkpoint.epoch == 6 else record

    monkeypatch.setattr(PartyState, "checkpoint", damaged)
    site.start(until_released=True)
    site.contribute()
    site.join()
    assert site.ended == dict.fromkeys(PARTIES, "released")


def test_a_share_that_is_damaged_on_disk_is_not_computed_with(
    site: Loopback, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The file and the remedy are named; with the copy of another holder in its place the study goes on."""
    held = threading.Event()
    invite = PartySessions._invitation
    monkeypatch.setattr(PartySessions, "_invitation", lambda self: invite(self) if held.is_set() else None)
    site.start(until_released=True)
    site.contribute()
    path = max(site.state("party-b").glob("uploads/*/*/features.x_2"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    held.set()
    place = path.relative_to(site.state("party-b"))
    until(lambda: str(place) in caplog.text)
    assert "Put back a backup of this file, or a copy from 'party-c'" in caplog.text
    time.sleep(1.0)
    assert not any((site.state(name) / "release").exists() for name in PARTIES), "nothing was computed"
    path.write_bytes((site.state("party-c") / place).read_bytes())
    site.join()
    assert site.ended == dict.fromkeys(PARTIES, "released")


def test_stopping_does_not_wait_for_the_network(site: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    hold = threading.Event()
    monkeypatch.setattr(party_sessions, "run_session", lambda *_: hold.wait(60))
    site.start()
    site.contribute()
    until(lambda: all("session begins" in events(site, name) for name in PARTIES))
    began = time.monotonic()
    site.stop()
    assert time.monotonic() - began < 15
    hold.set()


def test_a_port_that_is_taken(site: Loopback) -> None:
    entry = site.study.parties[0]
    identity = load_key(site.study, site.folder / "party-a.key")
    with socket.create_server((entry.host, entry.port)):
        service = PartyService(Training(site.study), identity, site.state("party-a"))
        with pytest.raises(TransportError, match=rf"cannot listen at 127.0.0.1:{entry.port}: .*in use.*--listen"):
            service.run()
    PartyService(Training(site.study), identity, site.state("party-a"))._state.close()  # and the state is free again


def test_who_is_no_party_is_refused(site: Loopback) -> None:
    with pytest.raises(InvalidInputError, match="no computing party"):
        PartyService(Training(site.study), load_key(site.study, site.folder / "owner-a.key"), site.state("x"))


def test_a_state_whose_log_was_changed_is_refused_and_freed(site: Loopback) -> None:
    state = site.state("party-a")
    PartyState(state, site.study.hash, "party-a").close()
    (state / "audit.jsonl").write_text('{"n": 1}\n')
    identity = load_key(site.study, site.folder / "party-a.key")
    with pytest.raises(InvalidInputError, match="audit log"):
        PartyService(Training(site.study), identity, state)
    PartyState(state, site.study.hash, "party-a").close()


def test_shares_that_were_forgotten_are_not_missed(site: Loopback) -> None:
    site.start(until_released=True)
    site.contribute()
    site.join()
    state = PartyState(site.state("party-a"), site.study.hash, "party-a")
    state.forget_shares()
    state.close()
    site.start()
    until(lambda: all(isinstance(s, dict) for s in statuses(site.study, _analyst(site), 1.0).values()))
    assert isinstance(fetch_release(site.study, _analyst(site)), SignedRelease)
    assert not any("failed" in event for event in events(site, "party-a"))


@pytest.mark.slow  # three sessions that wait for one another
def test_a_log_that_cannot_be_written_does_not_end_the_service(site: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    original, left = AuditFile.write, [3]

    def full(self: AuditFile, event: str, **facts: Any) -> None:
        if event in ("session begins", "session failed") and left[0]:
            left[0] -= 1
            raise OSError(errno.ENOSPC, "No space left on device")
        original(self, event, **facts)

    monkeypatch.setattr(AuditFile, "write", full)
    site.start(until_released=True)
    site.contribute()
    site.join()
    assert site.ended == dict.fromkeys(PARTIES, "released")


def _analyst(site: Loopback) -> Any:
    return load_key(site.study, site.folder / "analyst.key")
