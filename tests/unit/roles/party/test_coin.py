"""The study's coin at a party: a private file that outlives sessions, and is never drawn again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from cofit.errors import StateError
from cofit.roles.files.audit import AuditFile, read_audit
from cofit.roles.party.coin import CoinFile, study_coin
from cofit.roles.party.state import PartyState
from cofit.secret import Party
from cofit.secret.common_coin import MemoryCoinStore, common_coin
from cofit.sharing import Scheme
from support.runs import run_scheme

BASIS = b"basis"


@pytest.fixture
def state(tmp_path: Path) -> Iterator[PartyState]:
    with contextlib.closing(PartyState(tmp_path / "state", "study", "party-0")) as one:
        yield one


def test_the_file_is_private_and_replaced_as_a_whole(state: PartyState) -> None:
    store, path = CoinFile(state), state.directory / "coin"
    assert store.load() is None
    for record in (b"first", b"the second, longer one"):
        store.save(record)
        assert store.load() == record
        assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in state.directory.glob("*coin*")] == ["coin"]


def test_a_file_that_was_lost_is_asked_for_and_nothing_is_drawn(state: PartyState, tmp_path: Path) -> None:
    CoinFile(state).save(b"record")
    (state.directory / "coin").rename(tmp_path / "backup")
    with pytest.raises(StateError, match="Put back a backup of this file"):
        CoinFile(state).load()
    (tmp_path / "backup").rename(state.directory / "coin")
    assert CoinFile(state).load() == b"record"


def test_a_kill_between_the_file_and_the_note(state: PartyState) -> None:
    CoinFile(state).save(b"record")
    with state._transaction() as database:
        database.execute("DELETE FROM facts WHERE name = 'coin'")
    assert CoinFile(state).load() == b"record"
    (state.directory / "coin").unlink()
    with pytest.raises(StateError, match="missing"):
        CoinFile(state).load()


def test_what_a_killed_process_left_is_deleted_and_the_record_stays(tmp_path: Path) -> None:
    with contextlib.closing(PartyState(tmp_path / "state", "study", "party-0")) as state:
        CoinFile(state).save(b"record")
        (state.directory / ".coin.half").write_bytes(b"rec")
    with contextlib.closing(PartyState(tmp_path / "state", "study", "party-0")) as state:
        assert [one.name for one in state.directory.glob("*coin*")] == ["coin"]
        state.discard_release()
        assert CoinFile(state).load() == b"record"
        state.forget_shares()
        assert not (state.directory / "coin").exists()


def test_sessions_and_processes_have_one_coin_and_the_log_says_so_once(tmp_path: Path) -> None:
    others = [MemoryCoinStore() for _ in range(3)]
    coins = set()
    for _ in range(2):  # processes
        with (
            contextlib.closing(PartyState(tmp_path / "state", "study", "party-0")) as state,
            contextlib.closing(AuditFile(state.directory / "audit.jsonl")) as audit,
        ):

            def program(s: Scheme, state: PartyState = state, audit: AuditFile = audit) -> bytes:
                party = Party(s, {})
                return (
                    study_coin(party, state, audit, BASIS) if s.rank == 0 else common_coin(party, others[s.rank], BASIS)
                )

            for _ in range(2):  # sessions
                coins |= set(run_scheme("rep3", program).results)
    assert len(coins) == 1
    events = [line["event"] for line in read_audit(tmp_path / "state" / "audit.jsonl")]
    assert events == ["coin drawn"]
    assert coins.pop().hex() not in (tmp_path / "state" / "audit.jsonl").read_text()
