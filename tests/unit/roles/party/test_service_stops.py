"""Parties whose reception, disk, port or log fails, and what stopping waits for."""

from __future__ import annotations

import errno
import socket
import threading
import time
from typing import Any

import pytest

from cofit.errors import InvalidInputError, TransportError
from cofit.roles.analyst.fetch import fetch_release, statuses
from cofit.roles.files.audit import AuditFile
from cofit.roles.files.keys import load_key
from cofit.roles.files.release_store import FileStore
from cofit.roles.files.signatures import SignedRelease
from cofit.roles.jobs.training import Training
from cofit.roles.party import sessions as party_sessions
from cofit.roles.party.desk import Begin
from cofit.roles.party.service import PartyService
from cofit.roles.party.sessions import PartySessions
from cofit.roles.party.state import PartyState
from cofit.transport import Reception
from unit.roles.loopback import PARTIES, Loopback, until
from unit.roles.party.faults import analyst, events, once


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
    until(lambda: all(isinstance(s, dict) for s in statuses(site.study, analyst(site), 1.0).values()))
    assert isinstance(fetch_release(site.study, analyst(site)), SignedRelease)
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
