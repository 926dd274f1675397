"""A party that may not have the shares in memory: a session on its disk, refusals before anything begins."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

import pytest

from cofit.arithmetic import mapped
from cofit.errors import InvalidInputError, StateError
from cofit.learn.memory import Memory
from cofit.roles.files import share_files
from cofit.roles.files.keys import load_key
from cofit.roles.party.service import PartyService, check_limit
from unit.roles.loopback import PARTIES, Loopback, until

MUCH = 10**12


@pytest.fixture
def loopback(tmp_path: Path) -> Loopback:
    return Loopback(tmp_path)


def test_a_session_with_the_shares_on_disk_releases(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memory, "exceeds", lambda *_: True)
    monkeypatch.setattr(mapped, "BLOCK_BYTES", 200)
    files = mock.Mock(side_effect=share_files.allot)
    monkeypatch.setattr(share_files, "allot", files)
    loopback.start(memory=MUCH)
    loopback.contribute()
    until(loopback.released)
    loopback.stop()
    used = {call.args[0] for call in files.call_args_list}
    assert used == {loopback.state(name) for name in PARTIES}, "each in its own state directory"
    for name in PARTIES:
        assert not list(loopback.state(name).glob(f"{share_files.PREFIX}*"))


def test_files_are_emptied_when_a_session_fails(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memory, "exceeds", lambda *_: True)
    taken: list[mapped.Pages] = []
    assert loopback.job.memory is not None  # counted now, because the program fails from here on

    def watched(directory: Path, needed: int) -> mapped.Pages:
        taken.append(share_files_allot(directory, needed))
        return taken[-1]

    share_files_allot = share_files.allot
    monkeypatch.setattr(share_files, "allot", watched)
    failing = mock.Mock(side_effect=StateError("It fails on purpose."))
    monkeypatch.setattr("cofit.learn.recipes.minimiser.program.verdicts", failing)
    loopback.start(memory=MUCH)
    loopback.contribute()
    until(lambda: failing.call_count >= 3)
    loopback.stop()
    assert taken
    assert not any(any(pages[:]) for pages in taken)


def test_a_limit_that_is_too_small_is_refused_before_the_state_is_touched(loopback: Loopback) -> None:
    identity = load_key(loopback.study, loopback.folder / "party-a.key")
    needed = loopback.job.memory
    assert needed is not None
    with pytest.raises(InvalidInputError, match=r"The '--memory' parameter of a party must be at least \d+ MB"):
        PartyService(loopback.job, identity, loopback.state("party-a"), memory=1000)
    assert not loopback.state("party-a").exists()
    check_limit(loopback.job, needed.on_disk)
    check_limit(loopback.job, None)


def test_a_program_of_the_participants_has_no_limit(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(loopback.job), "memory", None)
    with pytest.raises(InvalidInputError, match="left out: this study has a program of its own"):
        check_limit(loopback.job, 10**9)


def test_a_disk_without_room_is_refused_at_the_start(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memory, "exceeds", lambda *_: True)
    monkeypatch.setattr(os, "statvfs", lambda _: type("Free", (), {"f_bavail": 0, "f_frsize": 1}))
    identity = load_key(loopback.study, loopback.folder / "party-a.key")
    with pytest.raises(StateError, match=r"where 0 bytes are free\. Make room there, or allow more memory"):
        PartyService(loopback.job, identity, loopback.state("party-a"), memory=MUCH)
