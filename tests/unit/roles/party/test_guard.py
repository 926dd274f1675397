"""The order at one party: charged before stored, stored before noted, noted before opened; killed between any two."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cofit.errors import BudgetExceededError, ProtocolError
from cofit.roles.files.ledger import Charge, Ledger
from cofit.roles.files.release_store import FileStore
from cofit.roles.party.checkpoint_files import Checkpoint
from cofit.roles.party.guard import Guard
from cofit.roles.party.state import LEDGER, RELEASE, PartyState
from cofit.secret import Opening
from unit.roles.desks import planned
from unit.roles.party_directory import PartyDirectory

JOB = planned("horizontal")
POLICY = JOB.policy
OPENING = Opening(1, POLICY.reason, "arithmetic", POLICY.shape, POLICY.learned_by)
RECORD = b"noisy shares"
STEPS = ((Ledger, "charge"), (FileStore, "save"), (PartyState, "advance"))
"""What ``save`` does to the disk, in the order in which it must."""


class Killed(BaseException):
    """The process is gone: nothing after this happens."""


class Disk(PartyDirectory):
    """One party's directory; ``process`` is what a process that starts there, with all sealed, works with."""

    def process(self) -> Guard:
        state, audit = self.start()
        if state.phase == "collecting":
            state.advance("sealed")
        return Guard(JOB, state, audit)

    @property
    def stored(self) -> bool:
        return (self.folder / RELEASE).exists()

    @property
    def charges(self) -> list[Charge]:
        return Ledger(self.folder / LEDGER).charges()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    one = Disk(tmp_path, JOB.study.hash, "party-b")
    yield one
    one.stop()


def killed_at(monkeypatch: pytest.MonkeyPatch, kind: Any, name: str, when: str) -> None:
    """Let the next process die before or after a step."""
    step = getattr(kind, name)

    def dying(*given: Any, **named: Any) -> Any:
        if when == "after":
            step(*given, **named)
        raise Killed

    monkeypatch.setattr(kind, name, dying)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("kind", "name"), STEPS, ids=lambda part: getattr(part, "__name__", part))
def test_what_is_stored_is_charged_wherever_the_process_dies(
    disk: Disk, monkeypatch: pytest.MonkeyPatch, kind: Any, name: str, when: str
) -> None:
    guard = disk.process()
    with monkeypatch.context() as fault:
        killed_at(fault, kind, name, when)
        with pytest.raises(Killed):
            guard.save(RECORD)
    done = STEPS.index((kind, name)) + (when == "after")  # so many steps reached the disk, and no others
    assert len(disk.charges) == (done >= 1), "charged first"
    assert disk.stored == (done >= 2), "then stored"
    again = disk.process()
    assert again.load() == (RECORD if done >= 2 else None)
    again.save(RECORD)
    (charge,) = disk.charges  # once in all
    assert (charge.epsilon, charge.delta, charge.releases) == (POLICY.epsilon, POLICY.delta, POLICY.releases)
    assert again.state.phase == "stored"


def test_what_cannot_be_charged_is_not_stored(disk: Disk) -> None:
    guard = disk.process()
    Ledger(disk.folder / LEDGER).set_cap("release", POLICY.epsilon / 2, POLICY.delta)
    with pytest.raises(BudgetExceededError):
        guard.save(RECORD)
    assert not disk.stored
    assert guard.state.phase == "sealed"


def test_nothing_is_opened_before_every_party_has_stored(disk: Disk) -> None:
    guard = disk.process()
    with pytest.raises(ProtocolError, match="not every party has stored"):
        guard.opening(OPENING)
    with pytest.raises(ProtocolError, match="Nothing is stored"):
        guard.confirm()
    guard.save(RECORD)
    with pytest.raises(ProtocolError, match="not every party has stored"):
        guard.opening(OPENING)
    assert not guard.state.opening_begun()
    guard.confirm()
    guard.opening(OPENING)
    assert guard.state.opening_begun()


def test_an_opening_is_charged_though_the_ledger_was_lost_after_storing(disk: Disk) -> None:
    guard = disk.process()
    guard.save(RECORD)
    guard.confirm()
    (disk.folder / LEDGER).unlink()
    guard.opening(OPENING)
    assert len(disk.charges) == 1


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", ["drop_checkpoints", "confirm_release"])
def test_no_checkpoint_is_left_where_it_is_noted_that_all_have_stored(
    disk: Disk, monkeypatch: pytest.MonkeyPatch, name: str, when: str
) -> None:
    guard = disk.process()
    guard.state.save_checkpoint(Checkpoint(3, "a" * 32), b"half-trained weights, and noise")
    guard.save(RECORD)
    assert guard.state.has_checkpoints, "until all have stored, nothing is lost"
    with monkeypatch.context() as fault:
        killed_at(fault, PartyState, name, when)
        with pytest.raises(Killed):
            guard.confirm()
    again = disk.process()
    assert not (again.state.confirmed() and again.state.has_checkpoints)
    again.confirm()
    again.opening(OPENING)
    assert not again.state.has_checkpoints


def test_nothing_is_opened_while_a_checkpoint_is_here(disk: Disk) -> None:
    guard = disk.process()
    guard.save(RECORD)
    guard.confirm()
    guard.state.save_checkpoint(Checkpoint(3, "a" * 32), b"half-trained weights, and noise")
    with pytest.raises(ProtocolError, match="while a checkpoint of it is here"):
        guard.opening(OPENING)
    assert not guard.state.opening_begun()
